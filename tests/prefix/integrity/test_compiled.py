"""A compiled file must belong to the source beside it: Python runs it in that one's place."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from conda_llmenv.prefix.integrity.siphash import siphash
from conda_llmenv.prefix.integrity.verification import check_integrity
from tests.prefix.integrity.building import SITE, install, sha256, write
from tests.prefix.integrity.test_verification import PURE

MODES = py_compile.PycInvalidationMode
SOURCE = f"{SITE}/pure/__init__.py"
COMPILED = f"{SITE}/pure/__pycache__/__init__.cpython-311.pyc"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return install(tmp_path / "env")


def found(prefix: Path, *, contents: bool = True) -> list[tuple[str, str, str]]:
    return [
        (one.problem.value, one.path, ", ".join(map(str, one.owners)))
        for one in check_integrity(prefix, contents=contents).findings
    ]


def compile_it(prefix: Path, mode: MODES = MODES.TIMESTAMP, *, name: str = COMPILED) -> bytes:
    """Compile the module and return what was written."""
    py_compile.compile(str(prefix / SOURCE), str(prefix / name), invalidation_mode=mode, doraise=True)
    return (prefix / name).read_bytes()


@pytest.mark.parametrize(
    "tag", ["cpython-311", "cpython-311.opt-2", "cpython-311-pytest-8.3.4", "cpython-311-pytest-8.3.4.opt-1"]
)
@pytest.mark.parametrize("mode", [MODES.TIMESTAMP, MODES.CHECKED_HASH])
def test_what_python_compiles_is_no_finding(prefix: Path, mode: MODES, tag: str) -> None:
    """By itself, for pytest, and where a build's date is set; also of a module whose name holds a dot."""
    compile_it(prefix, mode, name=f"{SITE}/pure/__pycache__/__init__.{tag}.pyc")
    assert found(prefix) == []


def test_what_is_imported_and_changed_and_imported_again_is_no_finding_of_its_own(prefix: Path) -> None:
    """Python writes the compiled file anew; only the source is altered."""
    start = [sys.executable, "-c", "import pure"]
    environ = {"PYTHONPATH": str(prefix / SITE)}
    for content in (b"__version__ = '1'\n", b"__version__ = 'two'\n"):
        write(prefix / SOURCE, content)
        subprocess.run(start, env=environ, check=True)
    assert list((prefix / SITE / "pure/__pycache__").glob("*.pyc"))
    assert found(prefix) == [("altered", SOURCE, PURE)]


def test_one_that_is_run_whatever_the_source_says(prefix: Path) -> None:
    """A hash that is not to be checked: Python never looks at the source."""
    compile_it(prefix, MODES.UNCHECKED_HASH)
    assert found(prefix) == [("compiled", COMPILED, PURE)]
    assert found(prefix, contents=False) == []


@pytest.mark.parametrize("mode", [MODES.TIMESTAMP, MODES.CHECKED_HASH])
@pytest.mark.parametrize("byte", [8, 12])
def test_one_of_another_source(prefix: Path, mode: MODES, byte: int) -> None:
    """Another time, another size, another hash."""
    content = bytearray(compile_it(prefix, mode))
    content[byte] ^= 1
    write(prefix / COMPILED, bytes(content))
    assert found(prefix) == [("compiled", COMPILED, PURE)]


def test_a_source_of_another_time(prefix: Path) -> None:
    """The source was put back and has another time than the one that was compiled."""
    compile_it(prefix)
    os.utime(prefix / SOURCE, (0, 0))
    assert found(prefix) == [("compiled", COMPILED, PURE)]


@pytest.mark.parametrize("content", [b"", b"\0", b"\xa7\r\r\n", b"#!/bin/sh\nexit 0\n", b"\xa7\r\r\n" + b"\xff" * 20])
def test_what_is_not_compiled_at_all(prefix: Path, content: bytes) -> None:
    """Too short, or something else."""
    write(prefix / COMPILED, content)
    assert found(prefix) == [("compiled", COMPILED, PURE)]


@pytest.mark.timeout(20)
def test_what_is_no_file_is_not_waited_for(prefix: Path) -> None:
    """A pipe, and a link that leads nowhere."""
    (prefix / COMPILED).parent.mkdir()
    os.mkfifo(prefix / COMPILED)
    (prefix / COMPILED.replace("311", "312")).symlink_to("nothing")
    assert [problem for problem, _, _ in found(prefix)] == ["compiled", "compiled"]


@pytest.mark.parametrize("contents", [True, False])
def test_one_without_a_source_is_foreign(prefix: Path, *, contents: bool) -> None:
    """Beside no source, or deeper than Python puts them; seen without reading."""
    places = [f"{SITE}/pure/__pycache__/evil.cpython-311.pyc", f"{SITE}/pure/__pycache__/deep/__init__.pyc"]
    for place in places:
        write(prefix / place, b"x")
    assert found(prefix, contents=contents) == [("foreign", place, "") for place in sorted(places, reverse=True)[::-1]]


def test_one_that_its_package_brought(prefix: Path) -> None:
    """It is as packaged, though its source got another time at installation; altered, it is a finding again."""
    compile_it(prefix, MODES.UNCHECKED_HASH)
    content = (prefix / COMPILED).read_bytes()
    record = prefix / "conda-meta/tool-1.0-0.json"
    noted = f'{{"_path": "{COMPILED}", "path_type": "hardlink", "sha256": "{sha256(content)}"}}'
    record.write_text(record.read_text().replace('"paths": [', f'"paths": [{noted}, ', 1))
    assert found(prefix) == []
    write(prefix / COMPILED, content + b"x")
    assert found(prefix) == [("compiled", COMPILED, PURE)]
    (prefix / SOURCE).unlink()
    write(prefix / COMPILED, content)
    assert found(prefix) == [("missing", SOURCE, PURE)]


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 1000])
def test_the_hash_is_pythons(length: int) -> None:
    """That of the Python that runs the tests, whichever of the two it has."""
    content = bytes(range(256)) * 4
    key = int.from_bytes(importlib.util.MAGIC_NUMBER, "little")
    wanted = int.from_bytes(importlib.util.source_hash(content[:length]), "little")
    rounds = 1 if sys.version_info >= (3, 11) else 2
    assert siphash(key, content[:length], rounds) == wanted


def test_the_hash_is_that_of_the_publication() -> None:
    """SipHash-2-4 of no bytes with the key 0: a value that CPython 3.10 gives too."""
    assert siphash(0, b"", 2) == 0x1E924B9D737700D7
