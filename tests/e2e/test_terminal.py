"""On a terminal: a question that is answered, and a progress display that leaves the words alone."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.program import Program

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def _take_the_terminal() -> None:
    """Run in the child: a batch job may have been started with SIGINT ignored, a person's shell is not."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def converse(llmenv: Program, answers: Mapping[bytes, bytes], *arguments: str) -> tuple[int, str]:
    """Run on a pseudo-terminal of 80 columns, answer each question once, and return the code and what was shown."""
    master, slave = pty.openpty()
    environ = {**llmenv.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    process = subprocess.Popen(
        [*llmenv.argv, *arguments],
        cwd=llmenv.cwd,
        env=environ,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=_take_the_terminal,  # noqa: PLW1509 - Ctrl-C needs a terminal of its own
    )
    os.close(slave)
    shown, open_questions, ends = b"", dict(answers), time.monotonic() + 60
    while time.monotonic() < ends:
        if select.select([master], [], [], 0.1)[0]:
            try:
                shown += os.read(master, 65536)
            except OSError:
                break
        for question in [question for question in open_questions if question in shown]:
            time.sleep(0.5)  # nobody answers in the microseconds between the question and the reading of the answer
            os.write(master, open_questions.pop(question))
    try:
        code = process.wait(10)
    finally:
        process.kill()
        process.wait()
        os.close(master)
    return code, ESCAPES.sub("", shown.decode()).replace("\r", "\n")


@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 1), (b"\x04", 130), (b"\x03", 130)])
def test_a_no_changes_nothing(llmenv: Program, prefix: Path, answer: bytes, code: int) -> None:
    """``n``, Ctrl-D and Ctrl-C at the question leave nothing, and say so."""
    ended, shown = converse(llmenv, {b"Proceed": answer}, "create", "-p", str(prefix), "six")
    assert ended == code, shown
    assert "nothing was" in shown
    assert not prefix.exists()
    assert "Traceback" not in shown


def test_a_yes_creates(llmenv: Program, prefix: Path) -> None:
    """The plan is shown before the question, each fact on a line of its own."""
    ended, shown = converse(llmenv, {b"Proceed": b"y\n"}, "create", "-p", str(prefix), "six")
    assert ended == 0, shown
    lines = [line.rstrip() for line in shown.splitlines()]
    assert any(line.startswith("channels  conda-forge") for line in lines), shown
    assert any(line.startswith("solve     ") for line in lines), shown
    assert (prefix / "conda-meta" / "history").is_file()


@pytest.mark.parametrize("answer", [b"\n", b"n\n"])
def test_an_existing_environment_is_asked_about(llmenv: Program, prefix: Path, answer: bytes) -> None:
    """Nothing is planned and nothing changes unless somebody says yes; merely pressing return is a no."""
    assert llmenv("create", "-p", prefix, "six").code == 0
    ended, shown = converse(llmenv, {b"Replace it": answer}, "create", "-p", str(prefix), "packaging")
    assert ended == 1, shown
    assert "is an environment already" in shown
    assert "nothing was changed" in shown
    assert "solve " not in shown
    assert "six" in {row["name"] for row in llmenv("list", "-p", prefix, "--json").result()}


def test_an_existing_environment_is_replaced_after_two_yeses(llmenv: Program, prefix: Path) -> None:
    """One for the environment that goes, one for the plan of the one that comes."""
    assert llmenv("create", "-p", prefix, "six").code == 0
    answers = {b"Replace it": b"y\n", b"Proceed": b"y\n"}
    ended, shown = converse(llmenv, answers, "create", "-p", str(prefix), "packaging")
    assert ended == 0, shown
    names = {row["name"] for row in llmenv("list", "-p", prefix, "--json").result()}
    assert "packaging" in names
    assert "six" not in names
