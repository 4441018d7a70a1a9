"""The comment lines a lockfile of ours starts with, in every format that has comments: facts, inputs, and a digest.

The digest is over the lines below the head, so that a lock somebody has edited by hand is told from one a tool wrote;
removing its line says that the edit is meant.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from conda_llmenv.redact import strip

FIRST_LINE = "# Locked by llmenv, lockfile version 1. Make it again with: llmenv create --lock FILE"
"""How a lock of ours is told from another tool's, whatever it is called."""

ASKED = "asked"
INPUTS = "inputs"
DIGEST = "digest"

_MARK = "# "


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
    specs, inputs, digest = found.pop(ASKED, "[]"), found.pop(INPUTS, ""), found.pop(DIGEST, "")
    return Head(found, _specs(specs), inputs, digest, ours=True)


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
    yield from (f"{_MARK}{label + ':':<10}{text}" for label, text in shown.items())


def _specs(text: str) -> tuple[str, ...]:
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    return tuple(spec for spec in found if isinstance(spec, str)) if isinstance(found, list) else ()
