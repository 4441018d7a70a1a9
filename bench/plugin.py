"""``python -m bench.plugin CONDA_PYTHON``: what our plugin adds to conda's commands, into ``bench/results/plugin.md``.

The same interpreter and the same packages, once with our entry point on the path and once without, in turn.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Command, Figures, side_by_side

ROOT = Path(__file__).parent.parent
RUNS = 41
"""Pairs of each command: differences of a millisecond need many."""

COMMANDS = (["--version"], ["commands"], ["env", "list"])
"""A call that needs no plugin, one that asks all for their commands, and one that people wait for."""

START = "import sys; sys.path.extend({paths!r}); from conda.cli.main import main; sys.exit(main(*sys.argv[1:]))"


def main() -> None:
    """Measure every command and write the report."""
    python = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="llmenv-bench-") as folder:
        without = _without_plugin(python, Path(folder))
        report = "\n".join(_report(python, [str(without), str(ROOT)], str(without), folder))
    path = Path(__file__).parent / "results" / "plugin.md"
    path.write_text(f"{report}\n", encoding="utf-8")
    print(report)


def _without_plugin(python: str, folder: Path) -> Path:
    """Return a folder that looks like the site-packages of a Python, without us."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip())
    farm = folder / "site"
    farm.mkdir()
    for entry in site.iterdir():
        if "conda_llmenv" not in entry.name and entry.suffix != ".pth":
            (farm / entry.name).symlink_to(entry)
    return farm


def _with_plugin(paths: list[str], folder: str) -> list[str]:
    """Return the path with an entry point of ours on it, as an installation leaves it."""
    info = Path(folder) / "ours" / "conda_llmenv-0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: conda-llmenv\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[conda]\nconda-llmenv = conda_llmenv.plugin\n")
    return [*paths, str(info.parent)]


def _report(python: str, ours: list[str], theirs: str, folder: str) -> Iterator[str]:
    yield f"# What the plugin adds to conda's commands, measured on {dt.datetime.now(dt.timezone.utc).date()}\n"
    yield f"{RUNS} pairs in turn, whole processes, milliseconds. Medians; differences are medians over pairs.\n"
    yield "| command | with | without | more wall | more CPU | modules of ours |"
    yield "|---|---|---|---|---|---|"
    environ = {"PATH": os.environ["PATH"], "HOME": folder, "CONDA_SOLVER": "rattler"}
    for arguments in COMMANDS:
        paths = _with_plugin(ours, folder)
        commands = [
            Command(name, [python, "-I", "-S", "-c", START.format(paths=path), *arguments], environ, Path(folder))
            for name, path in (("with", paths), ("without", [theirs]))
        ]
        having, lacking = side_by_side(commands, RUNS)
        loaded = ", ".join(_loaded(python, paths, arguments, environ)) or "none"
        more = f"{_difference(having, lacking, 'wall'):+.1f} | {_difference(having, lacking, 'cpu'):+.1f}"
        name = f"conda {' '.join(arguments)}"
        yield f"| {name} | {_milliseconds(having)} | {_milliseconds(lacking)} | {more} | {loaded} |"


def _milliseconds(figures: Figures) -> str:
    return f"{figures.median('wall') * 1000:.1f}"


def _difference(having: Figures, lacking: Figures, attribute: str) -> float:
    pairs = zip(having.runs, lacking.runs, strict=True)
    return float(statistics.median(getattr(a, attribute) - getattr(b, attribute) for a, b in pairs)) * 1000


def _loaded(python: str, paths: list[str], arguments: list[str], environ: dict[str, str]) -> list[str]:
    """Return the modules of ours that a command loads."""
    code = (
        f"import sys, json, atexit; atexit.register(lambda: print(json.dumps([name for name in sys.modules "
        f"if name.split('.')[0] == 'conda_llmenv']), file=sys.stderr)); {START.format(paths=paths)}"
    )
    done = subprocess.run(
        [python, "-I", "-S", "-c", code, *arguments], env=environ, capture_output=True, text=True, check=True
    )
    found: list[str] = json.loads(done.stderr.strip().splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
