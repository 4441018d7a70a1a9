"""``python -m tests.conformance.worker ENGINE < requests.json > answers.json``: one engine, many requests, one process.

It runs in whichever Python has the engine, so it uses the package's public functions and nothing that only the tests
have. Exit status 3 means that the engine cannot run in this Python; the reason is on stderr.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from conda_llmenv.engines.registry import choose
from conda_llmenv.errors import ChannelUnavailable, InputError, LlmenvError, Unsatisfiable
from conda_llmenv.model import InstallRequest, Notice
from conda_llmenv.ports import Engine
from tests.conformance.messages import Answer, Answers, Failure, Question, encode, questions

CANNOT_RUN = 3


class Silent:
    """A reporter that hears everything and says nothing."""

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """Hear that a stage begins."""

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """Hear how far it is."""

    def finish(self, stage: str, detail: str = "") -> None:
        """Hear that it is over."""

    def line(self, stage: str, text: str) -> None:
        """Hear a line of output."""

    def notice(self, notice: Notice) -> None:
        """Hear a warning."""


def main(name: str) -> int:
    """Answer what stands on stdin."""
    try:
        engine = choose(name).engine
    except InputError as error:
        print(error, file=sys.stderr)
        return CANNOT_RUN
    asked = questions(sys.stdin.buffer.read())
    with _output_kept() as printed:
        answers = tuple(_answer(engine, question) for question in asked)
        _flush()
        printed.seek(0)
        text = printed.read()
    sys.stdout.buffer.write(encode(Answers(name, answers, text.decode(errors="replace"))))
    return 0


def _answer(engine: Engine, question: Question) -> Answer:
    started = time.monotonic()
    fields: dict[str, Any]
    try:
        fields = {"records": _work(engine, question)}
    except LlmenvError as error:
        fields = {"failure": _failure(error)}
    except Exception:  # noqa: BLE001 - that it got out is what the test has to see
        fields = {"crash": traceback.format_exc()}
    return Answer(question.id, seconds=round(time.monotonic() - started, 3), **fields)


def _work(engine: Engine, question: Question) -> Any:
    solution = engine.solve(question.request, Silent())
    if question.prefix is not None and question.package_cache is not None:
        request = InstallRequest(
            solution.records,
            question.prefix,
            question.package_cache,
            requested=question.request.specs,
            subdir=question.request.subdirs[0],
        )
        engine.install(request, Silent())
    return solution.records


def _failure(error: LlmenvError) -> Failure:
    return Failure(
        error.code,
        error.message,
        packages=error.packages if isinstance(error, Unsatisfiable) else (),
        channel=error.channel if isinstance(error, ChannelUnavailable) else "",
        details=error.details,
        hint=error.hint,
    )


@contextmanager
def _output_kept() -> Iterator[IO[bytes]]:
    """Put both streams into a file meanwhile, also for native code: an engine prints nothing."""
    _flush()
    kept = [os.dup(number) for number in (1, 2)]
    with tempfile.TemporaryFile() as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        try:
            yield file
        finally:
            _flush()
            for number, original in zip((1, 2), kept, strict=True):
                os.dup2(original, number)
                os.close(original)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


if __name__ == "__main__":
    status = main(sys.argv[1])
    _flush()
    # As the program itself does: a library's threads may outlive the interpreter and abort what has done its work.
    os._exit(status)
