"""``python -m bench.verify PREFIX``: what proving an environment with torch costs; into ``results/verify.md``.

Beside it stand what a job pays anyway (``import torch``) and what several ranks do (torchrun with nothing in it).
"""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Command, Figures, ratio, side_by_side
from bench.scenarios import LLMENV

RUNS = 7
FULL_RUNS = 3
NOTHING = "import torch.distributed as ranks; ranks.init_process_group('gloo'); ranks.destroy_process_group()"


def main() -> None:
    """Measure the levels and write the report."""
    prefix = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="llmenv-bench-") as folder:
        report = "\n".join(_report(prefix, Path(folder)))
    path = Path(__file__).parent / "results" / "verify.md"
    path.write_text(f"{report}\n", encoding="utf-8")
    print(report)


def _report(prefix: Path, folder: Path) -> Iterator[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "LLMENV_HISTORY": str(folder)}
    python = str(prefix / "bin" / "python")
    verify = [*LLMENV, "verify", "-p", str(prefix)]
    subprocess.run([*verify, "--full"], env=environ, cwd=folder, check=True, capture_output=True)
    quick = [
        Command("llmenv verify --quick", [*verify, "--quick"], environ, folder),
        Command("import torch", [python, "-I", "-c", "import torch"], environ, folder),
    ]
    yield f"# Proving an environment with torch, measured on {dt.datetime.now(dt.timezone.utc).date()}\n"
    yield f"{os.cpu_count()} cores, no GPU, warm page cache; whole processes in turn, medians.\n"
    yield "| what | wall s | CPU s | peak MiB |\n|---|---|---|---|"
    found = side_by_side(quick, RUNS)
    yield from map(_row, found)
    ranks = [python, "-I", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    end = ["--no-python", python, "-I", "-c", NOTHING]
    full = [
        Command("llmenv verify --full (2 and 4 ranks)", [*verify, "--full"], environ, folder),
        Command("torchrun, 2 ranks, nothing in it", [*ranks, "2", *end], {**environ, "OMP_NUM_THREADS": "1"}, folder),
        Command("torchrun, 4 ranks, nothing in it", [*ranks, "4", *end], {**environ, "OMP_NUM_THREADS": "1"}, folder),
    ]
    yield from map(_row, side_by_side(full, FULL_RUNS))
    yield f"\n`--quick` takes {ratio(found[0], found[1], 'wall'):.2f} × as long as `import torch`."
    yield from _slowest(verify, environ, folder)


def _row(figures: Figures) -> str:
    wall, cpu, peak = (figures.median(name) for name in ("wall", "cpu", "peak"))
    return f"| {figures.name} | {wall:.2f} | {cpu:.2f} | {peak:.0f} |"


def _slowest(verify: list[str], environ: dict[str, str], folder: Path) -> Iterator[str]:
    """Yield where the seconds of a full run go."""
    done = subprocess.run([*verify, "--full", "--json"], env=environ, cwd=folder, check=True, capture_output=True)
    checks = sorted(json.loads(done.stdout)["result"]["checks"], key=lambda check: -check["seconds"])
    yield "\nSlowest checks: " + ", ".join(f"{check['id']} {check['seconds']:.1f} s" for check in checks[:8]) + "."


if __name__ == "__main__":
    main()
