"""What was just installed is compared with the hashes that came with it."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from conda_llmenv.prefix.integrity.unpacked import altered_files
from tests.prefix.integrity.building import SITE, install, write

MODULE = f"{SITE}/theirs/__init__.py"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return install(tmp_path / "env")


def test_what_is_as_its_wheel_has_it(prefix: Path) -> None:
    """Also where Python has compiled something, and through a link into the installer's cache."""
    write(prefix / SITE / "theirs/__pycache__/__init__.cpython-311.pyc", b"x")
    (prefix / MODULE).rename(prefix.parent / "cached.py")
    (prefix / MODULE).symlink_to(prefix.parent / "cached.py")
    assert altered_files(prefix, ["theirs", "pure", "unknown"]) == {}


def test_a_file_that_was_altered_in_the_cache(prefix: Path) -> None:
    """Named with its distribution, in any spelling; those nobody asked about are not looked at."""
    write(prefix / MODULE, b"x = 2\n")
    assert altered_files(prefix, ["Theirs"]) == {"theirs": (MODULE,)}
    assert altered_files(prefix, ["pure"]) == {}


def test_a_file_that_two_bring(prefix: Path) -> None:
    """The one that came last has won, as with the two builds of OpenCV."""
    write(prefix / MODULE, b"x = 2\n")
    row = "theirs/__init__.py,sha256=aw5mJOEm8wVtM8fBAjY8UTtyvGsK7P3aPQG2mI5SeJQ,6"
    other = prefix / SITE / "other-1.dist-info/RECORD"
    write(other, row.encode())
    assert set(altered_files(prefix, ["theirs", "other"])) == {"theirs", "other"}
    code = base64.urlsafe_b64encode(hashlib.sha256(b"x = 2\n").digest()).rstrip(b"=").decode()
    write(other, f"theirs/__init__.py,sha256={code},6".encode())
    assert altered_files(prefix, ["theirs", "other"]) == {}


def test_a_list_that_cannot_be_read(prefix: Path) -> None:
    """It proves nothing, so it is named itself."""
    record = f"{SITE}/theirs-2.0.dist-info/RECORD"
    write(prefix / record, b"\xff\xfe")
    assert altered_files(prefix, ["theirs"]) == {"theirs": (record,)}
