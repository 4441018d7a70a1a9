"""The pip section of one fragment: its lines, and those of the requirements files it includes, in order."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from conda_llmenv.compose.encoding import decode
from conda_llmenv.compose.pip_lines import Include, Line, Option, parse_line, split_comment
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.compose.reading import Reading
from conda_llmenv.compose.yamltree import Node
from conda_llmenv.model import Origin, PipOption, PipRequirement
from conda_llmenv.redact import has_placeholder, mask

MAX_INCLUDES = 100
"""Most requirements files one fragment may pull in."""

_REFERENCE = re.compile(r"\$\{[A-Z0-9_]+\}")
"""What pip replaces by an environment variable; only the installer, which knows the environment, can look there."""


class _Place(Struct, frozen=True):
    """Where a line stands: its origin, the folder its paths start from, and the files that led here."""

    origin: Origin
    directory: Path
    chain: tuple[Path, ...] = ()


@dataclass
class PipLines:
    """Collects the pip section of one fragment."""

    reading: Reading
    options: list[PipOption] = field(default_factory=list)
    requirements: list[PipRequirement] = field(default_factory=list)
    includes: dict[str, str] = field(default_factory=dict)

    def take_section(self, node: Node) -> None:
        """Read one ``pip:`` list."""
        for item in self.reading.items(node, "pip"):
            if hasattr(item, "value") and "\n" in item.value.strip():
                self._take_text(item.value, _Place(self.reading.origin(item.line), self.reading.source.directory))
                continue
            scalar = self.reading.text(item, "an entry of pip")
            if scalar is None:
                continue
            text, comment = split_comment(scalar.value)
            why = comment or self.reading.document.comment(scalar.line)
            place = _Place(self.reading.origin(scalar.line), self.reading.source.directory)
            self._take(text, why, place, column=scalar.column)

    def _take_text(self, text: str, place: _Place) -> None:
        first = place.origin.line or 1
        for number, line in _logical_lines(text):
            content, why = split_comment(line)
            if content:
                origin = Origin(place.origin.file, first + number, place.origin.layer, place.origin.detail)
                self._take(content, why, _Place(origin, place.directory, place.chain))

    def _take(self, text: str, why: str, place: _Place, column: int | None = None) -> None:
        try:
            _refuse_placeholder(text)
            for parsed in parse_line(text):
                if isinstance(parsed, Include):
                    self._include(parsed, place)
                elif isinstance(parsed, Option):
                    self.options.append(self._option(parsed.tokens, place))
                else:
                    self.requirements.append(self._requirement(parsed, why, place))
        except Unreadable as error:
            self.reading.problems.add(place.origin, error.text, column=column, hint=error.hint)

    def _option(self, tokens: tuple[str, ...], place: _Place) -> PipOption:
        """Return an option; the folder of ``--find-links`` becomes absolute, as pip takes it relative to the file."""
        if tokens[0] != "--find-links" or "://" in tokens[1] or _REFERENCE.search(tokens[1]):
            return PipOption(tokens, place.origin)
        return PipOption((tokens[0], str(self._local(tokens[1], place.directory))), place.origin, written=tokens[1])

    def _requirement(self, line: Line, why: str, place: _Place) -> PipRequirement:
        local = line.location if line.location and not _REFERENCE.search(line.location) else None
        path = self._local(local, place.directory) if local else None
        return PipRequirement(
            text=line.text,
            kind=line.kind,
            origin=place.origin,
            name=line.name,
            specifier=line.specifier,
            extras=line.extras,
            marker=line.marker,
            path=path,
            why=why,
        )

    def _local(self, written: str, directory: Path) -> Path:
        path = _absolute(written, directory)
        if not self.reading.exists(path):
            raise Unreadable(
                f"{written!r} is not there (looked for {path})",
                hint="if it is a git submodule, check it out: git submodule update --init --recursive",
            )
        return path

    def _include(self, include: Include, place: _Place) -> None:
        if "://" in include.target:
            if include.option == "--requirement":
                raise Unreadable(
                    f"a requirements file by URL cannot be recorded: {mask(include.target)}",
                    hint="download it beside this file",
                )
            self.options.append(PipOption((include.option, include.target), place.origin))
            return
        path = _absolute(include.target, place.directory)
        if path in place.chain:
            chain = " → ".join(step.name for step in (*place.chain[place.chain.index(path) :], path))
            raise Unreadable(f"requirements files include each other: {chain}", hint="remove one of the -r lines")
        if len(self.includes) >= MAX_INCLUDES:
            raise Unreadable(f"more than {MAX_INCLUDES} requirements files are included")
        text = self._included_text(include, path)
        if include.option == "--constraint":
            lines = tuple(content for _, line in _logical_lines(text) if (content := split_comment(line)[0]))
            self.options.append(PipOption((include.option, str(path)), place.origin, include.target, lines))
            return
        display = posixpath.normpath(Path(place.origin.file).parent / include.target)
        origin = Origin(display, 1, place.origin.layer, place.origin.detail)
        self._take_text(text, _Place(origin, path.parent, (*place.chain, path)))

    def _included_text(self, include: Include, path: Path) -> str:
        try:
            content = self.reading.read(path)
        except OSError as error:
            raise Unreadable(
                f"{include.target!r} cannot be read: {error.strerror or error} ({path})",
                hint="the path is taken relative to the file that includes it",
            ) from error
        self.includes[str(path)] = hashlib.sha256(content).hexdigest()
        try:
            return decode(content)
        except Unreadable as error:
            where = f"{path}:{error.line}" if error.line else str(path)
            raise Unreadable(f"{where}: {error.text}", hint=error.hint) from error


def _refuse_placeholder(text: str) -> None:
    if has_placeholder(text):
        raise Unreadable(
            "the line holds a placeholder instead of a token",
            hint="write an environment variable such as ${TOKEN} in its place",
        )


def _absolute(written: str, directory: Path) -> Path:
    return Path(posixpath.normpath(directory / written))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (0-based number of the first line, line) with trailing backslashes joined."""
    start, parts = 0, ""
    for number, line in enumerate(text.split("\n")):
        if not parts:
            start = number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            parts += line[:-1] + " "
            continue
        yield start, parts + line
        parts = ""
    if parts:
        yield start, parts
