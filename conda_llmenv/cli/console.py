"""Words on the screen: errors with their next step, facts one a line, and the one JSON payload."""

from __future__ import annotations

import difflib
import json
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import click

from conda_llmenv.errors import LlmenvError, PlanRefused
from conda_llmenv.model import Notice, Origin
from conda_llmenv.redact import mask, mask_values

JSON_VERSION = 1
"""Version of the payloads printed with ``--json``; raised when a key changes its meaning or goes."""

LABEL_WIDTH = 10


def out(text: str = "") -> None:
    """Print data a person or a pipe asked for, without secrets."""
    click.echo(mask(text))


def fact(label: str, text: str) -> None:
    """Print one fact of a report, such as ``solve     103 packages, rattler, 0.3 s``."""
    out(f"{label:<{LABEL_WIDTH}}{text}")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns; the last column is as wide as it is."""
    widths = [max(len(row[column]) for row in (titles, *rows)) for column in range(len(titles) - 1)]
    for row in (titles, *rows):
        padded = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        out("  ".join((*padded, row[-1])).rstrip())


def say(text: str = "") -> None:
    """Print something about the work (never data) to stderr, without secrets."""
    click.echo(mask(text), err=True)


def warn(notice: Notice) -> None:
    """Print a warning with its lines and its next step to stderr."""
    where = ", ".join(dict.fromkeys(origin.where for origin in notice.origins))
    say(f"{_styled('warning:', 'yellow')} {notice.message}" + (f"  ({where})" if where else ""))
    if notice.hint:
        say(f"         hint: {notice.hint}")


def warn_all(notices: Iterable[Notice]) -> None:
    """Print each warning once."""
    for notice in dict.fromkeys(notices):
        warn(notice)


def payload(command: str, result: Any, *, ok: bool = True) -> None:
    """Print the one JSON document of a command on stdout."""
    _print_json({"llmenv": JSON_VERSION, "command": command, "ok": ok, "result": result})


def notices_json(notices: Iterable[Notice]) -> list[dict[str, Any]]:
    """Return warnings as they stand in a payload."""
    return [
        {
            "code": notice.code,
            "message": notice.message,
            "hint": notice.hint,
            "origins": [origin_json(origin) for origin in notice.origins],
        }
        for notice in dict.fromkeys(notices)
    ]


def origin_json(origin: Origin) -> dict[str, Any]:
    """Return a file and line as it stands in a payload."""
    return {"file": origin.file, "line": origin.line, "layer": origin.label}


def fail(error: BaseException, arguments: Sequence[str]) -> int:
    """Print what went wrong, as text or as the JSON payload, and return the exit code."""
    failure = _known(error)
    if failure is None:
        _say_unexpected(error)
        return 1
    if "--json" in arguments:
        _print_json(_error_json(failure, arguments))
    else:
        _say_failure(failure)
    return failure.exit_code


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean …?`` for the nearest known word, or an empty string."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""


def _known(error: BaseException) -> LlmenvError | None:
    if isinstance(error, LlmenvError):
        return error
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        failure = LlmenvError("interrupted; nothing was left half-done")
        failure.code, failure.exit_code = "interrupted", 130
        return failure
    if isinstance(error, click.ClickException):
        failure = LlmenvError(error.format_message().rstrip("."), hint=_usage_hint(error))
        failure.code, failure.exit_code = "usage", error.exit_code
        return failure
    if isinstance(error, OSError) and error.filename:
        return LlmenvError(f"{error.filename}: {error.strerror or error}", hint="check the path and its permissions")
    return None


def _usage_hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"`{context.command_path} --help` lists the options" if context else ""


def _say_failure(failure: LlmenvError) -> None:
    from conda_llmenv.cli.verdicts import verdict_lines

    say(f"{_styled('error:', 'red')} {failure.message}")
    lines = []
    for verdict in _verdicts(failure):
        lines += [f"\n  {verdict.summary}"] if verdict.summary != failure.message else []
        lines += verdict_lines(verdict)
    lines += [f"  {line}".rstrip() for line in failure.details]
    if lines:
        say("\n" + "\n".join(lines))
    if failure.hint:
        say(f"\nhint: {failure.hint}")


def _verdicts(failure: LlmenvError) -> tuple[Any, ...]:
    return failure.verdicts if isinstance(failure, PlanRefused) else ()


def _error_json(failure: LlmenvError, arguments: Sequence[str]) -> dict[str, Any]:
    from conda_llmenv.cli.verdicts import verdict_json

    command = next((word for word in arguments if not word.startswith("-")), "")
    return {
        "llmenv": JSON_VERSION,
        "command": command,
        "ok": False,
        "error": {
            "code": failure.code,
            "message": failure.message,
            "details": list(failure.details),
            "hint": failure.hint,
            "origins": [origin_json(origin) for origin in failure.origins],
            "verdicts": [verdict_json(verdict) for verdict in _verdicts(failure)],
        },
    }


def _say_unexpected(error: BaseException) -> None:
    say("".join(traceback.format_exception(error)))
    say(f"{_styled('error:', 'red')} this is a fault of llmenv, not of yours: {type(error).__name__}: {error}")
    say("\nhint: please report it with the lines above")


def _print_json(document: dict[str, Any]) -> None:
    click.echo(json.dumps(mask_values(document), indent=2, ensure_ascii=False, default=str))


def _styled(text: str, colour: str) -> str:
    return click.style(text, fg=colour, bold=True) if colours(sys.stderr) else text


def colours(stream: TextIO) -> bool:
    """Return whether to use colour: a terminal, unless ``NO_COLOR`` says no or ``FORCE_COLOR`` says yes."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()
