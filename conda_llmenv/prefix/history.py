"""conda's history of an environment: what was asked for and which packages came in, in the format conda reads.

conda takes a folder for an environment when ``conda-meta/history`` is there, so it is written last.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from conda_llmenv.plain_files import write_file
from conda_llmenv.prefix.inspect import InstalledRecord
from conda_llmenv.redact import strip
from conda_llmenv.unlisted import HISTORY

_ALIAS = re.compile(r"https://conda\.anaconda\.org/(?P<name>.+)")
_DEFAULTS = re.compile(r"https://repo\.anaconda\.com/pkgs/(?:main|r|free|msys2)")


def write_history(prefix: Path, records: Iterable[InstalledRecord], specs: Sequence[str], command: str) -> None:
    """Write the first revision of a new environment; what a linking tool may have begun is replaced.

    Raises:
        OSError: the disk refused.
    """
    lines = [
        f"==> {time.strftime('%Y-%m-%d %H:%M:%S')} <==",
        f"# cmd: {_one_line(command)}",
        *sorted(f"+{dist(record)}" for record in records),
    ]
    if specs:
        lines.append(f"# update specs: {[_one_line(spec) for spec in specs]}")
    write_file(prefix / HISTORY, ("\n".join(lines) + "\n").encode("utf-8", errors="surrogateescape"))


def dist(record: InstalledRecord) -> str:
    """Return conda's name for an installed package: ``channel/subdir::name-version-build``."""
    channel = channel_name(record.channel, record.subdir)
    return f"{channel}/{record.subdir}::{record.name}-{record.version}-{record.build}"


def channel_name(channel: str, subdir: str) -> str:
    """Return what conda calls a channel in its history: a name where it has one, else the URL without secrets."""
    base = strip(channel).rstrip("/")
    base = base[: -len(subdir) - 1] if base.endswith(f"/{subdir}") else base
    named = _ALIAS.fullmatch(base)
    if named:
        return named["name"]
    return "defaults" if _DEFAULTS.fullmatch(base) else base


def _one_line(text: str) -> str:
    return " ".join(strip(text).split())
