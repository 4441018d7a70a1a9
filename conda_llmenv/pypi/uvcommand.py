"""Running uv: the program, its settings file, its environment and its live lines."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from conda_llmenv import process
from conda_llmenv.errors import PipFailed
from conda_llmenv.model import PipRequest
from conda_llmenv.ports import Reporter
from conda_llmenv.pypi import uvconfig
from conda_llmenv.pypi.credentials import login_variables, logins, netrc_lines
from conda_llmenv.pypi.requirements import constraint_include, write_private
from conda_llmenv.pypi.sources import Sources
from conda_llmenv.redact import mask

STAGE = "pip"
"""The stage that progress is reported under."""

PLATFORMS = {
    "linux-64": "x86_64-unknown-linux-gnu",
    "linux-aarch64": "aarch64-unknown-linux-gnu",
    "osx-64": "x86_64-apple-darwin",
    "osx-arm64": "aarch64-apple-darwin",
    "win-64": "x86_64-pc-windows-msvc",
}
"""conda's subdir → uv's name of the platform."""

_INSTALLED = re.compile(r"^ [+~] \S")
_NOISE = re.compile(r"^(?:Using (?:CPython|Python) |warning: The requested Python version )")


def uv_binary() -> str:
    """Return the path of uv's program.

    Raises:
        PipFailed: the uv distribution is there without its program.
    """
    found = find_uv()
    if found is None:
        raise PipFailed("uv is not installed beside llmenv", hint="pip install uv, or conda install uv")
    return found


def find_uv() -> str | None:
    """Return uv's program: of the Python package, beside the interpreter (conda's uv is only that), or on PATH."""
    with contextlib.suppress(ImportError, FileNotFoundError):
        import uv

        return uv.find_uv_bin()
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("uv")


def native_subdir() -> str:
    """Return the conda subdir of the running interpreter."""
    machine = {"x86_64": "64", "amd64": "64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{ {'darwin': 'osx', 'win32': 'win'}.get(sys.platform, sys.platform) }-{machine}".replace(" ", "")


class Workspace(Struct, frozen=True):
    """A private folder with the files one run of uv reads, and the environment it runs in."""

    folder: Path
    sources: Sources
    environ: Mapping[str, str]

    @classmethod
    def create(cls, request: PipRequest, sources: Sources, environ: Mapping[str, str]) -> Workspace:
        """Make a fresh folder inside the request's scratch folder, so that concurrent runs never share files."""
        request.scratch.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="pip-", dir=request.scratch))
        write_private(folder / "uv.toml", [uvconfig.render(sources)])
        variables = uvconfig.environment(sources, environ)
        variables["UV_CREDENTIALS_DIR"] = uvconfig.credentials_folder(environ, folder)
        found = logins(request.section.requirements, environ)
        if found:
            netrc = write_private(folder / "netrc", netrc_lines(found, environ))
            variables |= login_variables(found, environ, netrc)
        return cls(folder, sources, variables)

    def file(self, name: str, lines: Iterable[str]) -> str:
        """Write a private file and return its path."""
        return str(write_private(self.folder / name, lines))

    def constraints(self, lines: Iterable[str]) -> list[str]:
        """Return the arguments for the constraints that hold: the configured ones and ``lines``."""
        held = [*map(constraint_include, self.sources.constraints), *lines]
        return ["-c", self.file("constraints.txt", held)] if held else []


class Uv(Struct, frozen=True):
    """Starts ``uv pip …`` with settings that come from a workspace only."""

    workspace: Workspace
    offline: bool = False

    def run(
        self,
        arguments: Sequence[str],
        *,
        on_line: Callable[[str], None] | None = None,
        environ: Mapping[str, str] | None = None,
        offline: bool | None = None,
    ) -> process.Completed:
        """Run ``uv pip ARGUMENTS``; no argument may hold a secret, because every user of the machine can read argv.

        Args:
            arguments: after ``uv pip``.
            on_line: receives each line, as uv prints it.
            environ: variables on top of the workspace's.
            offline: overrides the default of this object.
        """
        network = ["--offline"] if (self.offline if offline is None else offline) else []
        settings = ["--config-file", str(self.workspace.folder / "uv.toml"), "--no-progress"]
        argv = [uv_binary(), "pip", *arguments, *settings, *network]
        return process.run(
            argv, env={**self.workspace.environ, **(environ or {})}, cwd=self.workspace.folder, on_line=on_line
        )


class LiveLines:
    """Passes a tool's lines on to a reporter, secrets masked, and counts what it has installed."""

    def __init__(self, reporter: Reporter, total: int) -> None:
        self._reporter = reporter
        self._total = total
        self._done = 0

    def __call__(self, line: str) -> None:
        """Report one line."""
        if not line.strip() or _NOISE.match(line):
            return
        self._reporter.line(STAGE, mask(line))
        if _INSTALLED.match(line):
            self._done += 1
            self._reporter.advance(STAGE, min(self._done, self._total), self._total)
