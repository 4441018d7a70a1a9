"""The pip section by uv: resolve without the environment, fetch while conda packages are linked, install by hash."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from conda_llmenv.errors import PipFailed
from conda_llmenv.model import Notice, PipPackage, PipPlan, PipRequest, PipRequirement, PipResult
from conda_llmenv.ports import Reporter
from conda_llmenv.pypi import stages, uvconfig
from conda_llmenv.pypi.blame import AskedFile
from conda_llmenv.pypi.config import PipConfig
from conda_llmenv.pypi.failures import culprit, failed
from conda_llmenv.pypi.hashes import hash_flags, refuse_unhashed, with_asked_hashes
from conda_llmenv.pypi.pylock import completed, parse_pylock, write_preferences
from conda_llmenv.pypi.requirements import (
    asked_line,
    config_arguments,
    is_editable_checkout,
    pinned_line,
    without_hashes,
)
from conda_llmenv.pypi.sources import gather
from conda_llmenv.pypi.stubs import stub_folder, write_stubs
from conda_llmenv.pypi.uvcommand import PLATFORMS, STAGE, LiveLines, Uv, Workspace, native_subdir
from conda_llmenv.pypi.uvlimits import check_supported
from conda_llmenv.redact import mask, strip

WORTH_FETCHING = 4_000_000
"""Bytes from which fetching ahead saves more than starting one more program costs."""

UNKNOWN_SIZE = 1_000_000
"""What a wheel of unknown size counts as."""


class UvInstaller(Struct):
    """Resolves and installs pip sections with uv.

    Args:
        config: pip's configuration.
        environ: the user's environment variables.
        directory: what relative paths of the configuration start from.
        worth_fetching: bytes from which wheels are fetched ahead.
    """

    config: PipConfig
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    directory: Path = field(default_factory=Path.cwd)
    worth_fetching: int = WORTH_FETCHING
    name: str = "uv"

    def resolve(self, request: PipRequest, reporter: Reporter) -> PipPlan:
        """Pin the first stage; see :class:`conda_llmenv.ports.PipInstaller`.

        Raises:
            InputError: a local source is not there, or no Python.
            PipFailed: nothing fits, or an index cannot be reached.
        """
        started = time.monotonic()
        check_supported(request.section)
        stages.check_request(request, self.environ)
        workspace = self._workspace(request)
        checkouts = map(_checkout_notice, filter(is_editable_checkout, request.section.requirements))
        for notice in (*workspace.sources.notices, *uvconfig.dropped_variables(self.environ), *checkouts):
            reporter.notice(notice)
        first, late = stages.split(request.section)
        packages: tuple[PipPackage, ...] = ()
        if first:
            packages, deferred = _Resolution(workspace, request, reporter).pin(first)
            late = tuple(one for one in request.section.requirements if one in late or one in deferred)
        options = tuple(strip(option.text) for option in request.section.options)
        lines = tuple(strip(one.text) for one in late)
        plan = PipPlan(self.name, packages, lines, options, seconds=time.monotonic() - started)
        if workspace.sources.require_hashes or request.require_hashes:
            refuse_unhashed(plan, request, configured=workspace.sources.require_hashes)
        return plan

    def prefetch(self, plan: PipPlan, request: PipRequest, reporter: Reporter) -> None:
        """Fill uv's cache with the wheels of the first stage; a failure shows up again, with its reason, on install."""
        wheels = [package for package in plan.packages if not package.built]
        if (
            request.offline
            or sum(UNKNOWN_SIZE if one.size is None else one.size for one in wheels) < self.worth_fetching
        ):
            return
        workspace = self._workspace(request)
        uv = Uv(workspace)
        pinned = workspace.file("fetch.txt", map(pinned_line, wheels))
        arguments = [
            "install",
            "--no-deps",
            "--require-hashes",
            "-r",
            pinned,
            "--target",
            str(workspace.folder / "fetched"),
        ]
        arguments += _target(request)
        cached = uv.run([*arguments, "--dry-run"], offline=True)
        if cached.returncode or "Would download" in cached.stderr:
            uv.run(arguments)

    def install(self, plan: PipPlan, request: PipRequest, prefix: Path, reporter: Reporter) -> PipResult:
        """Install both stages; see :class:`conda_llmenv.ports.PipInstaller`.

        Raises:
            InputError: hashes are required, and something has none.
            PipFailed: a step failed; its last lines are in ``details``.
        """
        started = time.monotonic()
        if request.require_hashes:
            refuse_unhashed(plan, request)
        workspace = self._workspace(request)
        total = len(plan.packages) + len(plan.late)
        reporter.start(STAGE, total)
        lines = LiveLines(reporter, total)
        if plan.packages:
            self._install_first(plan, request, workspace, prefix, lines)
        built: tuple[PipPackage, ...] = ()
        if plan.late:
            from conda_llmenv.pypi.late import install_late

            built = install_late(plan, request, workspace, prefix=prefix, lines=lines, environ=self.environ)
        reporter.finish(STAGE)
        return PipResult(self.name, (*plan.packages, *built), time.monotonic() - started)

    def _install_first(
        self, plan: PipPlan, request: PipRequest, workspace: Workspace, prefix: Path, lines: LiveLines
    ) -> None:
        pinned = workspace.file("pinned.txt", map(pinned_line, plan.packages))
        uv = Uv(workspace, request.offline)
        arguments = ["install", "--python", str(prefix / "bin" / "python"), "--no-deps", "-r", pinned]
        arguments += config_arguments(request.section.requirements)
        arguments += hash_flags(plan.packages) + link_mode(workspace.environ, prefix)
        if not request.offline and not any(package.built for package in plan.packages):
            # everything is in the cache after a prefetch; asking the indexes again would only cost time
            cached = uv.run(arguments, offline=True)
            if cached.returncode == 0:
                for line in cached.stderr.splitlines():
                    lines(line)
                return
        done = uv.run(arguments, on_line=lines)
        if done.returncode:
            raise failed(request, done.stderr, "installed")

    def _workspace(self, request: PipRequest) -> Workspace:
        sources = gather(self.config, request.section.options, self.environ, self.directory)
        return Workspace.create(request, sources, self.environ)


class _Resolution(Struct, frozen=True):
    """One resolution of the first stage."""

    workspace: Workspace
    request: PipRequest
    reporter: Reporter

    def pin(self, first: tuple[PipRequirement, ...]) -> tuple[tuple[PipPackage, ...], tuple[PipRequirement, ...]]:
        """Return the pinned packages, and the requirements that turned out to need the second stage."""
        stubs = stub_folder(self.workspace.environ)
        constraints = self.workspace.constraints(write_stubs(self.request.provided, stubs))
        deferred: list[PipRequirement] = []
        while True:
            asked = [one for one in first if one not in deferred]
            if not asked:
                return (), tuple(deferred)
            packages, blamed = self._compile(asked, constraints, stubs)
            late = [one for one in asked if one.name in blamed]
            if not late:
                return tuple(with_asked_hashes(packages, asked, self.request)), tuple(deferred)
            deferred += late

    def _compile(
        self, asked: list[PipRequirement], constraints: list[str], stubs: Path
    ) -> tuple[tuple[PipPackage, ...], frozenset[str]]:
        """Resolve once; names in the second value have to be built in the environment itself."""
        lines = [without_hashes(asked_line(one, self.workspace.environ)) for one in asked]
        output = self.workspace.folder / "pylock.toml"
        write_preferences(output, self.request.locked)
        arguments = ["compile", self.workspace.file("requirements.in", lines), *constraints, "--generate-hashes"]
        arguments += ["--format", "pylock.toml", "-o", str(output), *_target(self.request), *config_arguments(asked)]
        done = Uv(self.workspace, self.request.offline).run(arguments)
        if done.returncode:
            name = culprit(done.stderr) if "Failed to build" in done.stderr else None
            if name and name in {one.name for one in asked} and self._is_worth_waiting(name, done.stderr):
                return (), frozenset({name})
            written = AskedFile("requirements.in", lines, [one.origin for one in asked])
            raise failed(self.request, done.stderr, "resolved", written)
        self._warn_of_extras(done.stderr)
        packages = tuple(map(completed, parse_pylock(output, stubs)))
        unbuilt = frozenset(package.name for package in packages if package.built) & stages.build_table()[1]
        return packages, unbuilt

    def _is_worth_waiting(self, name: str, output: str) -> bool:
        """Whether a build that failed here may work with the environment's own Python and packages."""
        here = f"{sys.version_info.major}.{sys.version_info.minor}."
        other_python = not self.request.python_version.startswith(here)
        return other_python or name in stages.build_table()[1] or "No module named 'torch'" in output

    def _warn_of_extras(self, output: str) -> None:
        for line in output.splitlines():
            if "does not have an extra named" in line and "file://" in line:
                name = line.split("`")[1].split(" ")[0]
                extra = line.rsplit("`", 2)[1]
                message = f"conda provides {name}; what its extra {extra!r} needs is not installed with it"
                self.reporter.notice(
                    Notice("extra-of-provided", message, hint=f"ask for those packages by name, beside {name}")
                )


def _target(request: PipRequest) -> list[str]:
    """Return the arguments that say for which Python and platform, while that Python is not there yet."""
    arguments = ["--python", sys.executable, "--python-version", request.python_version]
    if request.subdir != native_subdir():
        platform = PLATFORMS.get(request.subdir)
        if platform is None:
            raise PipFailed(f"uv knows no wheels for {request.subdir}", hint="resolve on a machine of that platform")
        arguments += ["--python-platform", platform]
    return arguments


def _checkout_notice(requirement: PipRequirement) -> Notice:
    return Notice(
        "not-editable",
        f"{requirement.origin}: {mask(requirement.text)} is installed from its commit: uv keeps no checkout to edit",
        hint="to edit it, clone it yourself and write `-e PATH`",
        origins=(requirement.origin,),
    )


def link_mode(environ: Mapping[str, str], prefix: Path) -> list[str]:
    """Return the link mode: uv's own choice, or copies where the cache is on another file system than the prefix."""
    if environ.get("UV_LINK_MODE"):
        return []
    home = Path(environ.get("HOME") or Path.home())
    cache = Path(environ.get("UV_CACHE_DIR") or Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "uv")
    existing = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    return [] if existing.stat().st_dev == prefix.stat().st_dev else ["--link-mode", "copy"]
