"""A report as a file: JSON with a version and without secrets. What is read may come from anybody."""

from __future__ import annotations

import hashlib
import math
import re
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.checks.moments import moment
from conda_llmenv.model import CheckResult, Report
from conda_llmenv.redact import mask, mask_values

FORMAT = 1
"""Version of the files; a later one is refused, since what it means is not known here."""

LARGEST = 8 * 2**20
"""Bytes; a report of a hundred checks with their details has less than a hundred thousand."""

SHORT = 12
"""Digits of a fingerprint that names and tables show."""

_LOCK_NAME = re.compile(r"[0-9a-f]{12}\.conda-lock\.yml")

_NAME = re.compile(
    r"(?P<stamp>[0-9]{8}T[0-9]{6}Z)-(?P<level>quick|full|deep)-(?P<fingerprint>[0-9a-f]{12}|none)"
    r"-(?P<host>[A-Za-z0-9._-]{1,64})-(?P<content>[0-9a-f]{8})\.json"
)
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_FINGERPRINT = re.compile(r"[0-9a-f]{12,}")


class FileName(Struct, frozen=True):
    """What the name of a report's file says: UTC time, level and the first digits of the fingerprint (or ``none``)."""

    stamp: str
    level: str
    fingerprint: str


class _Stored(Struct, frozen=True):
    llmenv_report: int
    report: Report


class _Head(Struct, frozen=True):
    llmenv_report: int


def as_kept(text: str) -> str:
    """Return a text as a report keeps it: without secrets, and as UTF-8 whatever the bytes of a path were."""
    return mask(text.encode("utf-8", errors="backslashreplace").decode())


def encode(report: Report) -> bytes:
    """Return a report as the content of a file. Figures that are no finite number are left out: JSON has none."""
    finite = replace(report, results=tuple(map(_with_finite_figures, report.results)))
    plain = _as_utf8(msgspec.to_builtins(finite))
    document = {"llmenv_report": FORMAT, "report": mask_values(plain)}
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def _with_finite_figures(result: CheckResult) -> CheckResult:
    figures = {name: value for name, value in result.finding.figures.items() if math.isfinite(value)}
    return replace(result, finding=replace(result.finding, figures=figures))


def _as_utf8(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {_as_utf8(key): _as_utf8(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_utf8(item) for item in value]
    return value


def decode(content: bytes) -> Report:
    """Return the report in a file's content.

    Raises:
        ValueError: it holds none, or one of a later format; the text completes "FILE is passed over: …".
    """
    if len(content) > LARGEST:
        raise ValueError("it is larger than a report can be")
    try:
        stored = msgspec.json.decode(content, type=_Stored)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise ValueError(_why(content)) from None
    if stored.llmenv_report != FORMAT:
        raise ValueError(_why(content))
    moment(stored.report.started)
    return stored.report


def _why(content: bytes) -> str:
    try:
        version = msgspec.json.decode(content, type=_Head).llmenv_report
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return "it holds no report"
    if version > FORMAT:
        return f"a later llmenv wrote it (format {version}, known here is {FORMAT}); upgrade conda-llmenv to read it"
    return "it holds no report"


def file_name(report: Report, content: bytes) -> str:
    """Return the name of a report's file: UTC time, level, fingerprint, machine, and what tells two apart.

    It depends on the report alone, so many may write into one folder without a lock, and one kept twice is one file.
    """
    fingerprint = report.fingerprint[:SHORT] if _FINGERPRINT.fullmatch(report.fingerprint) else "none"
    host = _ODD.sub("_", report.hostname)[:64] or "unknown"
    parts = (stamp(report), report.level.word, fingerprint, host, hashlib.sha256(content).hexdigest()[:8])
    return f"{'-'.join(parts)}.json"


def lock_name(report: Report) -> str:
    """Return the name of the lockfile of an environment in the state of a report; empty where the state is unknown.

    By the end of it, whoever reads a lockfile knows its format.
    """
    return f"{report.fingerprint[:SHORT]}.conda-lock.yml" if _FINGERPRINT.fullmatch(report.fingerprint) else ""


def is_lock_name(name: str) -> bool:
    """Return whether a lockfile that belongs to reports can be called so."""
    return _LOCK_NAME.fullmatch(name) is not None


def stamp(report: Report) -> str:
    """Return the time at which a report was begun, as it begins the name of its file."""
    return moment(report.started).strftime("%Y%m%dT%H%M%SZ")


def parse_name(name: str) -> FileName | None:
    """Return what the name of a file says, or None for what is no report of ours."""
    match = _NAME.fullmatch(name)
    return FileName(match["stamp"], match["level"], match["fingerprint"]) if match else None
