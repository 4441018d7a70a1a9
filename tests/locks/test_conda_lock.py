"""conda-lock.yml: what conda-lock's own files say, and how ours differ from what we know."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from conda_llmenv.compose.yamltree import Mapping, parse_tree
from conda_llmenv.errors import FileFormatError, InputError
from conda_llmenv.locks.conda_lock import read, write
from conda_llmenv.locks.facts import LEFT_OUT
from conda_llmenv.model import Channel, LockedPlatform
from tests.locks.samples import COMMIT, FOREIGN, FORGE, LOCK, record, wheel

THEIRS = (FOREIGN / "conda-lock.yml").read_text()


def test_a_lockfile_of_conda_lock() -> None:
    """Several platforms, channels by name and by address, dependencies as a record has them."""
    lock = read(THEIRS, "conda-lock.yml")
    linux, mac = lock.platforms
    assert (linux.subdir, mac.subdir) == ("linux-64", "osx-arm64")
    assert lock.channels == (
        Channel("conda-forge", FORGE),
        Channel("https://h.example/private", "https://h.example/private"),
    )
    assert linux.records[0].depends == ("__glibc >=2.17,<3.0.a0", "tz")
    assert (mac.records[0].url, mac.records[0].md5) == (
        "https://h.example/private/osx-arm64/libx-1.1-h2_0.conda",
        "b" * 32,
    )


def test_both_spellings_of_pip_are_read() -> None:
    """Row 35: ``pypi`` as well as ``pip``; a commit in the place of a sha256 is the commit, not a hash."""
    six, tool = read(THEIRS, "conda-lock.yml").platforms[0].pip
    assert (six.version, six.hashes, six.direct) == ("1.17.0", (f"sha256:{'c' * 64}",), False)
    assert tool.requirement == f"tool @ git+https://github.com/some/tool.git@{'d' * 40}"
    assert (tool.version, tool.hashes, tool.direct) == ("0.3", (), True)


def test_pip_is_written_as_conda_lock_spells_it() -> None:
    """Row 35: the manager is ``pip``; a commit stands where conda-lock and mamba look for it."""
    text = write(LOCK)
    assert "manager: pypi" not in text
    assert text.count("manager: pip\n") == 2
    assert (
        f"  hash:\n    sha256: {COMMIT}\n  source:\n    type: url\n    url: git+https://h.example/tool@{COMMIT}\n"
        in text
    )


def test_a_commit_beside_its_repository_is_read() -> None:
    """Row 35: where the address names a branch, the commit is the one in the place of the hash."""
    text = THEIRS.replace(f"tool.git@{'d' * 40}", "tool.git#branch")
    assert read(text, "l").platforms[0].pip[1].requirement.endswith(f"tool.git@{'d' * 40}")


def test_what_is_installed_without_options_is_read() -> None:
    """The categories main and dev are read; how much is left out of others is told."""
    lock = read(THEIRS, "conda-lock.yml")
    assert [one.name for one in lock.platforms[0].records] == ["libx"]
    assert lock.facts == {LEFT_OUT: "1 packages of docs"}


def test_what_conda_lock_and_mamba_insist_on_is_there() -> None:
    """conda-lock: md5 for conda packages, all metadata keys; mamba: a hash everywhere, one platform, one source."""
    text = write(LOCK)
    root = parse_tree(text).root
    assert isinstance(root, Mapping)
    metadata = root.items["metadata"][1].items
    assert list(metadata) == ["content_hash", "channels", "platforms", "sources"]
    assert all(metadata[key][1].items for key in metadata)
    for package in root.items["package"][1].items:
        assert list(package.items)[:7] == ["name", "version", "manager", "platform", "dependencies", "url", "hash"]
        wanted = "md5" if package.items["manager"][1].value == "conda" else "sha256"
        assert wanted in package.items["hash"][1].items


def test_a_package_without_md5_cannot_be_written() -> None:
    """conda-lock refuses a file with such a package, so it is named before one is written."""
    lock = replace(LOCK, platforms=(LockedPlatform("linux-64", (record("nomd5", md5=None), record("fine"))),))
    with pytest.raises(InputError) as caught:
        write(lock)
    assert caught.value.details == ("nomd5 has no md5",)


def test_rows_are_sorted_as_conda_lock_sorts_them() -> None:
    """Conda before pip, then names, then platforms: two locks differ where they do, not in their order."""
    both = replace(
        LOCK,
        platforms=(
            LOCK.platforms[0],
            LockedPlatform("linux-aarch64", (record("zlib", subdir="linux-aarch64"),), (wheel("six", "1.17.0"),)),
        ),
    )
    rows = [line.split(": ")[1] for line in write(both).split("\n") if line.startswith(("- name:", "  platform:"))]
    assert rows[::2] == ["numpy", "python", "tzdata", "zlib", "zlib", "six", "six", "tool"]
    assert rows[7:11] == ["linux-64", "zlib", "linux-aarch64", "six"]


def test_two_constraints_on_one_package_are_joined() -> None:
    """The format has one per name; nothing a record asks for is lost where it can be said in one."""
    depends = ("libx >=1", "libx <3", "liby", "liby >=2", "libz 1.2 h0_0", "libz >=1")
    text = write(replace(LOCK, platforms=(LockedPlatform("linux-64", (record("top", depends=depends),)),)))
    assert read(text, "l").platforms[0].records[0].depends == ("libx >=1,<3", "liby >=2", "libz 1.2 h0_0")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("version: 1\n", "version: 2\n", "version 2 of conda-lock.yml is not read here"),
        ("version: 1\n", "", "has no `version`"),
        ("manager: pypi", "manager: npm", "nobody knows the package manager 'npm' of six"),
        ("  platform: osx-arm64", "  platform: win-64", "libx is for win-64, which is none of the lock's platforms"),
        ("  manager: conda\n", "", "has no `manager`"),
        ("  version: '1.0'\n", "  version: '1.2'\n", "the version of libx is '1.2' here and '1.0' in its address"),
        ("- name: libx\n", "- name: liby\n", "the name of liby is 'liby' here and 'libx' in its address"),
        ("https://files.pythonhosted.org/packages", "../packages", "six has no address that starts with https://"),
        (f"@{'d' * 40}", "", "tool comes from a repository, and no commit is named"),
        ("  - linux-64\n  - osx-arm64\n", "", "`platforms` names none"),
    ],
)
def test_what_is_wrong_is_told(old: str, new: str, reason: str) -> None:
    """Each mistake is told with its line and reason."""
    text = THEIRS.replace(old, new)
    if "repository" in reason:
        text = text.replace("d" * 40, "e" * 64)
    with pytest.raises(FileFormatError) as caught:
        read(text, "l")
    assert any(reason in one for one in (str(caught.value), *caught.value.details))
