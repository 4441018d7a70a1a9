"""What conda prints does not reach our streams; what everybody else prints does."""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any

import pytest

from conda_llmenv.engines.conda.silence import silenced


def as_module(name: str, code: str) -> Any:
    """Return the function ``speak`` of a module of that name."""
    namespace: dict[str, Any] = {"__name__": name}
    exec(code, namespace)  # noqa: S102 - the only way to be called from a module of another name
    return namespace["speak"]


PRINTING = "import sys\ndef speak():\n    print('to stdout')\n    print('to stderr', file=sys.stderr)\n"


@pytest.mark.parametrize("module", ["conda.core.link", "conda", "conda_anaconda_tos.plugin"])
def test_conda_and_its_plugins_are_heard_and_not_seen(module: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Whichever stream they write to."""
    heard: list[str] = []
    with silenced(heard.append):
        as_module(module, PRINTING)()
    assert heard == ["to stdout", "to stderr"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("module", ["conda_llmenv.cli.progress", "rich.progress", "condalike", "__main__"])
def test_others_write_as_ever(module: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Progress is drawn while conda works, from threads that conda does not know."""
    heard: list[str] = []
    with silenced(heard.append):
        thread = threading.Thread(target=as_module(module, PRINTING))
        thread.start()
        thread.join()
    assert heard == []
    assert capfd.readouterr() == ("to stdout\n", "to stderr\n")


def test_our_own_output_on_condas_behalf_is_ours(capfd: pytest.CaptureFixture[str]) -> None:
    """Progress that is drawn from a callback of conda's: the nearest caller decides."""
    speak = as_module("conda_llmenv.cli.console", PRINTING)
    calling = as_module("conda.core.package_cache_data", "def speak(inner): inner()")
    with silenced(lambda _: None):
        calling(speak)
    assert capfd.readouterr() == ("to stdout\n", "to stderr\n")


def test_lines_are_handed_on_whole_and_without_secrets() -> None:
    """Pieces of a line, blank lines, an address with a token."""
    heard: list[str] = []
    code = """import sys
def speak():
    sys.stdout.write('one ')
    sys.stdout.write('line\\n\\nhttps://host/t/to-0123-4567/channel\\nrest')
"""
    with silenced(heard.append):
        as_module("conda.cli", code)()
    assert heard == ["one line", "https://host/t/***/channel"]


def test_log_messages_are_handed_on(capfd: pytest.CaptureFixture[str]) -> None:
    """Warnings of conda's loggers go the same way; the handlers that were there before are there again."""
    logger = logging.getLogger("conda")
    before = logger.handlers[:]
    heard: list[str] = []
    with silenced(heard.append):
        logging.getLogger("conda.core.link").error("An error occurred while %s", "linking")
        logging.getLogger("conda.core.link").info("not worth it")
    assert heard == ["An error occurred while linking"]
    assert (logger.handlers, capfd.readouterr()) == (before, ("", ""))


def test_nobody_is_asked_anything() -> None:
    """A question finds no answer, instead of waiting for one; afterwards the keyboard is back."""
    before = sys.stdin, sys.stdout, sys.stderr
    with silenced(lambda _: None), pytest.raises(EOFError):
        as_module("conda.common.url", "def speak(): return input('proxy username: ')")()
    assert (sys.stdin, sys.stdout, sys.stderr) == before
