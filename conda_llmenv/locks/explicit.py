"""``@EXPLICIT``: a list of addresses with hashes (CEP 23), for one platform.

conda and mamba link a list in the order it is written, so dependencies come first. Both read ``#sha256:HEX`` and
``#HEX`` (md5, or sha256 without the word). Distributions of pip are comments that only ``conda-lock install`` looks at:
``# pip NAME @ ADDRESS#sha256=HEX``. A line ``# channels:`` keeps their order, and tells an address that was changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from msgspec.structs import replace

from conda_llmenv.locks.addresses import Address, channel_of
from conda_llmenv.locks.distribution_files import file_version
from conda_llmenv.locks.entries import NOARCH, TOKEN_HINT, Entries
from conda_llmenv.locks.exact import exact, why_not
from conda_llmenv.locks.header import EXPLICIT, PIP, is_ours, read_head, read_json, with_head
from conda_llmenv.locks.linking import linking_order
from conda_llmenv.locks.pip_entries import Entry, entry_of, git_entry
from conda_llmenv.model import Channel, Lock, LockedPlatform, PipPackage, Record
from conda_llmenv.redact import mask, strip

MARK = EXPLICIT

_PLATFORM = "# platform: "
_CHANNELS = "# channels: "
_PIP = re.compile(r"# pip (?P<name>[A-Za-z0-9._-]+) @ (?P<url>\S+)")


def write(lock: Lock) -> str:
    """Return the list of the first platform.

    Raises:
        InputError: packages without an address or without a hash; all of them are named.
    """
    platform = lock.platforms[0]
    records = linking_order(platform.records)
    exact(replace(lock, platforms=(LockedPlatform(platform.subdir, records),)), MARK)
    body = [
        "",
        f"{_PLATFORM}{platform.subdir}",
        f"{_CHANNELS}{json.dumps([strip(channel.url) for channel in lock.channels])}",
        MARK,
        *map(_line, records),
        *(_pip_line(package, platform) for package in platform.pip),
        "",
    ]
    return with_head("\n".join(body), lock.facts, lock.specs, lock.input_hash)


def read(text: str, display: str) -> Lock:
    """Return what a list says, from us, conda, mamba, conda-lock or pixi.

    The platform is the one the list names, else that of its packages; a list of noarch packages alone has none, and
    says ``noarch``.

    Raises:
        FileFormatError: it is no list, or entries are wrong.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    entries = Entries(display)
    entries.placeholders(text, TOKEN_HINT)
    if MARK not in (line.strip() for line in lines):
        entries.problem(1, f"no line says {MARK}, so this is no explicit list")
        entries.raise_if_any()
    channels = _channels(lines, entries)
    if channels is not None:
        entries.only_from(channels)
    subdir = _read_entries(lines, entries, ours=is_ours(text))
    platforms = entries.platforms([subdir])
    head = read_head(text)
    return Lock(
        platforms,
        channels=channels or _channels_of(platforms[0].records),
        specs=head.specs,
        facts=head.facts,
        input_hash=head.input_hash,
        lines=entries.lines,
    )


def _line(record: Record) -> str:
    return f"{strip(record.url)}#{f'sha256:{record.sha256}' if record.sha256 else record.md5}"


def _pip_line(package: PipPackage, platform: LockedPlatform) -> str:
    reason = why_not(package, platform)
    if reason:
        return f"# not in this list, as it {reason}: {package.name}"
    entry = entry_of(package, platform)
    return f"# pip {entry.name} @ {entry.pip_address}" + (f"#sha256={entry.sha256}" if entry.sha256 else "")


def _read_entries(lines: Sequence[str], entries: Entries, *, ours: bool) -> str:
    """Add every entry of a list; return its platform."""
    found = [one for number, line in enumerate(lines, 1) if (one := _read_line(number, line.strip(), entries))]
    said = next((line[len(_PLATFORM) :].strip() for line in lines if line.startswith(_PLATFORM)), "")
    subdirs = [address.subdir for _, address, _ in found if address.subdir not in {"", NOARCH}]
    platform = said or next(iter(subdirs), NOARCH)
    for number, address, hashes in found:
        record = replace(address.record(), subdir=address.subdir or platform, **hashes)
        entries.record(platform, record, number)
    for number, line in enumerate(lines, 1):
        if line.startswith(PIP):
            _read_pip(number, line.rstrip(), platform, entries, strict=ours)
    return platform


def _read_line(number: int, line: str, entries: Entries) -> tuple[int, Address, dict[str, str]] | None:
    if not line or line.startswith("#") or line == MARK:
        return None
    url, _, digest = line.partition("#")
    address = entries.address(number, url)
    if address is None:
        return None
    algorithm, colon, _ = digest.partition(":")
    if colon and algorithm != "sha256":
        entries.problem(number, f"{mask(algorithm)!r} is no kind of hash an explicit list has", hint="use sha256")
        return None
    kind = "md5" if len(digest) <= 32 and not colon else "sha256"  # noqa: PLR2004 - what an md5 has digits
    hashes = entries.digests(number, address.name, {kind: digest.removeprefix("sha256:") or None})
    return number, address, hashes


def _read_pip(number: int, line: str, platform: str, entries: Entries, *, strict: bool) -> None:
    """Add a distribution; in another tool's list, a sentence that starts with ``pip`` and has no address is none."""
    match = _PIP.fullmatch(line)
    if match is None:
        if strict or " @ " in line:
            problem = f"{mask(line)!r} is no distribution of pip"
            entries.problem(number, problem, hint=f"write it as `{PIP}NAME @ ADDRESS#sha256=HEX`, or take it out")
        return
    name, url = match["name"], strip(match["url"])
    address, _, digest = url.partition("#sha256=")
    if url.startswith("git+"):
        entry = git_entry(name, "", url)
    else:
        found = file_version(address)
        hashes = entries.digests(number, name, {"sha256": digest or None})
        entry = Entry(name, found[1], address, hashes.get("sha256"), direct=True) if found else None
    if entry is None:
        entries.problem(number, f"nobody can tell which version of {name} {mask(url)} is")
        return
    package = entry.package()
    entries.pip(platform, replace(package, version=package.version or None), number)


def _channels(lines: Sequence[str], entries: Entries) -> tuple[Channel, ...] | None:
    """Return the channels that a list of ours names; None in another tool's."""
    for number, line in enumerate(lines, 1):
        if line.startswith(_CHANNELS):
            urls = read_json(line[len(_CHANNELS) :])
            if isinstance(urls, list) and all(isinstance(url, str) for url in urls):
                return tuple(channel for url in urls for channel in channel_of(url))
            entries.problem(number, "the channels are not written as a JSON list of addresses")
    return None


def _channels_of(records: Sequence[Record]) -> tuple[Channel, ...]:
    """Return where packages come from, in the order of the alphabet: an address does not say which came first."""
    return tuple(channel for url in sorted({record.channel for record in records}) for channel in channel_of(url))
