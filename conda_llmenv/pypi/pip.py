"""The pip section by pip itself, where uv cannot be used.

pip reads its own configuration, so only the section's options are written down for it. It can pin a section for a
Python that is not there yet as long as wheels fit everything; otherwise the plan stays open and is pinned on install.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path

from conda_llmenv import process
from conda_llmenv.errors import LlmenvError, PipFailed
from conda_llmenv.model import Notice, PipPackage, PipPlan, PipRequest, PipRequirement, PipResult
from conda_llmenv.ports import Reporter
from conda_llmenv.pypi import stages
from conda_llmenv.pypi.blame import AskedFile
from conda_llmenv.pypi.buildcache import build_folder, read_key
from conda_llmenv.pypi.config import PipConfig
from conda_llmenv.pypi.credentials import login_variables, logins, netrc_lines
from conda_llmenv.pypi.failures import failed, last_lines
from conda_llmenv.pypi.hashes import refuse_unhashed
from conda_llmenv.pypi.late import lacks_a_build_tool
from conda_llmenv.pypi.report import parse_report
from conda_llmenv.pypi.requirements import asked_line, pinned_line, with_settings, write_private
from conda_llmenv.pypi.sources import expand, gather
from conda_llmenv.pypi.stubs import stub_folder, write_stubs
from conda_llmenv.pypi.uvcommand import STAGE
from conda_llmenv.redact import mask, strip

QUIET = ("--no-input", "--disable-pip-version-check", "--no-color", "--progress-bar", "off")

_MISPLACING = (
    "TARGET",
    "PREFIX",
    "ROOT",
    "USER",
    "REQUIREMENT",
    "DRY_RUN",
    "REPORT",
    "IGNORE_INSTALLED",
    "REQUIRE_VIRTUALENV",
)
"""``PIP_*`` variables that would send the installation elsewhere."""

_DROPPED = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "VIRTUAL_ENV")

_PLATFORMS = {"linux-64": "x86_64", "linux-aarch64": "aarch64"}
_GLIBC = ("2_34", "2_31", "2_28", "2_27", "2_24", "2_17", "2_12", "2_5")


@dataclass
class PipPipInstaller:
    """Resolves and installs pip sections with pip.

    Args:
        config: pip's configuration, for what has to be said about it; pip reads it again.
        environ: the user's environment variables.
        directory: what relative paths of the configuration start from.
    """

    config: PipConfig
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    directory: Path = field(default_factory=Path.cwd)
    name: str = "pip"

    def resolve(self, request: PipRequest, reporter: Reporter) -> PipPlan:
        """Pin the first stage where wheels fit all of it; otherwise return its packages without versions.

        Raises:
            InputError: a local source is not there, or no Python.
        """
        started = time.monotonic()
        stages.check_request(request, self.environ)
        gather(self.config, request.section.options, self.environ, self.directory)
        first, late = stages.split(request.section)
        packages, reason = self._pin(request, first) if first else ((), "")
        if reason:
            message = (
                "pip cannot pin the section before the environment's Python is there; versions are chosen on install"
            )
            reporter.notice(Notice("pip-plan-open", f"{message}: {reason}"))
        options = tuple(strip(option.text) for option in request.section.options)
        lines = tuple(strip(one.text) for one in late)
        plan = PipPlan(self.name, packages, lines, options, seconds=time.monotonic() - started)
        if request.require_hashes:
            refuse_unhashed(plan, request)
        return plan

    def prefetch(self, plan: PipPlan, request: PipRequest, reporter: Reporter) -> None:
        """Do nothing: pip keeps no cache that it could install from without asking the index again."""

    def install(self, plan: PipPlan, request: PipRequest, prefix: Path, reporter: Reporter) -> PipResult:
        """Install both stages; see :class:`conda_llmenv.ports.PipInstaller`.

        Raises:
            InputError: hashes are required, and something has none.
            PipFailed: a step failed, or the environment has no pip.
        """
        started = time.monotonic()
        if request.require_hashes:
            refuse_unhashed(plan, request)
        total = len(plan.packages) + len(plan.late)
        reporter.start(STAGE, total)
        run = _Run(self, request, prefix, _folder(request), lambda line: reporter.line(STAGE, mask(line)))
        done: tuple[PipPackage, ...] = ()
        if plan.packages:
            done = run.first(plan)
            reporter.advance(STAGE, len(plan.packages), total)
        if plan.late:
            done += run.late(plan, done)
        reporter.finish(STAGE)
        return PipResult(self.name, done, time.monotonic() - started)

    def _pin(self, request: PipRequest, first: tuple[PipRequirement, ...]) -> tuple[tuple[PipPackage, ...], str]:
        """Return pinned packages and no reason, or open ones and the reason."""
        lines = [with_settings(one, asked_line(one, self.environ)) for one in first]
        unpinned = tuple(
            PipPackage(one.name or line, None, line, built=False, direct=" @ " in line)
            for one, line in zip(first, lines, strict=True)
        )
        if util.find_spec("pip") is None:
            return unpinned, "the Python that runs llmenv has no pip"
        folder = _folder(request)
        report = folder / "report.json"
        asked = self.requirements(request, folder, lines, write_stubs(request.provided, stub_folder(self.environ)))
        argv = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--report", str(report)]
        argv += ["--target", str(folder / "none"), "--only-binary", ":all:", *_target(request), *asked, *QUIET]
        done = process.run(argv, env=self.variables(request, folder), cwd=folder)
        if done.returncode:
            options = request.section.options
            origins = [*(one.origin for one in options), *(one.origin for one in first)]
            written = AskedFile("requirements.txt", [*(mask(one.text) for one in options), *lines], origins)
            output, misread = written.located(done.stderr)
            if misread and "Invalid requirement" in output:
                raise failed(request, done.stderr, "resolved", written)
            return unpinned, (last_lines(output) or ["pip failed"])[-1]
        return parse_report(report.read_text(encoding="utf-8"), stub_folder(self.environ)), ""

    def requirements(
        self, request: PipRequest, folder: Path, lines: Iterable[str], constraints: Iterable[str]
    ) -> list[str]:
        """Write what is asked and what holds, and return the arguments that name the files."""
        options = [expand(option.text, self.environ) for option in request.section.options]
        held = write_private(folder / "constraints.txt", constraints)
        asked = write_private(folder / "requirements.txt", [*options, *lines])
        return ["-r", str(asked), "-c", str(held)]

    def variables(self, request: PipRequest, folder: Path) -> dict[str, str]:
        """Return the environment pip runs in; logins of the request go to a private file in ``folder``."""
        misplacing = {f"PIP_{name}" for name in _MISPLACING}
        kept = {name: value for name, value in self.environ.items() if name not in misplacing and name not in _DROPPED}
        found = logins(request.section.requirements, self.environ)
        if found:
            netrc = write_private(folder / "netrc", netrc_lines(found, self.environ))
            kept |= login_variables(found, self.environ, netrc)
        return {**kept, "PYTHONNOUSERSITE": "1"}


def _folder(request: PipRequest) -> Path:
    request.scratch.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="pip-", dir=request.scratch))


def _target(request: PipRequest) -> list[str]:
    arguments = ["--python-version", request.python_version, "--implementation", "cp"]
    machine = _PLATFORMS.get(request.subdir)
    if machine is None:
        return arguments
    tags = [f"manylinux_{glibc}_{machine}" for glibc in _GLIBC] + [f"manylinux2014_{machine}", f"linux_{machine}"]
    return arguments + [word for tag in tags for word in ("--platform", tag)]


def _by_hash(packages: Iterable[PipPackage]) -> list[tuple[list[str], list[str]]]:
    """Return pinned lines and flags: pip takes no line without a hash beside one that has some."""
    known = list(packages)
    hashed = [pinned_line(one) for one in known if one.hashes]
    bare = [pinned_line(one) for one in known if not one.hashes]
    return [(lines, flags) for lines, flags in ((hashed, ["--require-hashes"]), (bare, [])) if lines]


@dataclass
class _Run:
    """The runs of the environment's own pip for one installation."""

    installer: PipPipInstaller
    request: PipRequest
    prefix: Path
    folder: Path
    on_line: Callable[[str], None]

    def first(self, plan: PipPlan) -> tuple[PipPackage, ...]:
        """Install the first stage, what has hashes by them."""
        pinned = ["--no-deps"] if all(one.version for one in plan.packages) else []
        packages: tuple[PipPackage, ...] = ()
        for lines, flags in _by_hash(plan.packages):
            done, installed = self._install(lines, self._held(()), [*pinned, *flags], self._variables())
            if done.returncode:
                raise self._failure(done, "installed")
            packages += installed
        return packages

    def late(self, plan: PipPlan, before: Sequence[PipPackage]) -> tuple[PipPackage, ...]:
        """Build and install the second stage: what is pinned as it is, then the rest of what was asked."""
        environ, names = self.installer.environ, {one.name for one in plan.pinned_late}
        asked = [
            with_settings(one, asked_line(one, environ))
            for one in self.request.section.requirements
            if strip(one.text) in plan.late and one.name not in names
        ]
        groups = [(lines, [*flags, "--no-deps"]) for lines, flags in _by_hash(plan.pinned_late)]
        packages: tuple[PipPackage, ...] = ()
        for lines, flags in [*groups, (asked, [])] if asked else groups:
            packages += self._built(lines, flags, [*before, *packages])
        return packages

    def _built(self, lines: Sequence[str], flags: list[str], before: Sequence[PipPackage]) -> tuple[PipPackage, ...]:
        environ = self.installer.environ
        cache = build_folder(read_key(self.prefix, self.request.python_version, environ), environ)
        variables = {**self._variables(), "PIP_CACHE_DIR": str(cache)}
        held = self._held(before)
        done, packages = self._install(lines, held, [*flags, "--no-build-isolation"], variables)
        if done.returncode and lacks_a_build_tool(done.stdout + done.stderr):
            done, packages = self._install(lines, held, flags, variables)
        if done.returncode:
            raise self._failure(done, "built")
        return packages

    def _variables(self) -> dict[str, str]:
        return self.installer.variables(self.request, self.folder)

    def _held(self, before: Sequence[PipPackage]) -> list[str]:
        pins = [f"{name}=={version}" for name, version in self.request.provided.items()]
        return pins + [f"{one.name}=={one.version}" for one in before if one.version]

    def _install(
        self, lines: Sequence[str], held: Sequence[str], flags: Sequence[str], variables: Mapping[str, str]
    ) -> tuple[process.Completed, tuple[PipPackage, ...]]:
        report = self.folder / "report.json"
        files = self.installer.requirements(self.request, self.folder, lines, held)
        argv = [
            str(self.prefix / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--report",
            str(report),
            *files,
            *flags,
            *QUIET,
        ]
        argv += ["--no-index"] if self.request.offline else []
        done = process.run(argv, env=variables, cwd=self.folder, on_line=self.on_line)
        if done.returncode:
            return done, ()
        return done, parse_report(report.read_text(encoding="utf-8"), stub_folder(self.installer.environ))

    def _failure(self, done: process.Completed, action: str) -> LlmenvError:
        output = done.stdout + done.stderr
        if "No module named pip" in output:
            return PipFailed(
                f"{self.prefix} has no pip", details=last_lines(output), hint="add `pip` to the conda dependencies"
            )
        return failed(self.request, output, action)
