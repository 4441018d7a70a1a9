"""What was changed after it was installed is named, with whose it is, and nothing else is."""

from __future__ import annotations

import base64
import hashlib
import os
import py_compile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from conda_llmenv.prefix.integrity.model import Problem
from conda_llmenv.prefix.integrity.verification import check_integrity
from tests.prefix.integrity.building import SITE, install, write

LONG = "a-folder-with-a-name-that-makes-every-first-line-too-long/" * 3


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return install(tmp_path / "env")


def found(prefix: Path, *, contents: bool = True) -> list[tuple[str, str, str]]:
    """Return problem, path and owners of each finding."""
    report = check_integrity(prefix, contents=contents)
    return [(one.problem.value, one.path, ", ".join(map(str, one.owners))) for one in report.findings]


@pytest.mark.parametrize("where", ["e", f"{LONG}env", "with space/env"])
@pytest.mark.parametrize("conda", ["conda", "rattler"])
@pytest.mark.parametrize("pip", ["pip", "uv"])
@pytest.mark.parametrize("contents", [True, False])
def test_nothing_is_found_where_nothing_is_wrong(
    tmp_path: Path, where: str, conda: str, pip: str, *, contents: bool
) -> None:
    """Whoever installed it and wherever; also after Python has compiled what it imported."""
    prefix = install(tmp_path / where, conda=conda, pip=pip)
    py_compile.compile(str(prefix / SITE / "pure/__init__.py"))
    write(prefix / "lib/.nfs000000000123abcd00000001", b"x")
    assert found(prefix, contents=contents) == []


def _append(path: str) -> Callable[[Path], None]:
    def change(prefix: Path) -> None:
        with (prefix / path).open("ab") as stream:
            stream.write(b"x")

    return change


def _flip(path: str) -> Callable[[Path], None]:
    def change(prefix: Path) -> None:
        content = bytearray((prefix / path).read_bytes())
        content[-1] ^= 1
        (prefix / path).write_bytes(content)

    return change


def _relink(prefix: Path) -> None:
    (prefix / "lib/libplain.so").unlink()
    (prefix / "lib/libplain.so").symlink_to("../share/tool/about.txt")


def _link_outside(prefix: Path) -> None:
    write(prefix.parent / "outside", b"other")
    (prefix / "lib/libplain.so").unlink()
    (prefix / "lib/libplain.so").symlink_to(prefix.parent / "outside")


def _link_nowhere(prefix: Path) -> None:
    (prefix / "lib/libplain.so").unlink()
    (prefix / "lib/libplain.so").symlink_to("nothing")


def _link_instead(prefix: Path) -> None:
    (prefix / "share/tool/about.txt").unlink()
    (prefix / "share/tool/about.txt").symlink_to("empty")


def _file_instead(prefix: Path) -> None:
    (prefix / "lib/libplain.so").unlink()
    write(prefix / "lib/libplain.so", b"")


def _pipe_instead(prefix: Path) -> None:
    (prefix / "share/tool/about.txt").unlink()
    os.mkfifo(prefix / "share/tool/about.txt")


NATIVE = f"{SITE}/theirs/native.so"
TOOL, PURE, THEIRS = "tool 1.0 (conda)", "pure 1 (conda)", "theirs 2.0 (pip)"

SEEN_AT_ONCE = {
    "plain file": (_append("share/tool/about.txt"), "altered", "share/tool/about.txt", TOOL),
    "binary with the prefix": (_append("lib/libtool.so"), "altered", "lib/libtool.so", TOOL),
    "module of pip": (_append(f"{SITE}/theirs/__init__.py"), "altered", f"{SITE}/theirs/__init__.py", THEIRS),
    "command of pip": (_append("bin/theirs"), "altered", "bin/theirs", THEIRS),
    "command not executable": (lambda p: (p / "bin/pure").chmod(0o644), "altered", "bin/pure", PURE),
    "Python not executable": (
        lambda p: (p / "bin/python3.11").chmod(0o644),
        "altered",
        "bin/python3.11",
        "python 3.11.7 (conda)",
    ),
    "command of pip not executable": (lambda p: (p / "bin/theirs").chmod(0o644), "altered", "bin/theirs", THEIRS),
    "link in place of a file": (_link_instead, "altered", "share/tool/about.txt", TOOL),
    "file in place of a link": (_file_instead, "altered", "lib/libplain.so", TOOL),
    "pipe in place of a file": (_pipe_instead, "altered", "share/tool/about.txt", TOOL),
    "gone": (lambda p: (p / "share/tool/empty").unlink(), "missing", "share/tool/empty", TOOL),
    "module of pip gone": (lambda p: (p / NATIVE).unlink(), "missing", NATIVE, THEIRS),
    "new": (lambda p: write(p / "share/new", b""), "foreign", "share/new", ""),
    "new module": (lambda p: write(p / SITE / "evil.pyc", b""), "foreign", f"{SITE}/evil.pyc", ""),
    "new link": (lambda p: (p / "lib/new.so").symlink_to("x"), "foreign", "lib/new.so", ""),
}  # fmt: skip


@pytest.mark.parametrize(("change", "problem", "path", "owner"), SEEN_AT_ONCE.values(), ids=SEEN_AT_ONCE)
@pytest.mark.parametrize("contents", [True, False])
def test_what_no_file_need_be_read_for(
    prefix: Path, change: Callable[[Path], None], problem: str, path: str, owner: str, *, contents: bool
) -> None:
    """Existence, size, type and mode are told by both checks."""
    change(prefix)
    assert found(prefix, contents=contents) == [(problem, path, owner)]


SEEN_BY_READING = {
    "plain file": (_flip("share/tool/about.txt"), "share/tool/about.txt", TOOL),
    "text with the prefix": (_append("lib/pkgconfig/tool.pc"), "lib/pkgconfig/tool.pc", TOOL),
    "script": (_flip("bin/tool"), "bin/tool", TOOL),
    "binary with the prefix": (_flip("lib/libtool.so"), "lib/libtool.so", TOOL),
    "command of rattler": (_flip("bin/pure"), "bin/pure", PURE),
    "module of pip": (_flip(f"{SITE}/theirs/__init__.py"), f"{SITE}/theirs/__init__.py", THEIRS),
    "link to another file": (_relink, "lib/libplain.so", TOOL),
    "link to a file outside": (_link_outside, "lib/libplain.so", TOOL),
    "link that leads nowhere": (_link_nowhere, "lib/libplain.so", TOOL),
}


@pytest.mark.parametrize(("change", "path", "owner"), SEEN_BY_READING.values(), ids=SEEN_BY_READING)
def test_what_is_seen_by_reading(prefix: Path, change: Callable[[Path], None], path: str, owner: str) -> None:
    """The same size is no proof; a stat-only check does not claim it is."""
    change(prefix)
    assert found(prefix) == [("altered", path, owner)]
    assert found(prefix, contents=False) == []


@pytest.mark.parametrize(("content", "problems"), [(b"\x7fELF\0program", ["altered"]), (b"#!/bin/sh\n", [])])
def test_a_program_that_cannot_be_started_any_more(prefix: Path, content: bytes, problems: list[str]) -> None:
    """No package records who may run a file; of a binary in ``bin`` it is plain, of a script it is not."""
    record = prefix / "conda-meta/tool-1.0-0.json"
    checksum = hashlib.sha256(content).hexdigest()
    noted = f'{{"_path": "bin/program", "path_type": "hardlink", "sha256": "{checksum}"}}'
    record.write_text(record.read_text().replace('"paths": [', f'"paths": [{noted}, ', 1))
    write(prefix / "bin/program", content, executable=True)
    assert found(prefix) == []
    (prefix / "bin/program").chmod(0o644)
    assert [problem for problem, _, _ in found(prefix)] == problems


def test_without_the_checksum_of_this_prefix_the_packages_own_is_used(prefix: Path) -> None:
    """A record that lost ``sha256_in_prefix`` still tells what a file was in the package."""
    record = prefix / "conda-meta/tool-1.0-0.json"
    record.write_text(record.read_text().replace("sha256_in_prefix", "lost"))
    assert check_integrity(prefix).unverifiable == 0
    assert found(prefix) == []
    _flip("lib/libtool.so")(prefix)
    assert found(prefix) == [("altered", "lib/libtool.so", TOOL)]


def test_uv_links_from_its_cache(prefix: Path) -> None:
    """With ``link-mode = symlink`` modules are links into the cache; what lies there is compared."""
    file = prefix / SITE / "theirs/__init__.py"
    write(prefix.parent / "cache/__init__.py", file.read_bytes())
    file.unlink()
    file.symlink_to(prefix.parent / "cache/__init__.py")
    assert found(prefix) == []
    write(prefix.parent / "cache/__init__.py", b"x = 2\n")
    assert found(prefix) == [("altered", f"{SITE}/theirs/__init__.py", THEIRS)]


def test_a_record_with_names_only(prefix: Path) -> None:
    """Old records list files and nothing else: what is gone is told, and of how many no more can be."""
    record = prefix / "conda-meta/tool-1.0-0.json"
    record.write_text(record.read_text().replace("paths_data", "none"))
    report = check_integrity(prefix)
    assert report.findings == ()
    assert report.unverifiable == 10
    (prefix / "lib/libtool.so").unlink()
    assert found(prefix) == [("missing", "lib/libtool.so", TOOL)]


def _distribution(prefix: Path, name: str, files: dict[str, bytes]) -> None:
    """Install a distribution over whatever is there."""
    info = f"{name}-9.dist-info"
    rows = []
    for path, content in {**files, f"{info}/METADATA": b"Name: x\n"}.items():
        write(prefix / SITE / path, content)
        code = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={code},{len(content)}")
    write(prefix / SITE / info / "RECORD", "\n".join([*rows, f"{info}/RECORD,,"]).encode())


def test_what_pip_put_over_condas_is_called_so(prefix: Path) -> None:
    """Both owners are named, the package first and then who has it now."""
    _distribution(prefix, "clash", {"pure/__init__.py": b"theirs"})
    assert found(prefix) == [("replaced", f"{SITE}/pure/__init__.py", f"{PURE}, clash 9 (pip)")]
    _flip(f"{SITE}/pure/__init__.py")(prefix)
    assert found(prefix) == [("altered", f"{SITE}/pure/__init__.py", f"{PURE}, clash 9 (pip)")]


def test_what_pip_took_away_for_its_own_version(prefix: Path) -> None:
    """An upgrade by pip removes conda's metadata and modules: replaced, not missing."""
    for path in ("pure-1.dist-info/METADATA", "pure-1.dist-info/RECORD", "pure/__init__.py"):
        (prefix / SITE / path).unlink()
    _distribution(prefix, "Pure", {"pure/new.py": b"x"})
    assert found(prefix) == [
        ("replaced", f"{SITE}/pure-1.dist-info/METADATA", f"{PURE}, Pure 9 (pip)"),
        ("replaced", f"{SITE}/pure-1.dist-info/RECORD", f"{PURE}, Pure 9 (pip)"),
        ("replaced", f"{SITE}/pure/__init__.py", f"{PURE}, Pure 9 (pip)"),
    ]


@pytest.mark.parametrize(
    "record",
    [
        b"\xff",
        b'"',
        b"../../../../../etc/passwd,sha256=x,1\n",
        b"x,sha256=,\n",
        b"theirs/__init__.py\n",
        b"a" * 200_000,
    ],
)
def test_an_odd_record_of_pips_is_no_crash(prefix: Path, record: bytes) -> None:
    """It is reported; nothing outside the prefix is looked at."""
    path = f"{SITE}/theirs-2.0.dist-info/RECORD"
    write(prefix / path, record)
    findings = found(prefix)
    assert findings
    assert not any("passwd" in one[1] for one in findings)


def test_paths_that_climb_out_are_not_followed(prefix: Path) -> None:
    """A record may say what it likes: only what lies in the prefix is read."""
    write(prefix.parent / "outside", b"x")
    record = prefix / "conda-meta/tool-1.0-0.json"
    record.write_text(record.read_text().replace("share/tool/empty", "../outside"))
    assert ("missing", "../outside", TOOL) in found(prefix)


def test_base_has_its_own_folders(prefix: Path) -> None:
    """The package cache and the environments of conda's own environment are no part of it."""
    (prefix / "conda-meta/conda-26.7.1-0.json").write_text('{"name": "conda", "version": "26.7.1"}')
    write(prefix / "pkgs/urls.txt", b"")
    write(prefix / "envs/other/bin/python", b"")
    assert found(prefix) == []
    (prefix / "conda-meta/conda-26.7.1-0.json").unlink()
    assert len(found(prefix)) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_named(prefix: Path) -> None:
    """A file without read permission is a finding, not a crash."""
    (prefix / "share/tool/about.txt").chmod(0)
    assert found(prefix) == [("altered", "share/tool/about.txt", TOOL)]


def test_findings_are_sorted_by_problem_and_path(prefix: Path) -> None:
    """Altered first, foreign last."""
    write(prefix / "a-new-file", b"")
    _flip("share/tool/about.txt")(prefix)
    (prefix / "bin/tool").unlink()
    problems = [finding.problem for finding in check_integrity(prefix).findings]
    assert problems == [Problem.ALTERED, Problem.MISSING, Problem.FOREIGN]


def test_no_thread_is_left(prefix: Path) -> None:
    """Readers end with the check."""
    before = threading.active_count()
    check_integrity(prefix)
    assert threading.active_count() == before
