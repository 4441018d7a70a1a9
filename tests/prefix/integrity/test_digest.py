"""Equal digests mean equal environments, wherever they live and whoever installed them."""

from __future__ import annotations

import json
import os
import py_compile
from collections.abc import Callable
from pathlib import Path

import pytest

from conda_llmenv.errors import PrefixError
from conda_llmenv.prefix.integrity.digest import compute_digest
from tests.prefix.integrity.building import BINARIES, PLACEHOLDER, SITE, install, write

LONG = "a-folder-with-a-name-that-makes-every-first-line-too-long/" * 3


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return install(tmp_path / "here" / "env")


def digest(prefix: Path) -> str:
    return compute_digest(prefix).value


@pytest.mark.parametrize("where", ["e", "another/place/env", f"{LONG}env", "with space/env"])
@pytest.mark.parametrize("conda", ["conda", "rattler"])
@pytest.mark.parametrize("pip", ["pip", "uv"])
def test_place_and_installer_do_not_matter(here: Path, tmp_path: Path, where: str, conda: str, pip: str) -> None:
    """Short, long (scripts start through a shell then) or with a space; conda or rattler, pip or uv."""
    there = install(tmp_path / where, conda=conda, pip=pip)
    assert compute_digest(there).parts == compute_digest(here).parts
    assert digest(there) == digest(here)


def test_a_link_to_the_environment_does_not_matter(here: Path, tmp_path: Path) -> None:
    """Neither does the name by which one reaches it."""
    (tmp_path / "alias").symlink_to(here)
    assert digest(tmp_path / "alias") == digest(here)


def test_it_does_not_matter_through_which_link_it_was_installed(here: Path, tmp_path: Path) -> None:
    """Scripts then name the link, and one may look at the real folder or the other way round."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    there = install(tmp_path / "link" / "env")
    assert digest(there) == digest(here)


def _rewrite(path: str, old: bytes, new: bytes) -> Callable[[Path], None]:
    def change(prefix: Path) -> None:
        content = (prefix / path).read_bytes()
        assert old in content
        (prefix / path).write_bytes(content.replace(old, new, 1))

    return change


def _relink(prefix: Path) -> None:
    (prefix / "lib/libplain.so").unlink()
    (prefix / "lib/libplain.so").symlink_to("libtool.so")


def _link_instead(prefix: Path) -> None:
    (prefix / "share/tool/about.txt").unlink()
    (prefix / "share/tool/about.txt").symlink_to("empty")


def _state(prefix: Path) -> None:
    (prefix / "conda-meta/state").write_text(json.dumps({"env_vars": {"DATA": "/elsewhere"}}))


def _compile(prefix: Path, mode: py_compile.PycInvalidationMode) -> None:
    py_compile.compile(str(prefix / SITE / "pure/__init__.py"), invalidation_mode=mode)


_COMMIT = b'{"vcs_info": {"vcs": "git", "commit_id": "0123456789012345678901234567890123456789"}, '


CHANGES: dict[str, Callable[[Path], None]] = {
    "plain file": _rewrite("share/tool/about.txt", b"a", b"b"),
    "text with the prefix": _rewrite("lib/pkgconfig/tool.pc", b"Cflags", b"cflags"),
    "prefix in a text": _rewrite("lib/pkgconfig/tool.pc", b"/env\n", b"/enw\n"),
    "binary": _rewrite("lib/libtool.so", b"after", b"aft3r"),
    "binary, after the prefix": _rewrite("lib/libtool.so", b"/lib64", b"/lib65"),
    "binary, the padding": _rewrite("lib/libtool.so", b"/lib64\0\0", b"/lib64\0x"),
    "placeholder that was never replaced": lambda prefix: _rewrite("lib/pkgconfig/tool.pc", bytes(prefix), PLACEHOLDER)(
        prefix
    ),
    "placeholder in a binary": lambda prefix: write(prefix / "lib/libtool.so", BINARIES["lib/libtool.so"]),
    "script, first line": _rewrite("bin/tool", b"/bin/python3.11 -u", b"/bin/python3.12 -u"),
    "script, found on PATH": _rewrite("bin/tool", b"#!", b"#!/usr/bin/env python3.11 -u\n#"),
    "command, what it calls": _rewrite("bin/pure", b"import main", b"import m4in"),
    "command, one more line": _rewrite("bin/pure", b"import sys\n", b"import sys\nimport os\n"),
    "command, another Python": _rewrite("bin/theirs", b"/here/env/bin/python", b"/here/env/bin/pypy"),
    "command of pip": _rewrite("bin/theirs", b"sys.exit", b"sys.quit"),
    "script of pip": _rewrite("bin/theirs-run", b"theirs", b"thairs"),
    "module of pip": _rewrite(f"{SITE}/theirs/__init__.py", b"1", b"2"),
    "metadata of pip": _rewrite(f"{SITE}/theirs-2.0.dist-info/METADATA", b"2.0", b"2.1"),
    "RECORD of a conda package": _rewrite(f"{SITE}/pure-1.dist-info/RECORD", b"pure/", b"pura/"),
    "gone": lambda prefix: (prefix / "share/tool/empty").unlink(),
    "link gone": lambda prefix: (prefix / "lib/libplain.so").unlink(),
    "link to another file": _relink,
    "link in place of a file": _link_instead,
    "new file": lambda prefix: write(prefix / "share/new.txt", b""),
    "new module without source": lambda prefix: write(prefix / SITE / "evil.pyc", b"\0"),
    "new file in a folder of conda's name": lambda prefix: write(prefix / "share/conda-meta/x.py", b""),
    "new pipe": lambda prefix: os.mkfifo(prefix / "share/pipe"),
    "executable": lambda prefix: (prefix / "share/tool/about.txt").chmod(0o755),
    "not executable": lambda prefix: (prefix / "bin/pure").chmod(0o644),
    "version of a package": _rewrite("conda-meta/tool-1.0-0.json", b'"version": "1.0"', b'"version": "1.1"'),
    "checksum of a package": _rewrite("conda-meta/tool-1.0-0.json", b'", "files"', b'0", "files"'),
    "package gone": lambda prefix: (prefix / "conda-meta/pure-1-0.json").unlink(),
    "variable": _state,
    "compiled, and run unchecked": lambda prefix: _compile(prefix, py_compile.PycInvalidationMode.UNCHECKED_HASH),
    "commit of a distribution": _rewrite(f"{SITE}/theirs-2.0.dist-info/direct_url.json", b"{", _COMMIT),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_shows(here: Path, change: Callable[[Path], None]) -> None:
    """A byte, a file, a link, the right to run it, a package, a variable."""
    before = digest(here)
    change(here)
    assert digest(here) != before


UNSEEN: dict[str, Callable[[Path], None]] = {
    "compiled": lambda prefix: write(prefix / SITE / "pure/__pycache__/__init__.cpython-311.pyc", b"\0"),
    "compiled by its time": lambda prefix: _compile(prefix, py_compile.PycInvalidationMode.TIMESTAMP),
    "compiled by its hash": lambda prefix: _compile(prefix, py_compile.PycInvalidationMode.CHECKED_HASH),
    "by its name and not by its address": lambda prefix: (
        prefix / SITE / "theirs-2.0.dist-info/direct_url.json"
    ).unlink(),
    "from another address": _rewrite(f"{SITE}/theirs-2.0.dist-info/direct_url.json", b"file:", b"https:"),
    "history": lambda prefix: write(prefix / "conda-meta/history", b"==> 2026-01-01 10:00:00 <==\n"),
    "our notes": lambda prefix: write(prefix / "conda-meta/llmenv/spec.json", b'{"version": 1}'),
    "removed, but open on another node": lambda prefix: write(prefix / "lib/.nfs000000000123abcd00000001", b"x"),
    "cache tag": lambda prefix: write(prefix / "CACHEDIR.TAG", b"Signature"),
    "times": lambda prefix: os.utime(prefix / "bin/tool", (0, 0)),
    "other accounts' rights": lambda prefix: (prefix / "bin/tool").chmod(0o700),
    "empty folder": lambda prefix: (prefix / "var/log").mkdir(parents=True),
}


@pytest.mark.parametrize("change", UNSEEN.values(), ids=UNSEEN)
def test_what_running_leaves_behind_does_not_show(here: Path, change: Callable[[Path], None]) -> None:
    """Each exclusion, as documented."""
    before = digest(here)
    change(here)
    assert digest(here) == before


def test_a_name_that_only_begins_like_the_prefix_is_not_the_prefix(tmp_path: Path) -> None:
    """A file that names a neighbour of the environment says the same in both places."""
    found = set()
    for place in ("one/env", "two/env"):
        prefix = install(tmp_path / place)
        write(prefix / "notes.txt", f"see {tmp_path}/one/env-old and {prefix}/bin".encode())
        found.add(digest(prefix))
    assert len(found) == 1


def test_where_two_differ_stands_in_the_parts(here: Path) -> None:
    """Only the part that changed has another value."""
    before = compute_digest(here).parts
    _state(here)
    after = compute_digest(here).parts
    assert [name for name, value in after.items() if value != before[name]] == ["variables"]


def test_conda_linked_from_its_cache(here: Path, tmp_path: Path) -> None:
    """With ``always_softlink`` every file is a link into the package cache, and the same environment."""
    before = digest(here)
    record = here / "conda-meta/tool-1.0-0.json"
    record.write_text(record.read_text().replace('"type": 1', '"type": 2'))
    file = here / "share/tool/about.txt"
    write(tmp_path / "pkgs/about.txt", file.read_bytes())
    file.unlink()
    file.symlink_to(tmp_path / "pkgs/about.txt")
    assert digest(here) == before
    write(tmp_path / "pkgs/about.txt", b"other")
    assert digest(here) != before


def test_what_cannot_be_read_is_an_error_that_names_it(here: Path) -> None:
    """A broken record is no environment to compare with."""
    (here / "conda-meta/tool-1.0-0.json").write_text("{")
    with pytest.raises(PrefixError, match=r"tool-1\.0-0\.json is broken"):
        digest(here)


def test_an_odd_name_counts(here: Path) -> None:
    """Names need not be text."""
    before = digest(here)
    (Path(os.fsdecode(os.fsencode(here) + b"/share/\xff\n"))).write_bytes(b"")
    assert digest(here) != before
