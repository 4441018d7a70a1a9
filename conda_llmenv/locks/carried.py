"""What the head of a lock carries, checked line by line as the same text in a fragment is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from conda_llmenv.compose.matchspec import parse_spec
from conda_llmenv.compose.pip_lines import Line, parse_line
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.compose.variables import NEEDS_PERMISSION, check_variable_name, check_variable_value
from conda_llmenv.locks.header import ALLOWED, ASKED, INPUTS, NODEFAULTS, OPTIONS, VARIABLES, labelled, read_json
from conda_llmenv.locks.mistakes import Mistakes
from conda_llmenv.redact import mask

_HASH = re.compile(r"sha256:[0-9a-f]+")

AGAIN = "lock again with `llmenv lock`, or take the line out if nothing of it is wanted"


def check_head(text: str, display: str) -> None:
    """Check what the head of a lock of ours carries; another tool's has none.

    Args:
        text: of the lockfile.
        display: its path as shown in messages.

    Raises:
        FileFormatError: a line is broken, stands there twice, or says what no fragment may say; all of them are named.
    """
    mistakes = Mistakes(display)
    lines: dict[str, tuple[int, str]] = {}
    for number, label, value in labelled(text):
        if label in _CHECKS and label in lines:
            mistakes.problem(number, f"a second line `# {label}:` (the first is line {lines[label][0]})", hint=AGAIN)
        lines.setdefault(label, (number, value))
    allowed = _names(lines.get(ALLOWED, (0, ""))[1])
    for label, check in _CHECKS.items():
        if label in lines:
            number, value = lines[label]
            for error in check(value, allowed):
                mistakes.problem(number, error.text, hint=error.hint or AGAIN)
    mistakes.raise_if_any()


def _names(text: str) -> tuple[str, ...]:
    found = read_json(text)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _check_variables(text: str, allowed: tuple[str, ...]) -> Iterable[Unreadable]:
    found = read_json(text)
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        yield Unreadable("the variables are not written as a JSON object of texts")
        return
    for name, value in found.items():
        if NEEDS_PERMISSION.fullmatch(name) and name not in allowed:
            yield Unreadable(
                f"variable {name} changes how programs are found or loaded, and the lock does not allow it",
                hint="lock the fragments again; the one that sets it has to allow it",
            )
        else:
            yield from _refused(check_variable_name, name, allowed)
        yield from _refused(check_variable_value, name, value)


def _check_asked(text: str, _allowed: tuple[str, ...]) -> Iterable[Unreadable]:
    yield from _each(text, "specs", parse_spec)


def _check_options(text: str, _allowed: tuple[str, ...]) -> Iterable[Unreadable]:
    yield from _each(text, "option lines", _option)


def _check_allowed(text: str, _allowed: tuple[str, ...]) -> Iterable[Unreadable]:
    yield from _each(text, "allowed variables", str)


def _check_inputs(text: str, _allowed: tuple[str, ...]) -> Iterable[Unreadable]:
    if not _HASH.fullmatch(text):
        yield Unreadable(f"{mask(text)[:80]!r} is no hash of inputs, which reads sha256:…")


def _check_nodefaults(text: str, _allowed: tuple[str, ...]) -> Iterable[Unreadable]:
    if text != "true":
        yield Unreadable(f"nodefaults is {mask(text)[:80]!r}, and can only be true")


def _each(text: str, what: str, check: Callable[[str], object]) -> Iterable[Unreadable]:
    found = read_json(text)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        yield Unreadable(f"the {what} are not written as a JSON list of texts")
        return
    for one in found:
        yield from _refused(check, one)


def _option(text: str) -> None:
    if any(isinstance(one, Line) for one in parse_line(text)):
        raise Unreadable(f"{mask(text)!r} is no option line of a pip section")


def _refused(check: Callable[..., object], *arguments: object) -> Iterable[Unreadable]:
    try:
        check(*arguments)
    except Unreadable as error:
        yield error


_CHECKS: Mapping[str, Callable[[str, tuple[str, ...]], Iterable[Unreadable]]] = {
    ASKED: _check_asked,
    INPUTS: _check_inputs,
    VARIABLES: _check_variables,
    ALLOWED: _check_allowed,
    OPTIONS: _check_options,
    NODEFAULTS: _check_nodefaults,
}
