"""``requirements.txt`` with hashes: option lines, then ``name==version`` with the hash of every acceptable file.

One line without a hash makes pip refuse the whole file, so what cannot have one stands in comments, with the reason;
:func:`unhashable` has those lines for a file beside this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace
from packaging.specifiers import SpecifierSet

from conda_llmenv.compose.pip_lines import Include, Line, Option, parse_line, split_comment
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.errors import InputError
from conda_llmenv.locks.distribution_files import file_version, is_wheel
from conda_llmenv.locks.facts import PLATFORM
from conda_llmenv.locks.header import read_head, with_head
from conda_llmenv.locks.mistakes import PLACEHOLDER, Mistakes
from conda_llmenv.locks.pip_hashes import checked_hash, split_hash, strong
from conda_llmenv.locks.pip_index import option_lines
from conda_llmenv.locks.pip_platforms import ANY, MARKERS
from conda_llmenv.locks.pip_targets import target_of, target_of_line
from conda_llmenv.locks.pip_toml import MAX_CHARACTERS
from conda_llmenv.model import Lock, LockedPlatform, PipKind, PipPackage
from conda_llmenv.redact import has_placeholder, strip

_HASH = re.compile(r"\s--hash=['\"]?(?P<hash>[^\s'\"]*)['\"]?")
_NO_HASH = "its hash is not known"


def write(lock: Lock) -> str:
    """Return the hashed lines of the first platform: UTF-8 text, line feeds, the same for the same environment.

    Raises:
        InputError: a line is none that pip would read; all of them are named.
    """
    platform = lock.platforms[0]
    left_out = tuple(_left_out(platform))
    lines = [*option_lines(lock, platform), *_hashed(platform)]
    if left_out:
        lines += ["", "# Without a hash, and so not part of this file:"]
        lines += [f"#   {line}   ({reason})" for line, reason in left_out]
    facts = {**lock.facts, PLATFORM: platform.subdir}
    return with_head("\n".join((*lines, "")), facts, lock.specs, lock.input_hash)


def unhashable(lock: Lock) -> tuple[str, ...]:
    """Return the lines of the first platform that no hash can stand behind, ready for a file of their own.

    The option lines come first, so that the file installs by itself; empty where everything has a hash.
    """
    platform = lock.platforms[0]
    left_out = tuple(line for line, _ in _left_out(platform))
    return (*option_lines(lock, platform), *left_out) if left_out else ()


def _hashed(platform: LockedPlatform) -> Iterator[str]:
    for package in _sorted(platform):
        target = target_of(package)
        hashes = sorted(set(strong(package.hashes)))
        if hashes and not target.why_unhashed:
            yield " \\\n".join((strip(target.text), *(f"    --hash={text}" for text in hashes)))


def _left_out(platform: LockedPlatform) -> Iterator[tuple[str, str]]:
    """Yield each line that has no hash, with the reason."""
    for package in _sorted(platform):
        target = target_of(package)
        reason = target.why_unhashed or ("" if strong(package.hashes) else _NO_HASH)
        if reason:
            yield strip(target.text), reason


def _sorted(platform: LockedPlatform) -> list[PipPackage]:
    """Return the packages by name.

    Raises:
        InputError: a line of one is none that pip would read.
    """
    refused = [f"{one.name}: {reason}" for one in platform.pip if (reason := _refused(one))]
    if refused:
        raise InputError("a requirements file cannot hold some of the distributions", details=refused)
    return sorted(platform.pip, key=lambda one: one.name)


def _refused(package: PipPackage) -> str:
    try:
        target_of(package)
    except Unreadable as error:
        return error.text
    return ""


def read(text: str, display: str) -> Lock:
    """Return what a requirements file pins, ours or another tool's.

    The platform is :data:`conda_llmenv.locks.pip_platforms.ANY` where the head does not say it.

    Raises:
        FileFormatError: a line is not pinned or cannot be read; every problem is named with its line.
    """
    reading = _Reading(Mistakes(display))
    if len(text) > MAX_CHARACTERS:
        reading.mistakes.problem(1, f"longer than {MAX_CHARACTERS:,} characters")
    else:
        for number, line in _logical_lines(text):
            reading.take(number, line)
    reading.mistakes.raise_if_any()
    head = read_head(text)
    subdir = head.facts.get(PLATFORM, ANY)
    packages = tuple(sorted(reading.packages.values(), key=lambda one: one.name))
    return Lock(
        platforms=(LockedPlatform(subdir if subdir in MARKERS else ANY, (), packages),),
        specs=head.specs,
        pip_options=tuple(reading.options),
        facts={label: fact for label, fact in head.facts.items() if label != PLATFORM},
        input_hash=head.input_hash,
        lines=reading.lines,
    )


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its 1-based number; those that end in a backslash go on in the next, as in pip."""
    parts: list[str] = []
    start = 1
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        start = start if parts else number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            parts.append(line[:-1])
            continue
        yield start, " ".join((*parts, line))
        parts = []
    if parts:
        yield start, " ".join(parts)


class _Reading(Struct):
    """What has been read of one file so far."""

    mistakes: Mistakes
    options: list[str] = field(default_factory=list)
    packages: dict[str, PipPackage] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def take(self, number: int, written: str) -> None:
        """Read one line; what is wrong with it is noted."""
        line, _ = split_comment(written)
        if not line:
            return
        if has_placeholder(line):
            self.mistakes.problem(number, PLACEHOLDER, hint="write ${NAME} of a variable")
            return
        try:
            for parsed in parse_line(line):
                self._take(number, parsed)
        except Unreadable as error:
            self.mistakes.problem(number, error.text, hint=error.hint)

    def _take(self, number: int, parsed: Option | Include | Line) -> None:
        if isinstance(parsed, Include):
            raise Unreadable(f"{parsed.option} {parsed.target!r} is in another file: a lock is complete by itself")
        if isinstance(parsed, Option):
            self.options.append(" ".join(parsed.tokens))
            return
        package = _package(parsed)
        if package.name in self.packages:
            raise Unreadable(
                f"{package.name} is locked twice, first in line {self.lines[package.name]}",
                hint="lock one platform and one Python: only an installer can pick by markers",
            )
        self.packages[package.name], self.lines[package.name] = package, number


def _package(line: Line) -> PipPackage:
    hashes = tuple(checked_hash(*split_hash(text)) for text in _HASH.findall(line.text))
    text = _HASH.sub("", line.text)
    if " --" in text:
        raise Unreadable("settings for a build cannot be kept in a lock", hint="lock a wheel built with them")
    if line.name is None:
        raise Unreadable(f"{text!r} does not say its name", hint="write `NAME @ URL`")
    package = PipPackage(line.name, None, text, hashes)
    if line.kind is PipKind.NAMED:
        return replace(package, version=_pinned(line))
    target = target_of_line(replace(line, text=text))
    if target.why_unhashed:
        if hashes:
            raise Unreadable(f"a hash stands behind it, and {target.why_unhashed}")
        return replace(package, direct=True, built=True)
    _, version = file_version(target.url) or (None, None)
    return replace(package, version=version, url=strip(target.url), direct=True, built=not is_wheel(target.url))


def _pinned(line: Line) -> str:
    """Return the one version that a line allows."""
    specifiers = list(SpecifierSet(line.specifier))
    if len(specifiers) == 1 and specifiers[0].operator in ("==", "===") and "*" not in specifiers[0].version:
        return specifiers[0].version
    raise Unreadable(f"{line.name} is not pinned to one version", hint="a lock has `name==version`")
