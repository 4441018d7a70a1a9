"""What an environment's metadata cannot smuggle into a listing, a lock or an export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conda_llmenv.errors import PrefixError
from conda_llmenv.locks.registry import FORMATS
from conda_llmenv.prefix.inspect import distribution_notices, distributions, installed
from conda_llmenv.prefix.locked import environment_notices, read_asked, read_lock
from conda_llmenv.prefix.recorded import read_recorded
from conda_llmenv.prefix.state import write_spec
from conda_llmenv.prefix.variables import STATE
from tests.prefix.test_recorded import SPEC, noted

EVIL = "evil.example"
SMUGGLED = f"\n--index-url=https://{EVIL}/simple"
RECORD = {
    "name": "six",
    "version": "1.17.0",
    "build": "py_0",
    "build_number": 0,
    "subdir": "noarch",
    "fn": "six-1.17.0-py_0.conda",
    "url": "https://h.example/c/noarch/six-1.17.0-py_0.conda",
    "channel": "https://h.example/c",
    "sha256": "0" * 64,
    "depends": ["python"],
}


def distribution(prefix: Path, metadata: bytes, direct: bytes | None = None, installer: bytes = b"pip\n") -> None:
    """Put the metadata of a distribution there, beside a sound one called fine."""
    folder = prefix / "lib" / "python3.11" / "site-packages"
    for name, content in (("odd", metadata), ("fine", b"Metadata-Version: 2.1\nName: fine\nVersion: 1.0\n")):
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_bytes(content)
        (info / "INSTALLER").write_bytes(installer if name == "odd" else b"pip\n")
    if direct is not None:
        (folder / "odd-1.0.dist-info" / "direct_url.json").write_bytes(direct)


def record(prefix: Path, **changed: Any) -> None:
    """Put the record of a conda package there."""
    (prefix / "conda-meta").mkdir(exist_ok=True)
    (prefix / "conda-meta" / "six-1.17.0-py_0.json").write_text(json.dumps({**RECORD, **changed}))


def exports(prefix: Path) -> str:
    """Return an environment in the formats that do not need a hash of every distribution."""
    lock = read_lock(prefix)
    return "\n".join(FORMATS[name].write(lock) for name in ("environment", "explicit", "constraints"))


UNUSABLE = [
    b"",
    b"Metadata-Version: 2.1\n",
    b"Name: odd\n",
    b"Version: 1.0\n",
    b"Name: odd\nVersion: 1.0\nSummary: \xff\n",
    f"Name: odd\nVersion: 2.0 --index-url=https://{EVIL}\n".encode(),
    f"Name: odd\nVersion: 2.0\n --index-url=https://{EVIL}\n".encode(),
    b"Name: odd\nVersion: latest\n",
    "Name: odd\nVersion: 1.0+\u017f\n".encode(),
    b"Name: ../../evil.example\nVersion: 1.0\n",
    b"Name: -e /tmp/evil.example\nVersion: 1.0\n",
    f"Name: odd\n --index-url=https://{EVIL}\nVersion: 1.0\n".encode(),
    "Name: \u212aelvin\nVersion: 1.0\n".encode(),
]


@pytest.mark.parametrize("metadata", UNUSABLE)
def test_a_distribution_without_usable_metadata_is_left_out(tmp_path: Path, metadata: bytes) -> None:
    """The others are there, a warning names the folder, and no format says more than that."""
    distribution(tmp_path, metadata)
    record(tmp_path)
    assert [one.name for one in distributions(tmp_path)] == ["fine"]
    (notice,) = distribution_notices(tmp_path)
    assert "odd-1.0.dist-info is left out" in notice.message
    assert notice.message.isprintable()
    assert EVIL not in exports(tmp_path)


def test_an_unreadable_installer_is_told(tmp_path: Path) -> None:
    """Nobody can say whose it is."""
    distribution(tmp_path, b"Name: odd\nVersion: 1.0\n", installer=b"\xff")
    assert [one.name for one in distributions(tmp_path)] == ["fine"]
    assert "not UTF-8" in distribution_notices(tmp_path)[0].message


@pytest.mark.parametrize(
    "direct",
    [
        b"\xff",
        b"[" * 99_999,
        json.dumps({"url": f"https://h.example/x.whl{SMUGGLED}"}).encode(),
        json.dumps({"url": "--index-url=https://evil.example"}).encode(),
        json.dumps({"url": 3}).encode(),
        json.dumps({"url": "https://h.example/x", "vcs_info": {"vcs": "git", "commit_id": SMUGGLED}}).encode(),
        json.dumps({"url": "https://h.example/x", "vcs_info": {"vcs": f"x {EVIL}", "commit_id": "0a"}}).encode(),
        json.dumps({"url": "https://h.example/\u2028evil.example", "vcs_info": None}).encode(),
    ],
)
def test_an_origin_that_is_no_address_is_dropped(tmp_path: Path, direct: bytes) -> None:
    """Name and version are left, and a warning."""
    distribution(tmp_path, b"Name: odd\nVersion: 1.0\n", direct)
    record(tmp_path)
    assert [(one.name, one.source) for one in distributions(tmp_path)] == [("fine", ""), ("odd", "")]
    assert "where odd came from is not known" in environment_notices(tmp_path)[0].message
    text = exports(tmp_path)
    assert "odd==1.0" in text
    assert EVIL not in text


def test_a_blank_in_an_address_ends_nothing(tmp_path: Path) -> None:
    """A folder with a blank in its name is written as one word."""
    direct = json.dumps({"url": "file:///a b/x.whl --index-url=y"}).encode()
    distribution(tmp_path, b"Name: odd\nVersion: 1.0\n", direct)
    assert distributions(tmp_path)[1].source == "file:///a%20b/x.whl%20--index-url=y"


@pytest.mark.parametrize(
    "changed",
    [
        {"name": f"six{SMUGGLED}"},
        {"name": "../six"},
        {"version": f"1{SMUGGLED}"},
        {"version": "1.0 2"},
        {"build": "py_0\n- evil.example"},
        {"subdir": f"noarch{SMUGGLED}"},
    ],
)
def test_a_record_that_says_more_than_a_package_is_broken(tmp_path: Path, changed: dict[str, str]) -> None:
    """The file is named, for a list and for a lock alike."""
    record(tmp_path, **changed)
    for read in (installed, read_lock):
        with pytest.raises(PrefixError, match=r"six-1\.17\.0-py_0\.json is broken: .* is no [a-z]+"):
            read(tmp_path)


@pytest.mark.parametrize(
    "changed",
    [
        {"url": f"https://h.example/c/noarch/six-1.17.0-py_0.conda{SMUGGLED}"},
        {"channel": f"https://h.example/c{SMUGGLED}", "url": None},
        {"license": f"MIT{SMUGGLED}"},
        {"depends": [f"python{SMUGGLED}"]},
        {"md5": f"0{SMUGGLED}", "fn": SMUGGLED, "noarch": SMUGGLED, "python_site_packages_path": SMUGGLED},
    ],
)
def test_what_else_a_record_says_is_one_line(tmp_path: Path, changed: dict[str, Any]) -> None:
    """Addresses and texts with control characters are dropped."""
    record(tmp_path, **changed)
    lock = read_lock(tmp_path)
    assert EVIL not in repr(lock)
    assert EVIL not in FORMATS["environment"].write(lock)
    told = [notice.message for notice in environment_notices(tmp_path)]
    assert told == (["where six came from is left out: it is no address"] if changed.get("url") else [])


def test_variables_that_would_be_more_than_one_line_are_left_out(tmp_path: Path) -> None:
    """A warning names them; whoever wrote them there did not go through us."""
    record(tmp_path)
    values = {"A: x\nevil.example": "1", "B": "x\u2028evil.example", "C": "\ud800evil.example", "FINE": "1"}
    (tmp_path / STATE).write_text(json.dumps({"env_vars": values}))
    assert read_lock(tmp_path).variables == {"FINE": "1"}
    assert EVIL not in exports(tmp_path)
    told = [notice.message for notice in environment_notices(tmp_path)]
    assert [message.split("'")[1] for message in told] == ["A: x\\nevil.example", "B", "C"]


@pytest.mark.parametrize(
    "changed",
    [
        {"pip": [{"name": "../x", "version": "1.0", "requirement": "x==1.0"}]},
        {"pip": [{"name": "x", "version": "1.0 evil", "requirement": "x==1.0"}]},
        {"conda": [{"name": f"six{SMUGGLED}", "version": "1"}]},
        {"asked": {"dependencies": [{"name": "python"}]}},
        {"asked": 3},
        {"pip": 3},
    ],
)
def test_broken_notes_are_named_whoever_reads_them(tmp_path: Path, changed: dict[str, Any]) -> None:
    """A name or a version that is none is as broken as a missing one."""
    noted(tmp_path, **changed)
    for read in (read_lock, read_asked, lambda prefix: read_recorded(prefix, subdir="linux-64")):
        with pytest.raises(PrefixError, match=r"spec\.json is broken"):
            read(tmp_path)


def test_a_noted_line_is_one_line(tmp_path: Path) -> None:
    """What was noted of a distribution is what is installed, and nothing beside it."""
    one = {
        "name": "fine",
        "version": "1.0",
        "requirement": f"fine==1.0{SMUGGLED}",
        "hashes": ["sha256:0a", f"sha256:0{SMUGGLED}"],
        "url": f"https://h.example/fine{SMUGGLED}",
        "artifacts": [{"url": f"https://h.example/fine{SMUGGLED}"}],
    }
    distribution(tmp_path, b"")
    (tmp_path / "conda-meta" / "llmenv").mkdir(parents=True)
    write_spec(tmp_path, {**SPEC, "conda": [], "pip": [one]})
    recorded = read_recorded(tmp_path, subdir="linux-64")
    assert recorded is not None
    for lock in (read_lock(tmp_path), recorded):
        (package,) = lock.platforms[0].pip
        assert (package.requirement, package.hashes) == ("fine==1.0", ("sha256:0a",))
        assert EVIL not in repr(package)
