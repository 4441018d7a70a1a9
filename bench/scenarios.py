"""What is measured: creating, dry-running and composing, each beside the bare tools that do the same."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Command, Figures, side_by_side
from tests.http_channel import Fault, serve

ROOT = Path(__file__).parent.parent
RECORDED = ROOT.parent / "shared" / "channels"
SMALL = ("six", "idna", "tqdm", "pyparsing", "attrs", "tomli")
"""Pure Python and tiny: what is left is start-up."""

TYPICAL = ("numpy", "pyyaml", "regex", "safetensors", "sentencepiece", "tqdm")
"""What a training environment has beside its framework; compiled, and without further requirements."""

DRY_RUN_SPECS = (
    *("python=3.12", "pytorch-gpu", "nccl", "openmpi", "ipykernel", "pip"),
    *("transformers", "accelerate", "datasets", "peft"),
)
LLMENV = (sys.executable, "-m", "conda_llmenv")

LATENCY = 0.03
"""Seconds before the first byte of each answer of the slow server."""

PACE = 0.0064
"""Seconds between pieces of 64 KiB: 10 MB/s for each connection."""


@dataclass(frozen=True)
class Comparison:
    """One table of the report: our command first, then what it is compared with, and the ratio we aim at."""

    title: str
    figures: tuple[Figures, ...]
    limit: float | None
    remark: str = ""


@dataclass(frozen=True)
class Workbench:
    """A private folder with the offline channel, wheels and caches that every run of a comparison shares."""

    folder: Path

    @property
    def served(self) -> Path:
        """What a server hands out: ``conda-forge/`` and ``wheels/``."""
        return self.folder / "served"

    @property
    def prefix(self) -> Path:
        """Where every run puts its environment."""
        return self.folder / "prefix"

    def prepare(self) -> None:
        """Build the offline channel and fetch the wheels once."""
        subprocess.run([sys.executable, "-m", "tests.channel", str(self.served)], check=True, cwd=ROOT)
        wheels = self.served / "wheels"
        names = {*SMALL, *TYPICAL}
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(wheels), *names], check=True
        )
        links = "".join(f'<a href="{path.name}">{path.name}</a>\n' for path in sorted(wheels.glob("*.whl")))
        (wheels / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")

    def fragment(self, packages: Sequence[str]) -> str:
        """Write a fragment with python, pip and a pip section."""
        path = self.folder / f"{packages[0]}.yml"
        lines = "\n".join(f"    - {name}" for name in packages)
        path.write_text(f"channels: [conda-forge]\ndependencies:\n- python\n- pip\n- pip:\n{lines}\n")
        return str(path)

    def environ(self, home: str, base: str) -> dict[str, str]:
        """Return an environment of its own home, so that nobody's caches or configuration take part."""
        folder = self.folder / home
        folder.mkdir(parents=True, exist_ok=True)
        links = f"{base}/wheels/index.html"
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "CONDA_CHANNEL_ALIAS": base,
            "CONDA_PKGS_DIRS": str(folder / "pkgs"),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": links,
            "UV_FIND_LINKS": links,
            "UV_CACHE_DIR": str(folder / "uv"),
            "PYTHONPATH": str(ROOT),
            "PYTHONNOUSERSITE": "1",
        }

    def clear(self) -> None:
        """Remove the environment of the last run."""
        shutil.rmtree(self.prefix, ignore_errors=True)

    def clear_caches(self, home: str) -> None:
        """Remove the environment and every cache, for a cold run."""
        self.clear()
        for name in ("pkgs", "uv", ".cache", "repodata"):
            shutil.rmtree(self.folder / home / name, ignore_errors=True)


def warm_creation(bench: Workbench, runs: int, packages: Sequence[str], remark: str) -> Comparison:
    """Compare ``llmenv create`` with the bare calls, everything cached."""
    commands = _creations(bench, packages, bench.served.as_uri(), cold=False)
    title = f"create python + pip + {len(packages)} pip packages ({', '.join(packages)}), warm caches"
    return Comparison(title, side_by_side(commands, runs), 1.25, remark)


def cold_creation(bench: Workbench, runs: int, packages: Sequence[str]) -> Comparison:
    """Compare them with empty caches and a server that is as far away and as fast as a usual mirror."""
    with serve(bench.served) as server:
        server.faults.append(Fault("*", stall=LATENCY, pace=PACE))
        commands = _creations(bench, packages, server.host, cold=True)
        figures = side_by_side(commands, runs)
    title = f"create python + pip + {len(packages)} pip packages, cold caches, over HTTP"
    return Comparison(title, figures, 1.0, f"{LATENCY * 1000:.0f} ms to the first byte, 10 MB/s a connection.")


def _creations(bench: Workbench, packages: Sequence[str], base: str, *, cold: bool) -> list[Command]:
    """Return our command, the bare calls, and conda and micromamba where they are on PATH."""
    file, prefix = bench.fragment(packages), str(bench.prefix)
    ours = [*LLMENV, "create", "-f", file, "-p", prefix, "--no-verify", "--no-kernel", "-y", "-q"]
    script = str(ROOT / "bench" / "bare_create.py")
    bare = [sys.executable, script, f"{base}/conda-forge", prefix, str(bench.folder / "bare"), "--no-index", *packages]
    everyone = [("llmenv", "llmenv create", ours), ("bare", "py-rattler, then uv", bare), *_others(file, prefix)]
    return [
        Command(
            name,
            argv,
            bench.environ(home, base),
            ROOT,
            functools.partial(bench.clear_caches, home) if cold else bench.clear,
        )
        for home, name, argv in everyone
    ]


def _others(file: str, prefix: str) -> Iterator[tuple[str, str, list[str]]]:
    if shutil.which("conda"):
        yield "conda", "conda env create", ["conda", "env", "create", "-q", "-y", "-f", file, "-p", prefix]
    if shutil.which("micromamba"):
        yield "micromamba", "micromamba create", ["micromamba", "create", "-q", "-y", "-f", file, "-p", prefix]


def dry_run(bench: Workbench, runs: int) -> Comparison | None:
    """Compare a 240-package dry run on recorded metadata with one bare solve; None where it is not there."""
    if not RECORDED.is_dir():
        return None
    base = RECORDED.resolve().as_uri()
    ours = {**bench.environ("llmenv", base), "CONDA_OVERRIDE_CUDA": "12.8"}
    plan = [*LLMENV, "create", "--dry-run", "-q", "-c", "conda-forge", *DRY_RUN_SPECS]
    script, cache = str(ROOT / "bench" / "bare_solve.py"), str(bench.folder / "bare" / "repodata")
    solve = [sys.executable, script, f"{base}/conda-forge", cache, *DRY_RUN_SPECS]
    commands = [
        Command("llmenv create --dry-run", plan, ours, bench.folder),
        Command("rattler.solve", solve, bench.environ("bare", base), bench.folder),
    ]
    return Comparison("dry run of about 240 packages, recorded metadata", side_by_side(commands, runs), 1.6)


def composing(bench: Workbench, runs: int, files: int = 300, specs: int = 60) -> Comparison:
    """Time composing many fragments as a whole process, beside starting Python and reading ``--help``."""
    folder = bench.folder / "fragments"
    folder.mkdir(exist_ok=True)
    for number in range(files):
        lines = "\n".join(f"- package-{number % 50}-{spec} >=1.{spec},<3  # reason {spec}" for spec in range(specs))
        (folder / f"f{number:03}.yml").write_text(f"channels: [conda-forge]\ndependencies:\n{lines}\n")
    arguments = [part for path in sorted(folder.glob("*.yml")) for part in ("-f", str(path))]
    environ = bench.environ("llmenv", bench.served.as_uri())
    commands = [
        Command("llmenv compose", [*LLMENV, "compose", *arguments], environ, bench.folder),
        Command("llmenv --help", [*LLMENV, "--help"], environ, bench.folder),
    ]
    return Comparison(f"compose {files} fragments of {specs} specs", side_by_side(commands, runs), None)


def exporting(bench: Workbench, runs: int) -> Comparison:
    """Write the lock of an environment of 250 packages; beside conda's own export where conda is there."""
    prefix = bench.folder / "exported"
    _write_records(prefix, 250)
    environ = bench.environ("export", "file:///nowhere")
    commands = [Command("llmenv export", [*LLMENV, "export", "-p", str(prefix)], environ)]
    conda = os.environ.get("CONDA_PYTHON")
    if conda:
        argv = [conda, "-m", "conda", "env", "export", "-p", str(prefix)]
        commands.append(Command("conda env export", argv, environ))
    return Comparison("Exporting 250 packages", side_by_side(commands, runs), None, EXPORT_REMARK)


EXPORT_REMARK = "Aim: under 0.15 s, and at most a tenth of conda's time where CONDA_PYTHON names one."


def _write_records(prefix: Path, count: int) -> None:
    """Write package records with 64 files each, as an installation leaves them."""
    (prefix / "conda-meta").mkdir(parents=True, exist_ok=True)
    (prefix / "conda-meta" / "history").touch()
    for number in range(count):
        name = f"package-{number:03}"
        paths = [
            {"_path": f"lib/{name}/{index}.py", "path_type": "hardlink", "sha256": "0" * 64, "size_in_bytes": 100}
            for index in range(64)
        ]
        record = {
            "name": name,
            "version": "1.2.3",
            "build": "py311h0_0",
            "build_number": 0,
            "subdir": "linux-64",
            "fn": f"{name}-1.2.3-py311h0_0.conda",
            "url": f"https://conda.anaconda.org/conda-forge/linux-64/{name}-1.2.3-py311h0_0.conda",
            "channel": "https://conda.anaconda.org/conda-forge/linux-64",
            "sha256": "0" * 64,
            "md5": "0" * 32,
            "depends": ["python >=3.11,<3.12.0a0"],
            "constrains": [],
            "files": [path["_path"] for path in paths],
            "paths_data": {"paths_version": 1, "paths": paths},
        }
        (prefix / "conda-meta" / f"{name}-1.2.3-py311h0_0.json").write_text(json.dumps(record, indent=2))
