"""Activation, the start of Python and its library, judged from what was seen."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.model import Finding, Status
from tests.checks.runtime_scenes import PREFIX, judged, scene

SOUND: dict[str, Any] = {
    "problems": [],
    "has_python": True,
    "python": f"{PREFIX}/bin/python",
    "python_is_own": True,
    "conda_prefix": PREFIX,
    "conda_prefix_is_own": True,
    "changed": {},
    "missing_preloads": [],
    "library_folders_outside": [],
}


def activation(variables: dict[str, str] | None = None, **values: Any) -> Finding:
    """Judge an activation; by default one that went well."""
    return judged("activation", scene({"activation": {**SOUND, **values}}, variables=variables or {}))


def test_a_sound_activation_passes() -> None:
    """Nothing is said of it."""
    assert activation().status is Status.PASS
    assert activation(has_python=False, python="", python_is_own=False).status is Status.PASS, "it has no Python"


def test_the_worst_is_told_first() -> None:
    """A script that failed is a warning; that another Python runs is why it matters."""
    found = activation(problems=["a.sh failed"], python="/usr/bin/python", python_is_own=False)
    assert found.status is Status.FAIL
    assert found.summary == "after activation `python` is /usr/bin/python"
    assert found.detail == ("also: a.sh failed",)


def test_one_that_did_not_end_has_failed() -> None:
    """The mark of it is for the program, not for people."""
    found = activation(problems=["failed: b.sh replaces the shell"])
    assert (found.status, found.summary) == (Status.FAIL, "b.sh replaces the shell")


@pytest.mark.parametrize("name", ["PYTHONPATH", "LD_LIBRARY_PATH"])
def test_what_the_person_set_is_meant(name: str) -> None:
    """A variable of a layer says what it says on purpose; the same from a script does not."""
    values: dict[str, Any] = {
        "changed": {name: "/srv"},
        "library_folders_outside": ["/srv"] if name.startswith("LD") else [],
    }
    assert activation(**values).status is Status.WARN
    assert activation({name: "/srv"}, **values).status is Status.PASS


def start(*lines: str, code: int = 0, **customizing: str) -> Finding:
    """Judge what Python says as it starts."""
    return judged("start-up", scene({"start-up": {"lines": lines, "code": code, "customizing": customizing}}))


def test_the_file_of_a_failure_is_named() -> None:
    """For a line of a ``.pth`` file Python says it; for ``sitecustomize`` it does not."""
    pth = start("Error processing line 1 of /e/a b.pth:", "", "  Traceback:", "  OSError: no", "", "Remainder ignored")
    assert pth.summary == "/e/a b.pth has a line that fails at every start of Python: OSError: no"
    assert pth.fix == "repair or remove '/e/a b.pth'"
    words = "Error in sitecustomize; set PYTHONVERBOSE for traceback:"
    assert start(words, "ValueError: x", sitecustomize="/e/s.py").summary == (
        "/e/s.py fails at every start of Python: ValueError: x"
    )
    assert start(words).summary == "sitecustomize fails at every start of Python"


def test_a_start_that_fails() -> None:
    """An exit code is worse than words."""
    assert start("Fatal Python error", code=1).status is Status.FAIL
    assert start().status is Status.PASS


def library(broken: list[dict[str, str]], *lacking: str) -> Finding:
    """Judge a standard library."""
    return judged("standard-library", scene({"standard-library": {"broken": broken, "lacking": list(lacking)}}))


def test_what_a_python_was_built_without_is_a_warning() -> None:
    """Its own builder chose so; what fails in another way is damage."""
    assert library([]).status is Status.PASS
    assert library([], "lzma").status is Status.WARN
    found = library([{"name": "ssl", "error": "ImportError: no"}], "lzma")
    assert found.status is Status.FAIL
    assert found.summary == "ssl of the standard library cannot be imported: ImportError: no"
