"""Fixtures around the index: tidy surroundings, target prefixes, requests, and a reporter that remembers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

from conda_llmenv.model import Notice, Origin, PipKind, PipOption, PipRequest, PipRequirement, PipSection

CANARY = "s3cr3t-canary"
"""A password that must show up nowhere."""


@dataclass
class Recorder:
    """A reporter that keeps what it was told."""

    lines: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    progress: list[tuple[int, int | None]] = field(default_factory=list)

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """Remember nothing."""

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """Remember the count."""
        self.progress.append((done, total))

    def finish(self, stage: str, detail: str = "") -> None:
        """Remember nothing."""

    def line(self, stage: str, text: str) -> None:
        """Remember a line of live output."""
        self.lines.append(text)

    def notice(self, notice: Notice) -> None:
        """Remember a warning."""
        self.notices.append(notice)


@dataclass
class ArgvWatch:
    """Snapshots of every process's command line while it runs."""

    seen: set[str] = field(default_factory=set)
    _over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        """Read /proc until told to stop."""
        while not self._over.wait(0.002):
            for process in Path("/proc").iterdir():
                if process.name.isdigit():
                    try:
                        self.seen.add((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
                    except OSError:
                        continue

    def stop(self) -> None:
        """End the watch."""
        self._over.set()


@pytest.fixture
def argv_watch() -> Iterator[ArgvWatch]:
    """Every command line of this machine during the test."""
    watch = ArgvWatch()
    thread = threading.Thread(target=watch.watch, daemon=True)
    thread.start()
    yield watch
    watch.stop()
    thread.join()


@pytest.fixture
def recorder() -> Recorder:
    """A reporter that remembers."""
    return Recorder()


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment without the machine's pip and uv settings, its caches below the test's folder."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "CONDA", "VIRTUAL"))
    }
    kept |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "XDG_CONFIG_HOME": str(home / ".config")}
    return {**kept, "UV_CACHE_DIR": str(home / ".cache" / "uv"), "PIP_CONFIG_FILE": os.devnull}


MakePrefix = Callable[..., Path]


@pytest.fixture
def make_prefix(tmp_path: Path) -> MakePrefix:
    """Return a function that makes an environment-like prefix with its own Python."""

    def make(name: str = "env", *, pip: bool = False) -> Path:
        prefix = tmp_path / name
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True, capture_output=True)
        if pip:
            _copy_pip(site_packages(prefix))
        return prefix

    return make


def _copy_pip(target: Path) -> None:
    """Put the running interpreter's pip into a folder, which is ten times faster than installing it."""
    found = find_spec("pip")
    if found is None or found.origin is None:
        pytest.skip("the Python that runs the tests has no pip")
    package = Path(found.origin).parent
    for folder in (package, *package.parent.glob("pip-*.dist-info")):
        shutil.copytree(folder, target / folder.name, ignore=shutil.ignore_patterns("__pycache__"))


def site_packages(prefix: Path) -> Path:
    """Return the folder that the prefix's Python imports from."""
    return next((prefix / "lib").glob("python3.*/site-packages"))


def python(prefix: Path, code: str) -> str:
    """Return what the prefix's own Python prints for ``code``."""
    command = [str(prefix / "bin" / "python"), "-I", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def installed(prefix: Path) -> dict[str, str]:
    """Return the distributions in a prefix, name → version, without pip and setuptools."""
    folders = [folder.name.removesuffix(".dist-info") for folder in site_packages(prefix).glob("*.dist-info")]
    found = dict(folder.rsplit("-", 1) for folder in folders)
    return {name: version for name, version in found.items() if name not in ("pip", "setuptools")}


def requirement(text: str, *, line: int = 5, path: Path | None = None, kind: PipKind = PipKind.NAMED) -> PipRequirement:
    """Return a requirement of ``env.yml``."""
    match = re.match(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?(?P<specifier>[^@;\s]*)", text)
    name = match["name"].lower().replace("_", "-") if match and path is None and not text.startswith("git+") else None
    specifier = match["specifier"] if match and kind is PipKind.NAMED else ""
    return PipRequirement(text, kind, Origin("env.yml", line), name=name, specifier=specifier, path=path)


def section(
    *requirements: str | PipRequirement, options: Sequence[Sequence[str]] = (), no_build_isolation: Sequence[str] = ()
) -> PipSection:
    """Return a pip section of ``env.yml``."""
    found = [
        requirement(one, line=5 + number) if isinstance(one, str) else one for number, one in enumerate(requirements)
    ]
    given = tuple(PipOption(tuple(tokens), Origin("env.yml", 3)) for tokens in options)
    return PipSection(given, tuple(found), tuple((one,) for one in found), tuple(no_build_isolation))


MakeRequest = Callable[..., PipRequest]


@pytest.fixture
def make_request(tmp_path: Path) -> MakeRequest:
    """Return a function that makes a request with a scratch folder of its own."""

    def make(
        wanted: PipSection, *, provided: Mapping[str, str] | None = None, offline: bool = False, python: str = ""
    ) -> PipRequest:
        version = python or ".".join(map(str, sys.version_info[:3]))
        return PipRequest(wanted, version, dict(provided or {}), scratch=tmp_path / "scratch", offline=offline)

    return make
