"""The choice of an installer."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

from conda_llmenv.errors import InputError
from conda_llmenv.pypi.registry import check_installer, choose, installers


def test_uv_is_the_default_and_pip_can_be_asked_for() -> None:
    """Each choice carries its reason."""
    assert (choose().installer.name, choose().reason) == ("uv", "the default")
    assert (choose("pip").installer.name, choose("pip").reason) == ("pip", "asked for")


def test_unknown_name_lists_what_there_is() -> None:
    """A typing mistake is answered with the names."""
    with pytest.raises(InputError) as caught:
        choose("poetry")
    assert caught.value.hint == "choose one of: auto, uv, pip"
    check_installer("auto")
    with pytest.raises(InputError, match="no installer is called 'poetry'"):
        check_installer("poetry")


def test_states_are_reported() -> None:
    """``llmenv info`` can say which uv is used."""
    told = subprocess.run([installers()["uv"], "--version"], capture_output=True, text=True, check=True).stdout
    assert metadata.version("uv") in told


def test_pip_takes_over_where_uv_is_missing() -> None:
    """Without uv the environment's own pip does the work, and the reason is given."""
    code = (
        "import os, sys; sys.modules['uv'] = None; os.environ['PATH'] = ''\n"
        "sys.executable = '/nowhere/python'\n"
        "from conda_llmenv.pypi.registry import choose\n"
        "choice = choose(); print(choice.installer.name, '-', choice.reason)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "pip - uv cannot be used: it is neither installed beside llmenv nor on PATH", (
        done.stderr
    )
