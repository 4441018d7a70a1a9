"""What a worker is asked and what it answers; needs nothing that an engine's Python might lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from conda_llmenv.model import Record, SolveRequest


class Question(Struct, frozen=True):
    """One request, and the id its answer is found by; with a ``prefix`` the answer is also installed there."""

    id: str
    request: SolveRequest
    prefix: Path | None = None
    package_cache: Path | None = None


class Failure(Struct, frozen=True):
    """An expected failure, as the engine raised it."""

    code: str
    message: str
    packages: tuple[str, ...] = ()
    channel: str = ""
    details: tuple[str, ...] = ()
    hint: str = ""

    @property
    def text(self) -> str:
        """Everything a person would read."""
        return "\n".join((self.message, *self.details, self.hint))


class Answer(Struct, frozen=True):
    """Records, or a failure, or the traceback of an exception that no engine may let out."""

    id: str
    records: tuple[Record, ...] | None = None
    failure: Failure | None = None
    crash: str = ""
    seconds: float = 0.0


class Answers(Struct, frozen=True):
    """All answers of a batch, and what was printed meanwhile, which should be nothing."""

    engine: str
    answers: tuple[Answer, ...]
    printed: str = ""


def encode(message: Any) -> bytes:
    """Return a message as JSON."""
    return msgspec.json.encode(message, enc_hook=str)


def questions(content: bytes) -> list[Question]:
    """Read what :func:`encode` wrote of a list of questions."""
    return msgspec.json.decode(content, type=list[Question], dec_hook=_path)


def _path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError(kind)
