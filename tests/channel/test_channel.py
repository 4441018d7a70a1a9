"""The offline channel itself: the same bytes each time, real packages, made once."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import rattler
from rattler.package_streaming import extract

from tests.channel.archive import Package, write_package, zstd_frame
from tests.channel.build import CACHE_VARIABLE, build
from tests.channel.interpreter import SHORT, SITE_PACKAGES

ROOT = Path(__file__).parents[2]


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    """Two builds in different places, without a common cache, are equal to the last byte."""
    one, two = (
        build(tmp_path / name / "out", python=False, environ={CACHE_VARIABLE: str(tmp_path / name)}) for name in "ab"
    )
    assert files(one) == files(two)
    assert len(list(one.rglob("*.conda"))) > 20


def test_a_second_copy_is_linked_not_built(tmp_path: Path) -> None:
    """The cache makes the channel cheap enough to ask for in every test run."""
    environ = {CACHE_VARIABLE: str(tmp_path / "cache")}
    one, two = (build(tmp_path / name, python=False, environ=environ) for name in ("one", "two"))
    name = "conda-forge/noarch/confused-1.0-0.conda"
    assert (one / name).stat().st_ino == (two / name).stat().st_ino
    assert (one / "conda-forge/noarch/repodata.json").stat().st_nlink == 1, "a test may change its own repodata"


def test_the_command_builds_into_a_folder(tmp_path: Path) -> None:
    """`python -m tests.channel OUT --no-python` says what it made."""
    environ = os.environ | {CACHE_VARIABLE: str(tmp_path / "cache")}
    argv = [sys.executable, "-m", "tests.channel", str(tmp_path / "out"), "--no-python"]
    done = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    assert "packages in conda-forge, other under" in done.stdout
    assert (tmp_path / "out/other/noarch/repodata.json").is_file()


def test_repodata_describes_the_files(offline_channel: Path) -> None:
    """Sizes, hashes and what a package says inside agree with repodata."""
    for path in offline_channel.glob("*/*/repodata.json"):
        data = json.loads(path.read_text())
        assert data["info"]["subdir"] == path.parent.name
        for name, entry in data["packages.conda"].items():
            assert (path.parent / name).stat().st_size == entry["size"]
            assert "indexed_timestamp" not in entry


def test_python_says_where_its_packages_go(offline_channel: Path, tmp_path: Path) -> None:
    """The interpreter's package holds CEP 17's field, its headers, and nothing about where it came from."""
    (archive,) = offline_channel.glob("conda-forge/*/python-3*.conda")
    extract(archive, tmp_path)
    assert json.loads((tmp_path / "info/index.json").read_text())["python_site_packages_path"] == SITE_PACKAGES
    assert not (tmp_path / f"lib/python{SHORT}/test").exists()
    for path in (tmp_path / f"lib/python{SHORT}").glob("_sysconfigdata*.py"):
        assert sys.base_prefix == "/usr" or f"'{sys.base_prefix}/" not in path.read_text()


def test_an_archive_can_be_read_by_the_library(tmp_path: Path) -> None:
    """A rewritten info part is as good as the original: the library extracts it and reads every field."""
    staged = tmp_path / "staged"
    (staged / "share").mkdir(parents=True)
    (staged / "share/x.txt").write_text("x")
    package = Package(
        "demo", "1.0", noarch="python", subdir="noarch", index={"track_features": "a b"}, entry_points=("d = e:f",)
    )
    made = write_package(package, staged, tmp_path / "channel")
    record = (
        asyncio.run(rattler.RepoDataRecord.from_package_archive(made))
        if hasattr(rattler.RepoDataRecord, "from_package_archive")
        else None
    )
    extract(made, tmp_path / "out")
    link = json.loads((tmp_path / "out/info/link.json").read_text())
    assert link["noarch"]["entry_points"] == ["d = e:f"]
    assert record is None or record.track_features == ["a", "b"]


@pytest.mark.parametrize("size", [0, 1, 131_072, 131_073, 300_000])
def test_zstandard_frames_are_valid_at_every_size(size: int, tmp_path: Path) -> None:
    """Frames of raw blocks decode to what went in, at and around the block size."""
    import io
    import tarfile
    import zipfile

    content, buffer = b"x" * size, io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        member = tarfile.TarInfo("share/blob")
        member.size = size
        archive.addfile(member, io.BytesIO(content))
    path = tmp_path / "demo-1-0.conda"
    with zipfile.ZipFile(path, "w") as outer:
        outer.writestr("metadata.json", '{"conda_pkg_format_version": 2}')
        outer.writestr("pkg-demo-1-0.tar.zst", zstd_frame(buffer.getvalue()))
        outer.writestr("info-demo-1-0.tar.zst", zstd_frame(b"\0" * 10240))
    extract(path, tmp_path / "out")
    assert (tmp_path / "out/share/blob").read_bytes() == content
