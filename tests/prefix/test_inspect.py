"""What is inside an environment, from its records, and its history in conda's format."""

from __future__ import annotations

import json
import os
import re
from ast import literal_eval
from pathlib import Path

import pytest

from conda_llmenv.errors import PrefixError
from conda_llmenv.prefix.history import channel_name, write_history
from conda_llmenv.prefix.inspect import installed, interpreter, size
from tests.prefix.test_location import environment


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return an environment of two packages."""
    environment(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").touch()
    for name, version in (("zlib", "1.3"), ("python", "3.11.9")):
        record = {
            "name": name,
            "version": version,
            "build": "0",
            "subdir": "linux-64",
            "channel": "https://conda.anaconda.org/conda-forge/",
            "requested_specs": [f"{name} >=1"],
        }
        (tmp_path / "conda-meta" / f"{name}.json").write_text(json.dumps(record))
    return tmp_path


def test_records_are_read_in_order(prefix: Path) -> None:
    """By name, with what was asked for."""
    records = installed(prefix)
    assert [(record.name, record.version, record.requested) for record in records] == [
        ("python", "3.11.9", "python >=1"),
        ("zlib", "1.3", "zlib >=1"),
    ]
    python = interpreter(prefix, records)
    assert python is not None
    assert (python.version, python.path) == ("3.11.9", prefix / "bin/python")
    assert interpreter(prefix, ()) is None
    assert installed(prefix / "missing") == ()


BROKEN = [
    b"",
    b"{",
    b"[]",
    b"3",
    b"\xff",
    b'{"name": "x"}',
    b'{"name": 1, "version": "1", "build": "0"}',
    b"[" * 99_999,
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_record_is_named(content: bytes, prefix: Path) -> None:
    """The file and a next step (row 20)."""
    (prefix / "conda-meta/zlib.json").write_bytes(content)
    with pytest.raises(PrefixError, match=r"conda-meta/zlib\.json is broken") as caught:
        installed(prefix)
    assert caught.value.hint


def test_the_size_counts_links_once(tmp_path: Path) -> None:
    """Hard links inside share their blocks; symbolic links are not followed."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").write_bytes(b"x" * 1_000_000)
    alone = size(tmp_path)
    assert 1_000_000 <= alone < 1_100_000
    os.link(tmp_path / "a/file", tmp_path / "a/again")
    (tmp_path / "out").symlink_to("/usr")
    assert size(tmp_path) < alone + 50_000


def test_history_is_what_conda_parses(prefix: Path) -> None:
    """What is written is what conda parses: date, command, packages, and specs as a Python list."""
    write_history(prefix, installed(prefix), ("python=3.11", "zlib >=1,<2"), "llmenv create\n-n x")
    section, command, *packages, specs = (prefix / "conda-meta/history").read_text().splitlines()
    assert re.fullmatch(r"==> \d{4}-\d\d-\d\d \d\d:\d\d:\d\d <==", section)
    assert command == "# cmd: llmenv create -n x"
    assert packages == ["+conda-forge/linux-64::python-3.11.9-0", "+conda-forge/linux-64::zlib-1.3-0"]
    assert literal_eval(specs.removeprefix("# update specs: ")) == ["python=3.11", "zlib >=1,<2"]


@pytest.mark.parametrize(
    ("channel", "name"),
    [
        ("https://conda.anaconda.org/conda-forge/linux-64", "conda-forge"),
        ("https://conda.anaconda.org/nvidia/label/cuda-12.1.0/", "nvidia/label/cuda-12.1.0"),
        ("https://repo.anaconda.com/pkgs/main", "defaults"),
        ("https://user:pw@h.example/t/tk-1/c", "https://h.example/c"),
        ("file:///channels/c", "file:///channels/c"),
    ],
)
def test_channels_are_called_as_conda_calls_them(channel: str, name: str) -> None:
    """A name where it has one, else the URL, never with a secret."""
    assert channel_name(channel, "linux-64") == name
