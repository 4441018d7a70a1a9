"""What is measured: creating, dry-running and composing, each beside the bare tools that do the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Command, Figures, side_by_side

ROOT = Path(__file__).parent.parent
RECORDED = ROOT.parent / "shared" / "channels"
PIP_PACKAGES = ("six", "idna", "tqdm", "pyparsing", "attrs", "tomli")
DRY_RUN_SPECS = (
    "python=3.12",
    "pytorch-gpu",
    "nccl",
    "openmpi",
    "ipykernel",
    "pip",
    "transformers",
    "accelerate",
    "datasets",
    "peft",
)
LLMENV = (sys.executable, "-m", "conda_llmenv")


@dataclass(frozen=True)
class Comparison:
    """One table of the report: our command first, then what it is compared with, and the ratio we aim at."""

    title: str
    figures: tuple[Figures, ...]
    limit: float | None
    remark: str = ""


class Workbench:
    """A private folder with the offline channel, wheels and caches that every run of a comparison shares."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.channels = folder / "channels"
        self.wheels = folder / "wheels"
        self.prefix = folder / "prefix"

    def prepare(self) -> None:
        """Build the offline channel and fetch the wheels once."""
        subprocess.run([sys.executable, "-m", "tests.channel", str(self.channels)], check=True, cwd=ROOT)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(self.wheels), *PIP_PACKAGES],
            check=True,
        )
        lines = "\n".join(f"    - {name}" for name in PIP_PACKAGES)
        (self.folder / "six.yml").write_text(
            f"channels: [conda-forge]\ndependencies:\n- python\n- pip\n- pip:\n{lines}\n"
        )

    def environ(self, home: str) -> dict[str, str]:
        """Return an environment of its own home, so that nobody's caches or configuration take part."""
        folder = self.folder / home
        folder.mkdir(parents=True, exist_ok=True)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "CONDA_CHANNEL_ALIAS": self.channels.as_uri(),
            "CONDA_PKGS_DIRS": str(folder / "pkgs"),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "UV_FIND_LINKS": str(self.wheels),
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
        for name in ("pkgs", "uv", "cache"):
            shutil.rmtree(self.folder / home / name, ignore_errors=True)


def creation(bench: Workbench, runs: int, *, cold: bool) -> Comparison:
    """Compare ``llmenv create`` with the bare calls, and with conda and micromamba where they are on PATH."""
    file = str(bench.folder / "six.yml")
    prefix = str(bench.prefix)
    ours = [*LLMENV, "create", "-f", file, "-p", prefix, "--no-verify", "--no-kernel", "-y", "-q"]
    channel, cache = (bench.channels / "conda-forge").as_uri(), str(bench.folder / "bare")
    bare = [sys.executable, str(ROOT / "bench" / "bare_create.py"), channel, prefix, cache, "--no-index", *PIP_PACKAGES]
    everyone = [("llmenv create", ours), ("py-rattler, then uv", bare), *_others(file, bench.prefix)]
    commands = [_create(bench, name, cold, argv) for name, argv in everyone]
    title = f"create python + pip + {len(PIP_PACKAGES)} pip packages, {'cold' if cold else 'warm'} caches"
    return Comparison(title, side_by_side(commands, runs), None if cold else 1.25)


def _create(bench: Workbench, name: str, cold: bool, argv: list[str]) -> Command:  # noqa: FBT001 - private
    home = "bare" if name.startswith("py-rattler") else name.split(maxsplit=1)[0]
    before = (lambda: bench.clear_caches(home)) if cold else bench.clear
    return Command(name, argv, bench.environ(home), ROOT, before)


def _others(file: str, prefix: Path) -> Iterator[tuple[str, list[str]]]:
    if shutil.which("conda"):
        yield "conda env create", ["conda", "env", "create", "-q", "-y", "-f", file, "-p", str(prefix)]
    if shutil.which("micromamba"):
        yield "micromamba create", ["micromamba", "create", "-q", "-y", "-f", file, "-p", str(prefix)]


def dry_run(bench: Workbench, runs: int) -> Comparison | None:
    """Compare a 240-package dry run on recorded metadata with one bare solve; None where it is not there."""
    if not RECORDED.is_dir():
        return None
    ours = {**bench.environ("llmenv"), "CONDA_CHANNEL_ALIAS": RECORDED.as_uri(), "CONDA_OVERRIDE_CUDA": "12.8"}
    plan = [*LLMENV, "create", "--dry-run", "-q", "-c", "conda-forge", *DRY_RUN_SPECS]
    channel, cache = (RECORDED / "conda-forge").as_uri(), str(bench.folder / "bare" / "repodata")
    solve = [sys.executable, str(ROOT / "bench" / "bare_solve.py"), channel, cache, *DRY_RUN_SPECS]
    commands = [
        Command("llmenv create --dry-run", plan, ours, bench.folder),
        Command("rattler.solve", solve, bench.environ("bare"), bench.folder),
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
    environ = bench.environ("llmenv")
    commands = [
        Command("llmenv compose", [*LLMENV, "compose", *arguments], environ, bench.folder),
        Command("llmenv --help", [*LLMENV, "--help"], environ, bench.folder),
    ]
    return Comparison(f"compose {files} fragments of {specs} specs", side_by_side(commands, runs), None)
