"""The comment lines a lockfile of ours starts with, in every format that has comments: facts, inputs, and a digest.

The digest is over everything that takes part in making an environment, so that a lock somebody has edited by hand is
told from one a tool wrote: the lines below the head, what the head carries, and the ``# pip`` lines of an explicit
list. Facts for people, other comments and blank lines are free. Removing the digest's line says that an edit is meant.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.compose.variables import NEEDS_PERMISSION
from conda_llmenv.model import Lock
from conda_llmenv.redact import holds_secret, strip

FIRST_LINE = "# Locked by llmenv, lockfile version 1."
"""How the first line starts, which tells a lock of ours from another tool's, whatever it is called."""

CREATE = "Make it again with: llmenv create --lock FILE"
"""What the first line goes on with, in a format that an environment can be made from."""

ASKED = "asked"
INPUTS = "inputs"
DIGEST = "digest"
VARIABLES = "variables"
OPTIONS = "options"
NODEFAULTS = "nodefaults"
ALLOWED = "allowed"
"""Names among the variables that a fragment has to allow; the environment that was locked did."""
CARRIED = (VARIABLES, ALLOWED, OPTIONS, NODEFAULTS)
SEALED = (ASKED, INPUTS, *CARRIED)
"""Labels that the digest covers."""

EXPLICIT = "@EXPLICIT"
PIP = "# pip "
"""How a distribution stands in an explicit list, as a comment of its own kind."""

_MARK = "# "
_Kind = TypeVar("_Kind", dict[str, Any], list[Any])


class Head(Struct, frozen=True):
    """What the comment lines say.

    Attributes:
        facts: label → text, as a person reads them.
        specs: conda specs that were asked for.
        input_hash: what the composed layers came to.
        digest: of the body, ``sha256:…``; empty where it was removed.
        ours: whether the file starts as ours do.
    """

    facts: Mapping[str, str] = {}
    specs: tuple[str, ...] = ()
    input_hash: str = ""
    digest: str = ""
    ours: bool = False


def with_head(body: str, facts: Mapping[str, str], specs: Iterable[str] = (), input_hash: str = "") -> str:
    """Return a lockfile: the head, then the body."""
    return _sealed(_lines(facts, tuple(specs), input_hash), body.split("\n"))


def read_head(text: str) -> Head:
    """Return what the comment lines at the start of a lockfile say; an empty head for another tool's."""
    found = {label: value for _, label, value in labelled(text)}
    specs = tuple(spec for spec in _value(found.pop(ASKED, None), list) if isinstance(spec, str))
    inputs, digest = found.pop(INPUTS, ""), found.pop(DIGEST, "")
    return Head(found, specs, inputs, digest, ours=is_ours(text))


def is_ours(text: str) -> bool:
    """Return whether a file starts as ours do."""
    return text.startswith(FIRST_LINE)


def labelled(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line number, label and value of what the head of a lock of ours says; nothing for another tool's."""
    if not is_ours(text):
        return
    for number, line in itertools.islice(enumerate(text.splitlines(), 1), 1, None):
        if not line.startswith("#"):
            return
        label, colon, value = line.removeprefix(_MARK).partition(":")
        if colon:
            yield number, label.strip(), value.strip()


def carry(text: str, lock: Lock, again: str) -> str:
    """Return a lockfile whose head says how to use it, and what its format has no place for.

    Args:
        text: as its format writes it.
        lock: whose variables, option lines and ``nodefaults`` are to be carried.
        again: what the first line goes on with.
    """
    lines = text.split("\n")
    if not is_ours(text):
        return text
    values = {name: value for name, value in sorted(lock.variables.items()) if not holds_secret(name, value)}
    extra: dict[str, Any] = {VARIABLES: values, ALLOWED: [name for name in values if NEEDS_PERMISSION.fullmatch(name)]}
    extra |= {OPTIONS: [strip(option) for option in lock.pip_options], NODEFAULTS: lock.nodefaults}
    shown = [_line(label, json.dumps(value, ensure_ascii=False)) for label, value in extra.items() if value]
    at = next(number for number, line in enumerate(lines) if line.startswith(f"{_MARK}{DIGEST}:"))
    return _sealed((f"{FIRST_LINE} {again}", *lines[1:at], *shown), lines[at + 1 :])


def carried(text: str, lock: Lock) -> Lock:
    """Return a lock completed by what its head carries, which was checked."""
    facts = read_head(text).facts
    variables, options = _value(facts.get(VARIABLES), dict), _value(facts.get(OPTIONS), list)
    return replace(
        lock,
        variables=lock.variables or {str(name): str(value) for name, value in variables.items()},
        pip_options=lock.pip_options or tuple(map(str, options)),
        nodefaults=lock.nodefaults or facts.get(NODEFAULTS) == "true",
        facts={label: fact for label, fact in lock.facts.items() if label not in CARRIED},
    )


def _value(text: str | None, kind: type[_Kind]) -> _Kind:
    """Return a JSON value of a kind, an empty one where there is none or somebody has broken it."""
    value = read_json(text or "")
    return value if isinstance(value, kind) else kind()


def read_json(text: str) -> Any:
    """Return the JSON value of a comment, None where somebody has broken it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def head_length(text: str) -> int:
    """Return how many characters the comment lines at the start of a file have."""
    return len("".join(itertools.takewhile(lambda line: line.startswith("#"), text.splitlines(keepends=True))))


def is_edited(text: str) -> bool:
    """Return whether a lock of ours is not what was written; without the digest's line nobody can tell."""
    digest = read_head(text).digest
    return bool(digest) and digest != body_digest(text)


def body_digest(text: str) -> str:
    """Return the digest of what makes the environment; blank lines and the kind of line end do not count."""
    digest = hashlib.sha256()
    for content in _contents(text):
        digest.update(f"{content}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _contents(text: str) -> Iterator[str]:
    """Yield what the digest covers, a line each."""
    yield from (f"{_MARK}{label}: {value}" for _, label, value in labelled(text) if label in SEALED)
    lines = [line.rstrip() for line in text.splitlines()]
    marks = (PIP,) if EXPLICIT in lines else ()
    yield from (line for line in lines if line and (not line.lstrip().startswith("#") or line.startswith(marks)))


def _sealed(head: Iterable[str], body: Iterable[str]) -> str:
    """Return a lockfile with its digest as the last line of its head."""
    head, body = tuple(head), tuple(body)
    return "\n".join((*head, _line(DIGEST, body_digest("\n".join((*head, *body)))), *body))


def _lines(facts: Mapping[str, str], specs: tuple[str, ...], input_hash: str) -> Iterator[str]:
    yield f"{FIRST_LINE} {CREATE}"
    shown: dict[str, Any] = {label: " ".join(strip(text).split()) for label, text in facts.items()}
    if specs:
        shown[ASKED] = json.dumps([strip(spec) for spec in specs], ensure_ascii=False)
    if input_hash:
        shown[INPUTS] = input_hash
    yield from (_line(label, text) for label, text in shown.items())


def _line(label: str, text: str) -> str:
    return f"{_MARK}{label + ':':<10}{text}"
