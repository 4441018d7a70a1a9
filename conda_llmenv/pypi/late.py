"""The second stage: what builds against the first, without build isolation; wheels are kept per torch and CUDA."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from conda_llmenv.locks.pip_toml import loads
from conda_llmenv.model import PipPackage, PipPlan, PipRequest, PipRequirement
from conda_llmenv.process import Completed
from conda_llmenv.pypi.blame import AskedFile
from conda_llmenv.pypi.buildcache import build_folder, read_key, tools_folder
from conda_llmenv.pypi.failures import failed
from conda_llmenv.pypi.hashes import hash_flags
from conda_llmenv.pypi.pylock import parse_pylock
from conda_llmenv.pypi.requirements import asked_line, config_arguments, is_editable_checkout, pinned_line
from conda_llmenv.pypi.stages import build_table
from conda_llmenv.pypi.stubs import stub_folder, write_stubs
from conda_llmenv.pypi.uvcommand import LiveLines, Uv, Workspace
from conda_llmenv.redact import strip

BUILD_TOOLS = ("setuptools<81", "wheel", "packaging", "ninja")
"""What builds without isolation expect to find; setuptools before it warns about pkg_resources, which many import."""

WITHOUT_ISOLATION = "--no-build-isolation"

_MISSING_MODULE = re.compile(r"No module named ['\"](?P<name>\w+)|Cannot import ['\"](?P<backend>\w+)")


def install_late(
    plan: PipPlan,
    request: PipRequest,
    workspace: Workspace,
    *,
    prefix: Path,
    lines: LiveLines,
    environ: Mapping[str, str],
) -> tuple[PipPackage, ...]:
    """Resolve (what is not pinned), build and install the second stage into a prefix whose first stage is there.

    Returns:
        What was installed, with the hashes of files that come from an index.

    Raises:
        PipFailed: a build or a download failed.
    """
    held = {**request.provided, **_versions(plan.packages)}
    asked = tuple(one for one in request.section.requirements if strip(one.text) in plan.late)
    stage = _SecondStage(request, workspace, prefix, lines, held, asked)
    cache = build_folder(read_key(prefix, request.python_version, environ), environ)
    done = stage.install(cache, plan.pinned_late) if plan.pinned_late else ()
    pinned = {one.name for one in done}
    rest = tuple(one for one in asked if one.name not in pinned)
    if not rest:
        return done
    return (*done, *replace(stage, held={**held, **_versions(done)}, asked=rest).install(cache))


def _versions(packages: Iterable[PipPackage]) -> dict[str, str]:
    return {one.name: one.version for one in packages if one.version}


class _SecondStage(Struct, frozen=True):
    request: PipRequest
    workspace: Workspace
    prefix: Path
    lines: LiveLines
    held: Mapping[str, str]
    asked: tuple[PipRequirement, ...]

    def install(self, cache: Path, pinned: tuple[PipPackage, ...] = ()) -> tuple[PipPackage, ...]:
        """Install what is pinned, or what is asked once it is resolved; ``cache`` keeps the wheels built here."""
        common = ["--python", str(self.prefix / "bin" / "python"), "--cache-dir", str(cache)]
        environ = build_environment(self.prefix, self.workspace.environ, self._build_tools(common))
        common += config_arguments(self.asked)
        isolation = [WITHOUT_ISOLATION]
        if not pinned:
            pinned, isolation = self._resolve(common, environ)
        done = self._install(pinned, [*common, *isolation], environ)
        if done.returncode and isolation == [WITHOUT_ISOLATION] and lacks_a_build_tool(done.stderr):
            done = self._install(pinned, [*common, *self._isolation_of_known()], environ)
        if done.returncode:
            raise failed(self.request, done.stderr, "built")
        return tuple(replace(one, version=one.version or self._installed_version(one.name)) for one in pinned)

    def _resolve(self, common: Sequence[str], environ: Mapping[str, str]) -> tuple[tuple[PipPackage, ...], list[str]]:
        """Return what is asked, pinned, and the arguments by which its sources could be read."""
        isolation = [WITHOUT_ISOLATION]
        done = self._compile([*common, *isolation], environ)
        if done.returncode and lacks_a_build_tool(done.stderr):
            # its sources name a build tool of their own: build those in isolation, which installs what they name
            isolation = self._isolation_of_known()
            done = self._compile([*common, *isolation], environ)
        if done.returncode:
            for line in done.stderr.splitlines():
                self.lines(line)
            written = AskedFile("late.in", self._asked_lines(), [one.origin for one in self.asked])
            raise failed(self.request, done.stderr, "built", written)
        return parse_pylock(self._lock, stub_folder(self.workspace.environ)), isolation

    def _install(
        self, packages: tuple[PipPackage, ...], arguments: Sequence[str], environ: Mapping[str, str]
    ) -> Completed:
        pinned = self.workspace.file("late-pinned.txt", map(pinned_line, packages))
        argv = ["install", "--no-deps", "-r", pinned, *hash_flags(packages), *arguments]
        return Uv(self.workspace, self.request.offline).run(argv, on_line=self.lines, environ=environ)

    def _installed_version(self, name: str) -> str | None:
        """Return the version a source turned out to have."""
        from importlib import metadata

        folders = [str(folder) for folder in (self.prefix / "lib").glob("python3.*/site-packages")]
        found = metadata.distributions(name=name, path=folders)
        return next((one.version for one in found), None)

    @property
    def _lock(self) -> Path:
        return self.workspace.folder / "pylock.late.toml"

    def _compile(self, common: Sequence[str], environ: Mapping[str, str]) -> Completed:
        asked = self.workspace.file("late.in", self._asked_lines())
        constraints = self.workspace.constraints(write_stubs(self.held, stub_folder(self.workspace.environ)))
        arguments = ["compile", asked, *constraints, "--generate-hashes", "--format", "pylock.toml"]
        arguments += ["-o", str(self._lock), *common]
        return Uv(self.workspace, self.request.offline).run(arguments, environ=environ)

    def _asked_lines(self) -> list[str]:
        lines = [(one, asked_line(one, self.workspace.environ)) for one in self.asked]
        return [line.removeprefix("-e ") if is_editable_checkout(one) else line for one, line in lines]

    def _isolation_of_known(self) -> list[str]:
        known = (
            build_table()[0]
            | build_table()[1]
            | {canonicalize_name(name) for name in self.request.section.no_build_isolation}
        )
        names = [one.name for one in self.asked if one.name in known and one.name]
        return [word for name in names for word in ("--no-build-isolation-package", name)]

    def _build_tools(self, common: Sequence[str]) -> Path:
        """Return a folder of build tools that the environment lacks, beside it, so that it does not keep them."""
        wanted = [*BUILD_TOOLS, *(line for one in self.asked for line in declared_build_requirements(one))]
        missing = sorted({line for line in wanted if _name(line) not in {*self.held, "torch", None}})
        folder = tools_folder(missing, self.request.python_version, self.workspace.environ)
        if folder.is_dir():
            return folder
        fresh = self.workspace.folder / "build-tools"
        listed = self.workspace.file("build-tools.txt", missing)
        done = Uv(self.workspace, self.request.offline).run(["install", "--target", str(fresh), "-r", listed, *common])
        if done.returncode:
            self.lines(f"build tools could not be installed: {done.stderr.strip().splitlines()[-1]}")
            return fresh
        return _kept(fresh, folder)


def _kept(fresh: Path, folder: Path) -> Path:
    """Move a complete folder to where the next build looks; another process may have been faster, or it is not ours."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(fresh, folder)) if not folder.exists() else folder
    except OSError:
        return fresh


def lacks_a_build_tool(output: str) -> bool:
    """Whether a build failed for want of a module that isolation would have brought (torch is never one)."""
    match = _MISSING_MODULE.search(output)
    return match is not None and (match["name"] or match["backend"]) != "torch"


def declared_build_requirements(requirement: PipRequirement) -> tuple[str, ...]:
    """Return ``build-system.requires`` of a local source folder, nothing where there is none."""
    if requirement.path is None:
        return ()
    try:
        declared = loads((requirement.path / "pyproject.toml").read_text(encoding="utf-8"))
        return tuple(declared.get("build-system", {}).get("requires", ()))
    except (OSError, ValueError):
        return ()


def _name(line: str) -> str | None:
    try:
        return canonicalize_name(Requirement(line).name)
    except InvalidRequirement:
        return None


def build_environment(prefix: Path, environ: Mapping[str, str], tools: Path) -> dict[str, str]:
    """Return the variables by which a build finds the environment's programs, compilers and CUDA."""
    folders = [str(tools / "bin"), str(prefix / "bin"), environ.get("PATH", os.defpath)]
    variables = {"PATH": os.pathsep.join(folders), "PYTHONPATH": str(tools), "CONDA_PREFIX": str(prefix)}
    triplet = f"{platform.machine()}-conda-linux-gnu"
    for variable, program in (("CC", "cc"), ("CXX", "c++")):
        compiler = prefix / "bin" / f"{triplet}-{program}"
        if variable not in environ and compiler.exists():
            variables[variable] = str(compiler)
    if "CUDA_HOME" not in environ and (prefix / "bin" / "nvcc").exists():
        variables["CUDA_HOME"] = str(prefix)
    return variables
