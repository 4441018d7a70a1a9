"""Explicit lists: what other tools' say, the order that is linked, and what the format has no place for."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from conda_llmenv.errors import FileFormatError
from conda_llmenv.locks.explicit import read, write
from conda_llmenv.model import Channel, LockedPlatform, PipPackage
from tests.locks.samples import COMMIT, FILES, FOREIGN, FORGE, LOCK, record


def test_dependencies_come_first() -> None:
    """Conda and mamba link in the order of the file, so a package never stands before one it needs."""
    names = [line.rsplit("/", 1)[1].split("-")[0] for line in write(LOCK).split("\n") if line.startswith("https:")]
    assert names == ["tzdata", "zlib", "python", "numpy"]


def test_a_circle_of_dependencies_is_written_once_each() -> None:
    """Packages that need each other, and one that needs itself, are written, each once."""
    circle = (
        record("a", depends=("c",)),
        record("b", depends=("a",)),
        record("c", depends=("b", "__glibc >=2.17", "c")),
        record("top", depends=("a",)),
    )
    text = write(replace(LOCK, platforms=(LockedPlatform("linux-64", circle),)))
    assert sorted(re.findall(r"/(\w+)-1\.0-h0_0\.conda", text)) == ["a", "b", "c", "top"]
    assert text.index("/a-1.0") < text.index("/top-1.0")


def test_the_stronger_hash_is_written() -> None:
    """Row 34: sha256 where it is known, md5 where not, in the spellings conda and mamba read."""
    records = (record("new"), record("old", sha256=None))
    text = write(replace(LOCK, platforms=(LockedPlatform("linux-64", records),)))
    assert f"{FORGE}/linux-64/new-1.0-h0_0.conda#sha256:{'a' * 64}\n" in text
    assert f"{FORGE}/linux-64/old-1.0-h0_0.conda#{'b' * 32}\n" in text


def test_every_line_is_one_that_conda_reads() -> None:
    """The platform is where mamba looks for it, the mark alone on its line, each address as CEP 23 has it."""
    lines = write(LOCK).split("\n")
    mark = lines.index("@EXPLICIT")
    assert "# platform: linux-64" in lines[:mark]
    assert all(line.startswith("#") or not line for line in lines[:mark])
    form = re.compile(r"https://\S+/[^/\\#]+(?:\.conda|\.tar\.bz2)#(?:[0-9a-f]{32}|sha256:[0-9a-f]{64})")
    assert all(form.fullmatch(line) or line.startswith("# ") for line in lines[mark + 1 : -1])


def test_pip_packages_are_comments() -> None:
    """What conda cannot install is no entry: conda-lock finds it in a comment if it is exact, a person if not."""
    local = PipPackage("local", "1.0", "-e /home/u/local")
    text = write(replace(LOCK, platforms=(LockedPlatform("linux-64", (), (*LOCK.platforms[0].pip, local)),)))
    after = text.split("@EXPLICIT\n")[1].split("\n")
    assert after == [
        f"# pip six @ {FILES}/six-1.17.0-py3-none-any.whl#sha256={'c' * 64}",
        f"# pip tool @ git+https://h.example/tool@{COMMIT}",
        "# not in this list, as it lies on this machine: local",
        "",
    ]


def test_a_list_of_conda() -> None:
    """``conda list --explicit``: both kinds of hashes, none at all, and a file that was installed from a path."""
    lock = read((FOREIGN / "conda-list-explicit.txt").read_text(), "list")
    (platform,) = lock.platforms
    assert platform.subdir == "linux-64"
    assert [(one.name, one.version, one.build, one.subdir, one.sha256, one.md5) for one in platform.records] == [
        ("libx", "1.0", "h1_3", "linux-64", "a" * 64, None),
        ("localx", "2.0", "0", "linux-64", None, None),
        ("tz", "2024a", "pyh0_0", "noarch", None, "b" * 32),
    ]
    assert platform.records[1].url == "file:///srv/packages/localx-2.0-0.conda"
    assert lock.channels == (Channel("file:///srv/packages", "file:///srv/packages"), Channel("conda-forge", FORGE))
    assert lock.lines == {"tz": 6, "libx": 7, "localx": 8}


def test_a_list_of_conda_lock() -> None:
    """Hashes without a word before them, and pip packages with their hash or commit."""
    (platform,) = read((FOREIGN / "conda-linux-64.lock").read_text(), "list").platforms
    assert [one.sha256 or one.md5 for one in platform.records] == ["a" * 64, "b" * 32]
    assert [(one.name, one.version, one.hashes) for one in platform.pip] == [
        ("six", "1.17.0", (f"sha256:{'c' * 64}",)),
        ("tool", None, ()),
    ]
    assert platform.pip[1].requirement == f"tool @ git+https://github.com/some/tool.git@{'d' * 40}"


def test_tokens_are_dropped() -> None:
    """An address with a token is read without it; the token is the reader's own."""
    (found,) = (
        read(f"@EXPLICIT\nhttps://u:p@h.example/t/tk-1/ch/noarch/a-1-0.conda#{'b' * 32}\n", "l").platforms[0].records
    )
    assert (found.url, found.channel) == ("https://h.example/ch/noarch/a-1-0.conda", "https://h.example/ch")


def test_the_platform_is_told_by_the_packages() -> None:
    """A list that does not name its platform is for that of its packages; noarch packages are for any."""
    assert read(f"@EXPLICIT\n{FORGE}/osx-64/a-1-0.conda\n", "l").platforms[0].subdir == "osx-64"
    assert read(f"@EXPLICIT\n{FORGE}/noarch/a-1-0.conda\n", "l").platforms[0].subdir == "noarch"
    with pytest.raises(FileFormatError, match="l:3: b is a package for linux-64, in a lock for osx-64"):
        read(f"@EXPLICIT\n{FORGE}/osx-64/a-1-0.conda\n{FORGE}/linux-64/b-1-0.conda\n", "l")


def test_windows_line_ends_are_read() -> None:
    """A list that went through Windows says the same."""
    text = write(LOCK)
    assert read(text.replace("\n", "\r\n"), "l").platforms == read(text, "l").platforms


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"{FORGE}/linux-64/a-1-0.conda#sha512:{'a' * 128}", "'sha512' is no kind of hash"),
        (f"{FORGE}/linux-64/a-1-0.conda#{'a' * 33}", "the sha256 of a is not 64"),
        (f"{FORGE}/linux-64/a-1-0.conda#abc", "the md5 of a is not 32"),
        ("pkgs/a-1-0.conda", "and no absolute path"),
        ("numpy=2", "and no absolute path"),
        ("# pip thing @ https://h.example/download?id=7", "nobody can tell which version of thing"),
        ("# pip tool @ git+https://h.example/tool@main", "nobody can tell which version of tool"),
    ],
)
def test_a_line_that_is_no_entry_is_refused(line: str, reason: str) -> None:
    """Nothing is guessed and nothing skipped: a line that is no address of a package is told."""
    with pytest.raises(FileFormatError) as caught:
        read(f"# platform: linux-64\n@EXPLICIT\n{line}\n", "l")
    assert str(caught.value).startswith("l:3: ")
    assert reason in str(caught.value)


def test_channels_that_are_no_list_are_refused() -> None:
    """A garbled line of channels is told; it is what an address is held to."""
    with pytest.raises(FileFormatError, match=r"l:\d+: the channels are not written as a JSON list"):
        read(write(LOCK).replace('# channels: ["', "# channels: "), "l")
