"""What an exact lockfile needs of every package before it can be written: an address and a hash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from conda_llmenv.errors import InputError
from conda_llmenv.locks.pip_entries import Entry, entry_of
from conda_llmenv.locks.pip_hashes import strong
from conda_llmenv.model import Lock, LockedPlatform, PipPackage, Record

HASHES = ("sha256", "md5")


class Exact(Struct, frozen=True):
    """The packages of one platform with one address each, conda's and pip's."""

    records: tuple[Record, ...]
    pip: tuple[Entry, ...]


def exact(lock: Lock, file: str, hashes: Iterable[str] = HASHES) -> Mapping[str, Exact]:
    """Return subdir → packages.

    Args:
        lock: what is to be written.
        file: what it is written to, for the message.
        hashes: a conda package must have one of these.

    Raises:
        InputError: something is not known of some packages; all of them are named.
    """
    missing = dict.fromkeys(text for platform in lock.platforms for text in _missing(platform, tuple(hashes)))
    if missing:
        raise InputError(
            f"{file} has an address and a hash for every package, and some are not known",
            details=missing,
            hint="use `--format environment`, or lock the fragments with `llmenv lock`",
        )
    return {
        platform.subdir: Exact(platform.records, tuple(entry_of(package, platform) for package in platform.pip))
        for platform in lock.platforms
    }


def without_sha256(platform: LockedPlatform) -> tuple[str, ...]:
    """Return the packages of which no sha256 (or, of pip's, a longer one) is known: conda's, then pip's."""
    conda = (record.name for record in platform.records if not record.sha256)
    return (*conda, *(package.name for package in platform.pip if not strong(package.hashes)))


def _missing(platform: LockedPlatform, hashes: tuple[str, ...]) -> Iterator[str]:
    for record in platform.records:
        if not record.url:
            yield f"{record.name} has no address"
        elif not any(getattr(record, name) for name in hashes):
            yield f"{record.name} has no {' or '.join(hashes)}"
    for package in platform.pip:
        reason = why_not(package, platform)
        if reason:
            yield f"{package.name} (pip) {reason}"


def why_not(package: PipPackage, platform: LockedPlatform) -> str:
    """Return why a distribution cannot be written with one address, empty if it can."""
    try:
        entry_of(package, platform)
    except ValueError as error:
        return str(error)
    return ""
