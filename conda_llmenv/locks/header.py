"""The comment lines a lockfile of ours starts with, in every format that has comments: facts, inputs, and a digest.

The digest is over the lines below the head, so that a lock somebody has edited by hand is told from one a tool wrote;
removing its line says that the edit is meant.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.model import Lock
from conda_llmenv.redact import has_secret, strip

FIRST_LINE = "# Locked by llmenv, lockfile version 1. Make it again with: llmenv create --lock FILE"
"""How a lock of ours is told from another tool's, whatever it is called."""

ASKED = "asked"
INPUTS = "inputs"
DIGEST = "digest"
VARIABLES = "variables"
OPTIONS = "options"
NODEFAULTS = "nodefaults"
CARRIED = (VARIABLES, OPTIONS, NODEFAULTS)

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
    return "\n".join((*_lines(facts, tuple(specs), input_hash, body_digest(body)), body))


def read_head(text: str) -> Head:
    """Return what the comment lines at the start of a lockfile say; an empty head for another tool's."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != FIRST_LINE:
        return Head()
    found: dict[str, str] = {}
    for line in lines[1:]:
        if not line.startswith("#"):
            break
        label, colon, value = line.removeprefix(_MARK).partition(":")
        if colon:
            found[label.strip()] = value.strip()
    specs = tuple(spec for spec in _value(found.pop(ASKED, None), list) if isinstance(spec, str))
    inputs, digest = found.pop(INPUTS, ""), found.pop(DIGEST, "")
    return Head(found, specs, inputs, digest, ours=True)


def carry(text: str, lock: Lock) -> str:
    """Return a lockfile whose head has what its format has no place for: variables, option lines, ``nodefaults``."""
    lines = text.split("\n")
    if lines[0] != FIRST_LINE:
        return text
    values = {name: value for name, value in sorted(lock.variables.items()) if not has_secret(f"{name}={value}")}
    extra: dict[str, Any] = {VARIABLES: values, OPTIONS: [strip(option) for option in lock.pip_options]}
    extra[NODEFAULTS] = lock.nodefaults
    shown = [_line(label, json.dumps(value, ensure_ascii=False)) for label, value in extra.items() if value]
    at = next(number for number, line in enumerate(lines) if line.startswith(f"{_MARK}{DIGEST}:"))
    return "\n".join((*lines[:at], *shown, *lines[at:]))


def carried(text: str, lock: Lock) -> Lock:
    """Return a lock completed by what its head carries."""
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
    """Return the digest of what is not a comment; blank lines and the kind of line end do not count."""
    digest = hashlib.sha256()
    for line in text.splitlines():
        content = line.rstrip()
        if content and not content.lstrip().startswith("#"):
            digest.update(f"{content}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _lines(facts: Mapping[str, str], specs: tuple[str, ...], input_hash: str, digest: str) -> Iterator[str]:
    yield FIRST_LINE
    shown: dict[str, Any] = {label: " ".join(strip(text).split()) for label, text in facts.items()}
    if specs:
        shown[ASKED] = json.dumps([strip(spec) for spec in specs], ensure_ascii=False)
    if input_hash:
        shown[INPUTS] = input_hash
    shown[DIGEST] = digest
    yield from (_line(label, text) for label, text in shown.items())


def _line(label: str, text: str) -> str:
    return f"{_MARK}{label + ':':<10}{text}"
