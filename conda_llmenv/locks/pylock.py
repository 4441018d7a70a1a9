"""``pylock.toml``, the standard lock of Python (PEP 751): the pip section of one platform, every file with its hashes.

uv and pip install from it. What they have no use for stands in comments (see :mod:`conda_llmenv.locks.header`) and in
``[tool.llmenv]``: the platform, and the option lines of the pip section.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from conda_llmenv.compose.pip_lines import Option, parse_line
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.errors import InputError
from conda_llmenv.locks.distribution_files import is_version
from conda_llmenv.locks.header import read_head, with_head
from conda_llmenv.locks.mistakes import Mistakes
from conda_llmenv.locks.pip_hashes import checked_hash
from conda_llmenv.locks.pip_index import PUBLIC_INDEX, index_of
from conda_llmenv.locks.pip_platforms import ANY, MARKERS
from conda_llmenv.locks.pip_selection import settled
from conda_llmenv.locks.pip_tables import File, Table, check_file, package_of, read_table, table_of
from conda_llmenv.locks.pip_targets import target_of
from conda_llmenv.locks.pip_toml import TomlText, read_toml, written
from conda_llmenv.model import Lock, LockedPlatform, PipPackage
from conda_llmenv.redact import strip

VERSION = "1.0"
TOOL = "llmenv"


def write(lock: Lock) -> str:
    """Return the lockfile of the first platform: UTF-8 text, line feeds, the same for the same environment.

    Raises:
        InputError: a distribution has no hash or no address; all of them are named.
    """
    platform = lock.platforms[0]
    lines = [*_top(platform), "", *_packages(lock, platform), *_tool(lock, platform), ""]
    return with_head("\n".join(lines), lock.facts, lock.specs, lock.input_hash)


def _top(platform: LockedPlatform) -> Iterator[str]:
    yield f"lock-version = {written(VERSION)}"
    if platform.subdir in MARKERS:
        yield f"environments = {written([MARKERS[platform.subdir]])}"
    python = platform.record("python")
    if python is not None:
        yield f"requires-python = {written(f'=={_series(python.version)}.*')}"
    yield f"created-by = {written(TOOL)}"
    if not platform.pip:
        yield "packages = []"


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _packages(lock: Lock, platform: LockedPlatform) -> Iterator[str]:
    refused: list[str] = []
    packages = sorted(platform.pip, key=lambda one: one.name)
    tables = [_table(package, index_of(package, lock.pip_options), refused) for package in packages]
    if refused:
        raise InputError(
            f"pylock.toml cannot hold {len(refused)} of {len(platform.pip)} distributions",
            details=refused,
            hint="`llmenv lock` notes the address and hash of each file; the environment format needs neither",
        )
    for table in tables:
        yield from _table_lines(table)


def _table(package: PipPackage, index: str | None, refused: list[str]) -> Mapping[str, Any]:
    try:
        return table_of(package, index)
    except Unreadable as error:
        refused.append(f"{package.name}: {error.text}")
        return {}


def _table_lines(table: Mapping[str, Any]) -> Iterator[str]:
    yield "[[packages]]"
    for key, value in table.items():
        if key == "wheels":
            yield "wheels = ["
            yield from (f"    {written(wheel)}," for wheel in value)
            yield "]"
        else:
            yield f"{key} = {written(value)}"
    yield ""


def _tool(lock: Lock, platform: LockedPlatform) -> Iterator[str]:
    yield f"[tool.{TOOL}]"
    yield f"platform = {written(platform.subdir)}"
    yield f"pip-options = {written([strip(line) for line in lock.pip_options])}"


def read(text: str, display: str) -> Lock:
    """Return what a ``pylock.toml`` of any tool pins.

    Without ``[tool.llmenv]`` the platform is :data:`conda_llmenv.locks.pip_platforms.ANY`, and the option lines name
    the indexes that its packages come from.

    Raises:
        FileFormatError: it is not what PEP 751 says; every problem is named with its line.
    """
    reading = _Reading.start(text, display)
    tables = reading.tables()
    packages = tuple(sorted((package for _, package, _ in tables), key=lambda package: package.name))
    tool = reading.tool()
    options = reading.options(tool) if tool else tuple(_index_options(table for table, _, _ in tables))
    reading.mistakes.raise_if_any()
    head = read_head(text)
    return Lock(
        platforms=(LockedPlatform(str(tool.get("platform", ANY)), (), packages),),
        specs=head.specs,
        pip_options=options,
        facts=head.facts,
        input_hash=head.input_hash,
        lines={package.name: line for _, package, line in tables},
    )


def _index_options(tables: Iterable[Table]) -> Iterator[str]:
    indexes = dict.fromkeys(table.index.rstrip("/") for table in tables if table.index)
    yield from (f"--extra-index-url {index}" for index in indexes if index != PUBLIC_INDEX)


class _Reading(Struct):
    """One file being read, with the problems found so far."""

    toml: TomlText
    mistakes: Mistakes

    @classmethod
    def start(cls, text: str, display: str) -> _Reading:
        """Read the text and check what holds for all of it: TOML, its version, no placeholder."""
        mistakes = Mistakes(display)
        try:
            toml = read_toml(text)
        except Unreadable as error:
            mistakes.unreadable(error)
            raise
        reading = cls(toml, mistakes)
        reading.check_top()
        mistakes.placeholders(text)
        return reading

    def check_top(self) -> None:
        """Refuse another major version of the format: what its fields mean is not known here."""
        version = self.toml.data.get("lock-version")
        try:
            known = isinstance(version, str) and Version(version).major == 1
        except InvalidVersion:
            known = False
        if not known:
            line = self.toml.line_of("lock-version")
            self.mistakes.problem(line, f"lock-version {version!r} is not known here", hint=f"known is {VERSION}")
            self.mistakes.raise_if_any()

    def tables(self) -> list[tuple[Table, PipPackage, int]]:
        """Return every table with its package and its line."""
        entries = self.toml.data.get("packages")
        if not isinstance(entries, list):
            self.mistakes.problem(self.toml.line_of("packages"), "`packages` is not an array of tables")
            return []
        found: list[tuple[Table, PipPackage, int]] = []
        seen: dict[str, int] = {}
        for entry, line in zip(entries, self.toml.starts("packages", len(entries)), strict=True):
            try:
                picked = self._package(entry, line)
            except Unreadable as error:
                name = entry.get("name") if isinstance(entry, dict) else None
                said = f"{name[:80]}: " if isinstance(name, str) and name.isprintable() else ""
                self.mistakes.problem(error.line or line, f"{said}{error.text}", hint=error.hint)
                continue
            if picked is None:
                continue
            table, package = picked
            if package.name in seen:
                text = f"{package.name} is locked twice, first in line {seen[package.name]}"
                self.mistakes.problem(line, text, hint=_ONE_SELECTION)
                continue
            seen[package.name] = line
            found.append((table, package, line))
        return found

    def _package(self, entry: Any, line: int) -> tuple[Table, PipPackage] | None:
        """Return a table with its package; None where an installer does not pick it."""
        table = read_table(entry)
        _check(table)
        if table.marker:
            marker = settled(table.marker, self.groups())
            if marker is None:
                return None
            table = replace(table, marker=marker)
        for file in table.files:
            self._check_file(table, file, line)
        package = package_of(table)
        target_of(package)
        return table, package

    def groups(self) -> tuple[str, ...]:
        """Return the dependency groups that are installed by default."""
        found = self.toml.data.get("default-groups", [])
        return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()

    def _check_file(self, table: Table, file: File, line: int) -> None:
        try:
            _check_hashes(file)
            if file is not table.archive:
                check_file(file.file_name, table.name, table.version)
        except Unreadable as error:
            at = self.toml.line_of(file.url or file.path or table.name, line)
            raise Unreadable(error.text, hint=error.hint, line=at) from error

    def tool(self) -> Mapping[str, Any]:
        """Return what we noted; empty in a lock of another tool."""
        tools = self.toml.data.get("tool")
        ours = tools.get(TOOL) if isinstance(tools, dict) else None
        if ours is None:
            return {}
        line = self.toml.line_of(f"tool.{TOOL}")
        if not isinstance(ours, dict) or ours.get("platform") not in (ANY, *MARKERS):
            text = f"tool.{TOOL} names no platform that is known"
            self.mistakes.problem(line, text, hint=f"known are {', '.join(MARKERS)}")
            return {}
        return ours

    def options(self, tool: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the option lines that we noted."""
        lines = tool.get("pip-options", [])
        if not isinstance(lines, list):
            lines = [lines]
        at = self.toml.line_of("pip-options")
        for line in lines:
            if not _is_option(line):
                self.mistakes.problem(at, f"{line!r} is no option line of pip")
        return tuple(map(str, lines))


_ONE_SELECTION = "lock one platform and one Python: a lock of several picks by markers when it is installed"


def _check(table: Table) -> None:
    try:
        canonicalize_name(table.name, validate=True)
    except InvalidName as error:
        raise Unreadable(f"{table.name[:80]!r} is no name of a distribution") from error
    if not table.sources:
        raise Unreadable("nothing says where to take it from")
    if len(table.sources) > 1:
        raise Unreadable("it has more than one source")
    if (table.wheels or table.sdist or table.version is not None) and not is_version(table.version or ""):
        raise Unreadable(f"{table.version!r} is no version")
    folder = table.directory.path if table.directory else table.vcs.path if table.vcs else None
    for path in (folder, *(file.path for file in table.files if not file.url)):
        if path is not None and not path.startswith("/"):
            raise Unreadable(
                f"the path {path!r} depends on the folder that the lock lies in", hint="use an absolute path, or a URL"
            )


def _check_hashes(file: File) -> None:
    if not file.hashes:
        raise Unreadable(f"{file.file_name[:80]!r} has no hash")
    for algorithm, digest in file.hashes.items():
        checked_hash(algorithm, digest)


def _is_option(line: Any) -> bool:
    if not isinstance(line, str) or not line.startswith("-") or not line.isprintable():
        return False
    try:
        return all(isinstance(one, Option) for one in parse_line(line))
    except Unreadable:
        return False
