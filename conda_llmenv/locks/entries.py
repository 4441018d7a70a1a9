"""The entries of a lockfile while it is read: each is checked at its line, and every fault is in one report.

An entry that was changed by hand has to fit the rest of it: a hash that is none, a version that is not the address's,
another platform's package, a channel that the lock does not have, a second entry for the same package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from conda_llmenv.locks.addresses import SUBDIR, Address, clean, has_blank, parse_address
from conda_llmenv.locks.distribution_files import file_version, is_version, same_version
from conda_llmenv.locks.mistakes import Mistakes
from conda_llmenv.model import Channel, LockedPlatform, PipPackage, Record
from conda_llmenv.redact import mask

DIGITS = {"sha256": 64, "md5": 32}
"""Hexadecimal digits of each kind of hash."""

NOARCH = "noarch"

TOKEN_HINT = "remove `/t/<TOKEN>`, the token comes from your configuration; or name a variable: ${TOKEN}"
"""What to do about a placeholder in the address of a channel."""

_PIP_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


class Entries(Mistakes):
    """Collects the packages of a lockfile, and what is wrong with them.

    Args:
        display: the file's path as shown in messages.

    Attributes:
        lines: package name → line of its first entry.
    """

    def __init__(self, display: str) -> None:
        super().__init__(display)
        self.lines: dict[str, int] = {}
        self._bases: set[str] | None = None
        self._seen: dict[tuple[str, str, str], int] = {}
        self._records: dict[str, list[Record]] = {}
        self._pip: dict[str, list[PipPackage]] = {}

    def only_from(self, channels: Iterable[Channel]) -> None:
        """Hold every package added from now on to these channels."""
        self._bases = {clean(channel.url).rstrip("/") for channel in channels}

    def digests(self, line: int, name: str, found: Mapping[str, str | None]) -> dict[str, str]:
        """Return the hashes of an entry, in lower case; one that is no hash is a mistake."""
        good = {}
        for algorithm, text in found.items():
            if text is None:
                continue
            if re.fullmatch(rf"[0-9a-fA-F]{{{DIGITS[algorithm]}}}", text):
                good[algorithm] = text.lower()
            else:
                self.problem(line, f"the {algorithm} of {name} is not {DIGITS[algorithm]} hexadecimal digits")
        return good

    def address(self, line: int, url: str) -> Address | None:
        """Return what the address of a conda package says, or None with the mistake noted."""
        try:
            return parse_address(url)
        except ValueError as error:
            self.problem(line, f"{mask(url)!r} {error}")
            return None

    def record(self, platform: str, record: Record, line: int) -> None:
        """Add a conda package of a platform."""
        self._check_address(record, line)
        if record.subdir not in {platform, NOARCH}:
            self.problem(line, f"{record.name} is a package for {record.subdir}, in a lock for {platform}")
        if self._bases is not None and record.channel not in self._bases:
            self.problem(
                line,
                f"{record.name} comes from {mask(record.channel)}, which is none of the lock's channels",
                hint="add that channel to the lock if it is meant; if not, somebody has changed the address",
            )
        if self._is_first("conda", platform, record.name, line):
            self._records.setdefault(platform, []).append(record)

    def pip(self, platform: str, package: PipPackage, line: int) -> None:
        """Add a distribution of a platform."""
        if not self._is_sound(package, line):
            return
        told = file_version(package.url or "")
        if told and (told[0] != canonicalize_name(package.name) or not same_version(told[1], package.version or "")):
            said = f"{package.name} {package.version}"
            self.problem(line, f"the file of {said} is called {' '.join(told)} in its address")
        if self._is_first("pip", platform, package.name, line):
            self._pip.setdefault(platform, []).append(replace(package, name=canonicalize_name(package.name)))

    def platforms(self, subdirs: Sequence[str]) -> tuple[LockedPlatform, ...]:
        """Return the packages of each platform, in the order given.

        Raises:
            FileFormatError: anything is wrong; all of it is named.
        """
        for subdir in subdirs:
            if not SUBDIR.fullmatch(subdir):
                self.problem(1, f"{mask(subdir)!r} is no platform of conda", hint="write one such as linux-64")
        self.raise_if_any()
        return tuple(self._platforms(subdirs))

    def _platforms(self, subdirs: Iterable[str]) -> Iterator[LockedPlatform]:
        for subdir in dict.fromkeys(subdirs):
            records = sorted(self._records.get(subdir, ()), key=lambda record: record.name)
            pip = sorted(self._pip.get(subdir, ()), key=lambda package: package.name)
            yield LockedPlatform(subdir, tuple(records), tuple(pip))

    def _is_sound(self, package: PipPackage, line: int) -> bool:
        """Return whether name, version and address are such, so that no line made of them says anything else."""
        if not _PIP_NAME.fullmatch(package.name):
            self.problem(line, f"{package.name!r} is no name of a distribution")
        elif package.version is not None and not is_version(package.version):
            self.problem(line, f"{package.version!r}, the version of {package.name}, is no version (PEP 440)")
        elif has_blank(package.url or package.requirement.partition(" @ ")[2]):
            self.problem(line, f"the address of {package.name} holds a blank")
        else:
            return True
        return False

    def _check_address(self, record: Record, line: int) -> None:
        address = self.address(line, record.url)
        if address is None:
            return
        for label, said, addressed in (
            ("name", record.name, address.name),
            ("version", record.version, address.version),
            ("build", record.build, address.build),
            ("subdir", record.subdir, address.subdir or record.subdir),
        ):
            if said != addressed:
                self.problem(line, f"the {label} of {record.name} is {said!r} here and {addressed!r} in its address")

    def _is_first(self, kind: str, platform: str, name: str, line: int) -> bool:
        key = (kind, platform, canonicalize_name(name) if kind == "pip" else name)
        first = self._seen.setdefault(key, line)
        self.lines.setdefault(name, line)
        if first != line:
            self.problem(line, f"a second entry for the {kind} package {name} (the first is in line {first})")
        return first == line
