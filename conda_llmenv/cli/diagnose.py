"""``llmenv diagnose``: what a training log shows, why, and what to do about it."""

from __future__ import annotations

import itertools
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import IO, Any

import click

from conda_llmenv.checks.units import counted
from conda_llmenv.cli import console
from conda_llmenv.cli.options import json_option
from conda_llmenv.diagnosis.faults import Explained, Fault
from conda_llmenv.diagnosis.matching import Diagnosis, read_log
from conda_llmenv.diagnosis.prefilter import packaged_prefilter
from conda_llmenv.errors import InputError, LlmenvError

CHUNK = 1 << 20
"""Bytes that are read at once."""

_PACKED = {b"\x1f\x8b": "zcat", b"\x28\xb5\x2f\xfd": "zstdcat", b"\xfd7zXZ": "xzcat", b"BZh": "bzcat"}
"""How compressed files begin, and what unpacks them."""


@click.command()
@click.argument("log", metavar="FILE|-", type=click.Path(allow_dash=True))
@json_option
def diagnose(log: str, *, as_json: bool) -> int:
    """Name the faults that a training log shows, with cause and next step.

    `-` reads standard input. The exit code is 0 if something was named, and 1 if nothing in the log is known.
    """
    with _opened(log) as stream:
        diagnosis = read_log(_chunks(log, stream), packaged_prefilter())
    if as_json:
        console.payload("diagnose", _json(log, diagnosis), ok=bool(diagnosis.faults))
    else:
        _report("standard input" if log == "-" else _shown(log), diagnosis)
    return 0 if diagnosis.faults else 1


def _opened(log: str) -> AbstractContextManager[IO[bytes]]:
    """Return the log as a context manager of bytes.

    Raises:
        InputError: there is no such file, or it cannot be read.
    """
    if log == "-" and sys.stdin is None:
        raise InputError("standard input is closed", hint="give a file, or `… | llmenv diagnose -`")
    try:
        return click.open_file(log, "rb")
    except OSError as error:
        hint = "give the log of a training run, or - for standard input"
        raise InputError(f"{_shown(log)}: {error.strerror}", hint=hint) from error


def _shown(log: str) -> str:
    """Return the name of a file so that it stays on one line of any terminal."""
    return log if log.isprintable() else ascii(log)[1:-1]


def _chunks(log: str, stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the log in pieces.

    Raises:
        InputError: it is compressed.
        LlmenvError: it cannot be read to its end.
    """
    first = _read(log, stream)
    for beginning, program in _PACKED.items():
        if first.startswith(beginning):
            source = "…" if log == "-" else shlex.quote(log)
            raise InputError(f"{_shown(log)} is compressed", hint=f"{program} {source} | llmenv diagnose -")
    yield first
    yield from iter(lambda: _read(log, stream), b"")


def _read(log: str, stream: IO[bytes]) -> bytes:
    try:
        return stream.read(CHUNK)
    except OSError as error:
        raise LlmenvError(f"{_shown(log)}: {error.strerror}", hint="check the file, its disk and its mount") from error


def _report(source: str, diagnosis: Diagnosis) -> None:
    """Print what was found: the verdict, then each root in full, then what follows from them."""
    lines = counted(diagnosis.extent.lines, "line")
    if not diagnosis.faults:
        console.out(f"nothing in {source} is known here ({lines})")
        if diagnosis.unknown is not None:
            console.out(f"\nits first error is on {_place(diagnosis.unknown)}\n  {diagnosis.unknown.text}")
        console.say("\nhint: give the log of the rank that failed first, with its whole traceback")
        return
    roots = [one.fault for one in diagnosis.faults if one.because is None]
    console.out(f"{counted(len(roots), 'known fault')} in {source} ({lines}): {roots[0].symptom}")
    for fault in roots:
        _report_root(fault)
    consequences = [one for one in diagnosis.faults if one.because is not None]
    if consequences:
        console.out("\nwhat follows from that")
    for one in consequences:
        _report_consequence(one)


def _report_root(fault: Fault) -> None:
    console.out(f"\n{_place(fault)}")
    console.out(f"  {fault.text}")
    console.fact("symptom", fault.symptom)
    console.fact("cause", fault.cause)
    console.fact("action", fault.action)
    if fault.rule.check is not None:
        console.out(f"confirm with: llmenv verify --only {fault.rule.check}")


def _report_consequence(one: Explained) -> None:
    if one.because is not None:
        console.out(f"  {_place(one.fault)}: {one.fault.symptom}, after line {one.because.line}")


def _place(fault: Fault) -> str:
    """Return where a fault stands, such as ``line 120, ranks 0-2,7, 12 times``."""
    parts = [f"line {fault.line}", _ranks(fault.ranks), f"{fault.count} times" if fault.count > 1 else ""]
    return ", ".join(part for part in parts if part)


def _ranks(ranks: Iterable[int]) -> str:
    """Return ranks in the notation of launchers, such as ``ranks 0-2,7``."""
    ordered = sorted(ranks)
    runs = [list(run) for _, run in itertools.groupby(enumerate(ordered), key=lambda pair: pair[1] - pair[0])]
    names = [f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else str(run[0][1]) for run in runs]
    return f"rank{'s' if len(ordered) > 1 else ''} {','.join(names)}" if names else ""


def _json(log: str, diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "file": log,
        "lines": diagnosis.extent.lines,
        "bytes": diagnosis.extent.size,
        "first_unknown_error": _unknown_json(diagnosis.unknown),
        "findings": [_fault_json(one) for one in diagnosis.faults],
    }


def _unknown_json(fault: Fault | None) -> dict[str, Any] | None:
    return None if fault is None else {"line": fault.line, "count": fault.count, "text": fault.text}


def _fault_json(one: Explained) -> dict[str, Any]:
    fault = one.fault
    return {
        "id": fault.rule.id,
        "line": fault.line,
        "last_line": fault.last,
        "count": fault.count,
        "ranks": sorted(fault.ranks),
        "text": fault.text,
        "found": dict(fault.groups),
        "symptom": fault.symptom,
        "cause": fault.cause,
        "action": fault.action,
        "check": fault.rule.check,
        "stops": fault.rule.stops,
        "follows_from": None if one.because is None else {"id": one.because.rule.id, "line": one.because.line},
        "sources": list(fault.rule.sources),
    }
