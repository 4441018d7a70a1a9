"""pixi.lock: every version rattler reads, and ours as rattler and pixi spell it."""

from __future__ import annotations

from pathlib import Path

import pytest
import rattler
from msgspec.structs import replace

from conda_llmenv.engines.rattler.pixi_lock import read
from conda_llmenv.errors import FileFormatError
from conda_llmenv.locks.facts import LEFT_OUT
from conda_llmenv.locks.pixi import write
from conda_llmenv.model import Channel, LockedPlatform, PipArtifact, PipPackage
from tests.locks.samples import COMMIT, FILES, FOREIGN, FORGE, LOCK, record, wheel

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("version", [1, 4, 5, 6, 7])
def test_every_version_is_read(version: int) -> None:
    """The same environment in each version of the format comes out the same, hashes and kinds of noarch included."""
    lock = read((FOREIGN / f"pixi-v{version}.lock").read_text(), "pixi.lock")
    assert lock.channels == (Channel("conda-forge", FORGE),)
    (platform,) = lock.platforms
    assert platform.subdir == "linux-64"
    libx, tz = platform.records
    assert libx == replace(record("libx", "1.0", "h1_3"), build_number=3)
    assert (tz.subdir, tz.noarch, tz.depends, tz.sha256) == ("noarch", "python", ("libx >=1.0",), "a" * 64)
    if version > 1:
        six = platform.pip[0]
        assert (six.requirement, six.hashes) == ("six==1.17.0", (f"sha256:{'c' * 64}",))
        assert six.url == f"{FILES}/six-1.17.0-py2.py3-none-any.whl"
    if version > 5:
        assert platform.pip[1].requirement == f"tool @ git+https://github.com/some/tool.git@{'d' * 40}"
        assert lock.facts == {LEFT_OUT: "environment docs"}
    assert all(line > 1 for line in lock.lines.values())


def test_rattler_reads_what_is_written(tmp_path: Path) -> None:
    """The library's own reader finds version 6, the channels in order, every package and every hash."""
    path = tmp_path / "pixi.lock"
    path.write_text(write(LOCK))
    environment = rattler.LockFile.from_path(path).default_environment()
    assert environment is not None
    assert [str(channel) for channel in environment.channels()] == ["https://h.example/pytorch/", f"{FORGE}/"]
    (platform,) = environment.platforms()
    packages = environment.packages(platform) or []
    found = {package.name: package.hashes.sha256 for package in packages if package.hashes and package.name != "tool"}
    assert found == {
        **dict.fromkeys(("numpy", "python", "tzdata", "zlib"), bytes.fromhex("aa" * 32)),
        "six": bytes.fromhex("cc" * 32),
    }
    assert f"git+https://h.example/tool?rev={COMMIT}#{COMMIT}" in {package.location for package in packages}
    assert "version: 6\n" in path.read_text()


def test_a_lock_of_ours_survives_the_library(tmp_path: Path) -> None:
    """Written again by the library, in its newest version of the format, it still says the same."""
    ours, theirs = tmp_path / "pixi.lock", tmp_path / "again.lock"
    ours.write_text(write(LOCK))
    rattler.LockFile.from_path(ours).to_path(theirs)
    assert "version: 7\n" in theirs.read_text()
    assert read(theirs.read_text(), "l").platforms == read(ours.read_text(), "l").platforms


def test_what_the_address_tells_is_left_out() -> None:
    """As rattler does: name, version, build and subdir are told by the address, the rest is written."""
    text = write(replace(LOCK, platforms=(LockedPlatform("linux-64", (record("libx", "1.0", "h1_3"),)),)))
    entry = text.split("packages:\n")[-1]
    assert entry == (
        f"- conda: {FORGE}/linux-64/libx-1.0-h1_3.conda\n  build_number: 0\n  sha256: {'a' * 64}\n  md5: {'b' * 32}\n"
    )


def test_repositories_and_addresses_are_spelled_as_pixi_does() -> None:
    """A commit as ``?rev=COMMIT#COMMIT``, a distribution that was asked for by its address with ``direct+``."""
    folder = PipPackage(
        "part", "1.0", f"part @ git+https://h.example/all@{COMMIT}#subdirectory=a/b", direct=True, built=True
    )
    packages = (folder, wheel("six", "1.17.0", direct=True))
    text = write(replace(LOCK, platforms=(LockedPlatform("linux-64", (), packages),)))
    assert f"pypi: git+https://h.example/all?rev={COMMIT}&subdirectory=a/b#{COMMIT}\n" in text
    assert f"pypi: direct+{FILES}/six-1.17.0-py3-none-any.whl\n" in text
    assert read(text, "l").platforms[0].pip == packages


def test_indexes_come_back_as_options() -> None:
    """Row 30: the indexes a version with a local part comes from are in the lock, in order, without credentials."""
    options = (
        "--index-url https://u:secret@mirror.example/simple",
        "--extra-index-url https://download.pytorch.org/whl/cu126",
        "--find-links https://h.example/wheels/",
        "--find-links /home/u/wheels",
    )
    text = write(replace(LOCK, pip_options=options))
    assert "secret" not in text
    assert "/home/u" not in text
    assert read(text, "l").pip_options == ("--index-url https://mirror.example/simple", *options[1:3])
    assert read(write(LOCK), "l").pip_options == ()


def test_the_index_of_a_local_version_is_added() -> None:
    """Row 30: what is on no public index brings its own, where its address tells which that is."""
    torch = wheel("torch", "2.9.0+cu126")
    url = "https://download.pytorch.org/whl/cu126/torch-2.9.0%2Bcu126-py3-none-any.whl"
    torch = replace(torch, url=url, artifacts=(replace(torch.artifacts[0], url=url),))
    text = write(replace(LOCK, platforms=(LockedPlatform("linux-64", (), (torch,)),)))
    assert read(text, "l").pip_options == ("--extra-index-url https://download.pytorch.org/whl/cu126",)


def test_an_index_cannot_bring_options() -> None:
    """An index that is more than an address is refused: it becomes an option line."""
    text = write(LOCK).replace("    - https://pypi.org/simple", '    - "https://pypi.org/simple --pre"')
    with pytest.raises(FileFormatError, match=r"l:\d+: an index is no address"):
        read(text, "l")


def test_a_file_shared_by_platforms_is_written_once() -> None:
    """A noarch package of two platforms has one entry; so has a wheel for any."""
    mac = LockedPlatform("osx-arm64", (LOCK.platforms[0].records[2],), (wheel("six", "1.17.0"),))
    text = write(replace(LOCK, platforms=(LOCK.platforms[0], mac)))
    assert text.count("\n- conda: ") == 4
    assert text.count("\n- pypi: ") == 2
    assert read(text, "l").platforms == (LOCK.platforms[0], mac)


def test_each_platform_gets_the_file_that_fits_it() -> None:
    """Of several files the format has room for one: the wheel for that platform's Python, else the source archive."""
    names = [
        "np-2.0-cp311-cp311-macosx_11_0_arm64.whl",
        "np-2.0-cp311-cp311-manylinux_2_34_x86_64.whl",
        "np-2.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "np-2.0-cp312-cp312-manylinux_2_17_x86_64.whl",
        "np-2.0-cp311-cp311-musllinux_1_2_x86_64.whl",
        "np-2.0.tar.gz",
    ]
    files = tuple(PipArtifact(f"{FILES}/{name}", (f"sha256:{number:064x}",)) for number, name in enumerate(names))
    package = PipPackage("np", "2.0", "np==2.0", url=files[0].url, artifacts=files)
    platforms = tuple(
        LockedPlatform(subdir, (record("python", "3.11.7", subdir=subdir),), (package,))
        for subdir in ("linux-64", "linux-aarch64", "osx-arm64")
    )
    back = read(write(replace(LOCK, platforms=platforms)), "l").platforms
    assert [Path(platform.pip[0].url or "").name for platform in back] == [names[2], names[5], names[0]]
    assert back[0].pip[0].hashes == (f"sha256:{2:064x}",)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("version: 6", "version: 9", "found newer lockfile format version 9"),
        ("  default:", "  other:", "no environment is called 'default'; there are 'docs', 'other'"),
        (
            "      - conda: https://conda.anaconda.org/conda-forge/noarch/tz-2024a",
            "      - conda: https://conda.anaconda.org/conda-forge/noarch/tz-2025a",
            "refers to a package that does not exist",
        ),
        (f"git+https://github.com/some/tool.git?rev=main#{'d' * 40}", "./tool", "tool lies at './tool'"),
        (
            "https://conda.anaconda.org/conda-forge/linux-64/libx-1.0-h1_3.conda",
            "../libx\n  name: libx\n  version: '1'\n  build: a\n  subdir: linux-64",
            "libx is built from sources at '../libx'",
        ),
    ],
)
def test_what_cannot_be_installed_is_told(old: str, new: str, reason: str) -> None:
    """Newer versions, environments nobody chose, and what has no address are refused with the reason and a line."""
    text = (FOREIGN / "pixi-v6.lock").read_text()
    if "\n  name" in new:
        text = text.replace(f"      - conda: {old}", "      - conda: ../libx")
    with pytest.raises(FileFormatError, match=r"l:\d+: ") as caught:
        read(text.replace(old, new), "l")
    assert any(reason in one for one in (str(caught.value), *caught.value.details))


def test_two_kinds_of_one_platform_are_refused() -> None:
    """Version 7 may lock a platform twice, with and without a GPU; which one is meant is for a person to say."""
    text = (FOREIGN / "pixi-v7.lock").read_text()
    text = text.replace("- name: linux-64\n", "- name: linux-64\n- name: gpu\n  subdir: linux-64\n").replace(
        "      linux-64:\n", f"      gpu:\n      - conda: {FORGE}/linux-64/libx-1.0-h1_3.conda\n      linux-64:\n", 1
    )
    with pytest.raises(FileFormatError, match="l:2: two platforms are for linux-64"):
        read(text, "l")


def test_the_only_environment_is_taken_whatever_it_is_called() -> None:
    """A lockfile with one environment leaves no choice."""
    text = write(LOCK).replace("  default:", "  train:")
    assert read(text, "l").platforms == read(write(LOCK), "l").platforms
