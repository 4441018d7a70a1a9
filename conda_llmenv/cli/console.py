"""Words on the screen: errors with their next step, facts one a line, and the one JSON payload."""

from __future__ import annotations

import codecs
import difflib
import itertools
import json
import os
import re
import shutil
import signal
import sys
import textwrap
import traceback
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import click

from conda_llmenv.errors import LlmenvError, PlanRefused
from conda_llmenv.model import Notice, Origin
from conda_llmenv.redact import mask, mask_values

JSON_VERSION = 2
"""Version of the payloads printed with ``--json``; raised when a key changes its meaning or goes."""

LABEL_WIDTH = 10
MINIMAL_COLUMN = 20
"""Characters a shortened column keeps on the narrowest screen."""


_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]|\x1b(?!\[[0-9;]*m)"
)
"""What moves the cursor, rings, or turns the writing round; our own colours are left."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")
"""Where Python keeps a byte of a path that is not UTF-8, in a string that cannot be written as it stands."""


def out(text: str = "") -> None:
    """Print data a person or a pipe asked for, without secrets."""
    click.echo(_CONTROL.sub("?", mask(text)))


def fact(label: str, text: str) -> None:
    """Print one fact of a report, such as ``solve     103 packages, rattler, 0.3 s``."""
    out(f"{label:<{LABEL_WIDTH}}{text}")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns; on a terminal the last column ends where the screen does."""
    widths = [max(len(row[column]) for row in (titles, *rows)) for column in range(len(titles) - 1)]
    room = shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths) if is_terminal(sys.stdout) else None
    for row in (titles, *rows):
        padded = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        out("  ".join((*padded, shortened(row[-1], room))).rstrip())


def shortened(text: str, room: int | None) -> str:
    """Return ``text`` cut to ``room`` characters, with an ellipsis where something is missing."""
    return (
        text if room is None or len(text) <= max(room, MINIMAL_COLUMN) else f"{text[: max(room, MINIMAL_COLUMN) - 1]}…"
    )


def wrapped(text: str, indent: str) -> list[str]:
    """Return a paragraph as lines no longer than the screen (or 100 characters), the later ones indented."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def size(count: float) -> str:
    """Return bytes in the unit that reads best."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:  # noqa: PLR2004 - that is what a kilo is
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def say(text: str = "") -> None:
    """Print something about the work (never data) to stderr, without secrets."""
    click.echo(_CONTROL.sub("?", mask(text)), err=True)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether somebody sits at a stream; one that was closed is nobody's."""
    return stream is not None and not stream.closed and stream.isatty()


def warn(notice: Notice) -> None:
    """Print a warning with its lines and its next step to stderr."""
    say("\n".join(warning_lines(notice)))


def warning_lines(notice: Notice) -> list[str]:
    """Return a warning as lines: the sentence, where it stands if that is not said yet, and the next step."""
    where = dict.fromkeys(origin.where for origin in notice.origins if origin.where not in notice.message)
    lines = [f"{_styled('warning:', 'yellow')} {notice.message}" + (f"  ({', '.join(where)})" if where else "")]
    return [*lines, f"         hint: {notice.hint}"] if notice.hint else lines


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
    failure, as_json = _known(error), "--json" in itertools.takewhile(lambda word: word != "--", arguments)
    if failure is None:
        if as_json:
            _print_json(_error_json(LlmenvError(f"a fault of llmenv: {type(error).__name__}: {error}"), arguments))
        _say_unexpected(error)
        return 1
    try:
        if as_json:
            _print_json(_error_json(failure, arguments))
        else:
            _say_failure(failure)
    except OSError:  # stdout itself is what failed
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
        cause = error.__cause__ or error  # click puts its own exception before the one that has the signal
        failure.code, failure.exit_code = "interrupted", 128 + getattr(cause, "number", signal.SIGINT)
        return failure
    if isinstance(error, click.ClickException):
        failure = LlmenvError(error.format_message().rstrip("."), hint=_usage_hint(error))
        failure.code, failure.exit_code = "usage", error.exit_code
        return failure
    if isinstance(error, _conda_error()):
        return _from_conda(error)
    return _from_system(error) if isinstance(error, OSError) else None


def _from_system(error: OSError) -> LlmenvError:
    """Return a failure of the operating system with the file it is about."""
    if isinstance(error, BrokenPipeError):
        return _closed_pipe()
    place = f"{error.filename}: " if error.filename else ""
    return LlmenvError(f"{place}{error.strerror or error}", hint="check the path, its permissions and the disk")


def _conda_error() -> tuple[type[BaseException], ...]:
    """Return the root of conda's own exceptions where conda runs us; we never load it to find out."""
    conda = sys.modules.get("conda")
    return (conda.CondaError,) if conda is not None and hasattr(conda, "CondaError") else ()


def _from_conda(error: BaseException) -> LlmenvError:
    """Return a failure of conda's in its own words and with its own exit code."""
    first, *others = str(error).strip().splitlines() or [type(error).__name__]
    failure = LlmenvError(f"conda: {first}", details=others)
    failure.code, failure.exit_code = "conda", int(getattr(error, "return_code", 1))
    return failure


def _closed_pipe() -> LlmenvError:
    """Nobody reads what we print any more, as with ``| head``: end quietly, as other programs do."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    failure = LlmenvError("nobody reads the output any more")
    failure.exit_code = 128 + signal.SIGPIPE
    return failure


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

    words = [word for word in arguments if not word.startswith("-")]
    command = " ".join(words[:2] if words[:1] in (["tiers"], ["kernel"]) else words[:1])
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
    """Print a document as UTF-8, or as ASCII where stdout is neither; a byte of a name that is no text is escaped."""
    text = json.dumps(mask_values(document), indent=2, ensure_ascii=not _speaks_utf8(sys.stdout), default=str)
    click.echo(_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def _speaks_utf8(stream: TextIO) -> bool:
    return codecs.lookup(stream.encoding or "ascii").name == "utf-8"


def _styled(text: str, colour: str) -> str:
    return click.style(text, fg=colour, bold=True) if colours(sys.stderr) else text


def colours(stream: TextIO) -> bool:
    """Return whether to use colour: a terminal, unless ``NO_COLOR`` says no or ``FORCE_COLOR`` says yes."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)
