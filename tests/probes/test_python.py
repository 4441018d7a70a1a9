"""What the first probe says of the interpreter, its library, its start and the modules of packages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conda_llmenv.model import Finding, ProbeRun, Status
from tests.probes.prefixes import Prefix, judge, look, make, seen

CHECKS = ("python", "start-up", "standard-library")


@pytest.fixture
def prefix(tmp_path: Path) -> Prefix:
    """Return an empty environment."""
    return make(tmp_path / "env")


def found(check: str, prefix: Prefix) -> Finding:
    """Look and judge."""
    return judge(check, prefix.path, seen(look(prefix.path, ProbeRun("python", CHECKS, {"packages": []}))))


def modules(prefix: Prefix, *packages: str) -> object:
    """Return the modules of packages."""
    end = look(prefix.path, ProbeRun("python", ("python",), {"packages": list(packages)}))
    return seen(end)["modules"][0].values["modules"]


def test_a_whole_python_passes(prefix: Prefix) -> None:
    """Nothing is wrong with the one the tests run under, whatever it was built without."""
    assert found("python", prefix).status is Status.PASS
    assert found("start-up", prefix).status is Status.PASS
    assert found("standard-library", prefix).status in {Status.PASS, Status.WARN}


def test_other_words_at_the_start_are_told(prefix: Prefix) -> None:
    """What a line of a ``.pth`` file prints on stderr is no error, but comes with every start."""
    (prefix.site / "loud.pth").write_text("import sys; print('hello', file=sys.stderr)\n", encoding="utf-8")
    warns = found("start-up", prefix)
    assert warns.status is Status.WARN
    assert warns.summary == "every start of Python says: hello"


def test_the_modules_of_a_distribution(prefix: Prefix) -> None:
    """They come from its RECORD."""
    prefix.package("some-thing", "1.0", {"some_thing/__init__.py": "\n", "other.py": "\n"})
    prefix.package("two", "1.0", {"second.py": "\n", "third.py": "\n"})
    assert modules(prefix, "some-thing", "Two", "absent") == {"some-thing": ["some_thing"], "Two": ["second", "third"]}


def test_the_modules_of_a_conda_package(prefix: Prefix) -> None:
    """They come from conda's record where there is no RECORD."""
    version = prefix.site.parent.name
    prefix.conda("pillow", "11.0", "py_0", {f"lib/{version}/site-packages/PIL/__init__.py": "\n"})
    assert modules(prefix, "pillow") == {"pillow": ["PIL"]}


@pytest.mark.parametrize("name", ["RECORD", "METADATA"])
def test_a_pipe_is_not_waited_for(prefix: Prefix, name: str) -> None:
    """A distribution with one tells nothing, and the others are told."""
    prefix.package("good", "1.0", {"good.py": "\n"})
    info = prefix.package("odd", "1.0", {"odd.py": "\n"})
    (info / name).unlink()
    os.mkfifo(info / name)
    assert "good" in str(modules(prefix, "odd", "good"))


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"", b"\xff\xfe", b"[" * 100_000, b'{"name": 1, "version": "1", "build": "0"}']
)
def test_a_record_that_is_none_is_named(prefix: Prefix, content: bytes) -> None:
    """Whatever stands in it."""
    prefix.conda("six", "1.0", "0", {})
    prefix.conda("odd", "1.0", "0", {})
    path = prefix.path / "conda-meta" / "odd-1.0-0.json"
    path.write_bytes(content)
    fails = judge("records", prefix.path, seen(look(prefix.path, ProbeRun("runtime", ("records",)))))
    assert fails.status is Status.FAIL
    assert fails.summary.startswith(f"{path} is broken: ")
    assert fails.measured == "1 broken records"
