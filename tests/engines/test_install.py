"""Installing: an environment that works, looks to conda as it should, and says what was not done."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.channel.interpreter import SHORT, SITE_PACKAGES
from tests.channel.stubs import BLOB_BYTES
from tests.engines.support import CUDA, channel, chosen, install, solve
from tests.http_channel import ChannelServer


def run(prefix: Path, *argv: str) -> str:
    """Run a program of the environment by its path, without activation, and return what it printed."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "LD_"))}
    done = subprocess.run(
        [str(prefix / "bin" / argv[0]), *argv[1:]], env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("transport", ["file", "http"])
def test_the_installed_python_runs(
    transport: str, offline_channel: Path, http_channel: ChannelServer, tmp_path: Path
) -> None:
    """Python, a compiled library, a noarch library with an entry point and a program that is no Python: all work."""
    where = channel(offline_channel) if transport == "file" else channel(http_channel.url())
    prefix = tmp_path / "env"
    install(solve("python", "pip", "numpy", "click", "openmpi", channels=(where,)), prefix, tmp_path / "pkgs")
    code = "import sys, ssl, sqlite3, click, numpy; print(sys.prefix, numpy.arange(4).sum(), click.__file__)"
    assert run(prefix, "python", "-c", code).split() == [
        str(prefix),
        "6",
        str(prefix / SITE_PACKAGES / "click/__init__.py"),
    ]
    assert run(prefix, "pip", "--version").split()[3] == str(prefix / SITE_PACKAGES / "pip")
    assert run(prefix, "mpirun", "--version").startswith("mpirun (Open MPI) 5")


def test_paths_in_files_are_those_of_the_prefix(offline_channel: Path, tmp_path: Path) -> None:
    """Text and binaries that were built with a placeholder name the real prefix, whatever is in its name."""
    prefix = tmp_path / "a prefix with spaces, ü and $dollar"
    install(solve("prefix-demo", channels=(channel(offline_channel),)), prefix, tmp_path / "pkgs")
    assert f"printf '%s' {prefix}\n" in (prefix / "bin/prefix-demo.sh").read_text(encoding="utf-8")
    binary = (prefix / "lib/prefix-demo.bin").read_bytes()
    assert f"\0{prefix}/lib\0".encode() in binary
    assert len(binary) == len(b"\x7fDEMO\0") + 255 + len(b"/lib\0end\0")


def test_build_configuration_names_the_prefix(offline_channel: Path, tmp_path: Path) -> None:
    """Extensions are compiled against this Python and not against the one it was made from."""
    prefix = tmp_path / "env"
    install(solve("python", channels=(channel(offline_channel),)), prefix, tmp_path / "pkgs")
    include = run(prefix, "python", "-c", "import sysconfig; print(sysconfig.get_path('include'))").strip()
    assert include == f"{prefix}/include/python{SHORT}"


def test_what_was_requested_is_recorded_as_conda_does(offline_channel: Path, tmp_path: Path) -> None:
    """`requested_specs` names the person's specs, and is empty for what came along."""
    prefix = tmp_path / "env"
    solution = solve("gate-a", "conda-forge::gate-c <2", channels=(channel(offline_channel),))
    install(solution, prefix, tmp_path / "pkgs", requested=("gate-a", "conda-forge::gate-c <2"))
    records = {path.name: json.loads(path.read_text()) for path in (prefix / "conda-meta").glob("*.json")}
    assert records["gate-a-1.0-0.json"]["requested_specs"] == ["gate-a"]
    assert records["gate-c-1.0-0.json"]["requested_specs"] == ["conda-forge::gate-c <2"]
    assert records["gate-a-1.0-0.json"]["sha256"] == chosen(solution, "gate-a").sha256


def test_no_history_is_left_for_conda_to_find(offline_channel: Path, tmp_path: Path) -> None:
    """Conda lists what has `conda-meta/history`; that file is the business of whoever finishes the environment."""
    prefix = tmp_path / "env"
    install(solve("gate-c", channels=(channel(offline_channel),)), prefix, tmp_path / "pkgs")
    assert sorted(path.name for path in (prefix / "conda-meta").iterdir()) == ["gate-c-2.0-0.json"]


def test_an_existing_history_is_kept(offline_channel: Path, tmp_path: Path) -> None:
    """An environment that conda made keeps its past."""
    prefix = tmp_path / "env"
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta/history").write_text("==> 2020-01-01 00:00:00 <==\n")
    install(solve("gate-c", channels=(channel(offline_channel),)), prefix, tmp_path / "pkgs")
    assert (prefix / "conda-meta/history").read_text() == "==> 2020-01-01 00:00:00 <==\n"


def test_records_can_be_read_by_others_as_the_umask_says(offline_channel: Path, tmp_path: Path) -> None:
    """`conda list` works for a colleague on a shared environment."""
    before = os.umask(0o027)
    try:
        install(solve("gate-c", channels=(channel(offline_channel),)), tmp_path / "env", tmp_path / "pkgs")
    finally:
        os.umask(before)
    assert (tmp_path / "env/conda-meta/gate-c-2.0-0.json").stat().st_mode & 0o777 == 0o640


def test_link_scripts_are_not_run_and_are_named(offline_channel: Path, tmp_path: Path) -> None:
    """A package's own code does not run during installation; the person is told whose did not."""
    specs = ("post-link-demo", "activate-demo")
    recorder = install(solve(*specs, channels=(channel(offline_channel),)), tmp_path / "env", tmp_path / "pkgs")
    assert not (tmp_path / "env/post-link-was-here").exists()
    assert [(notice.code, "post-link-demo" in notice.message) for notice in recorder.notices] == [
        ("link-scripts", True)
    ]
    assert (tmp_path / "env/etc/conda/activate.d/activate-demo.sh").is_file()


def test_progress_counts_bytes_and_packages(http_channel: ChannelServer, tmp_path: Path) -> None:
    """Downloads are reported in bytes up to the announced total, links in packages; both stages end."""
    solution = solve("big-blob", "gate-a", channels=(channel(http_channel.url()),))
    recorder = install(solution, tmp_path / "env", tmp_path / "pkgs")
    total = sum(record.size or 0 for record in solution.records)
    assert recorder.of("start", "download") == [(total,)]
    downloaded = [done for done, _ in recorder.of("advance", "download")]
    assert downloaded == sorted(downloaded)
    assert BLOB_BYTES < downloaded[-1] <= total
    assert [done for done, _ in recorder.of("advance", "link")] == [1, 2, 3]
    assert {call[:2] for call in recorder.calls[-2:]} == {("finish", "download"), ("finish", "link")}


def test_a_second_installation_fetches_nothing(http_channel: ChannelServer, tmp_path: Path) -> None:
    """What is in the package cache, and sound, is used."""
    solution = solve("big-blob", channels=(channel(http_channel.url()),))
    install(solution, tmp_path / "one", tmp_path / "pkgs")
    http_channel.requests.clear()
    recorder = install(solution, tmp_path / "two", tmp_path / "pkgs")
    assert http_channel.requests == []
    assert recorder.of("start", "download") == []
    assert (tmp_path / "two/share/big-blob.bin").stat().st_ino == (tmp_path / "one/share/big-blob.bin").stat().st_ino


def test_offline_uses_what_is_there(http_channel: ChannelServer, tmp_path: Path) -> None:
    """With warm caches neither solving nor installing asks the network for anything."""
    where, repodata = channel(http_channel.url()), tmp_path / "repodata"
    solution = solve("gate-c", channels=(where,), repodata_cache=repodata)
    install(solution, tmp_path / "one", tmp_path / "pkgs")
    http_channel.requests.clear()
    again = solve("gate-c", channels=(where,), repodata_cache=repodata, offline=True)
    install(again, tmp_path / "two", tmp_path / "pkgs", offline=True)
    assert again.records == solution.records
    assert http_channel.requests == []
    assert (tmp_path / "two/share/gate-c/about.txt").is_file()


def test_a_gpu_plan_links_what_was_planned(offline_channel: Path, tmp_path: Path) -> None:
    """The CUDA build that was chosen for another machine's virtual packages is the one that is installed."""
    prefix = tmp_path / "env"
    install(
        solve("pytorch-gpu", channels=(channel(offline_channel),), virtual_packages=CUDA), prefix, tmp_path / "pkgs"
    )
    assert "cuda126" in (prefix / "share/pytorch/about.txt").read_text()


def test_installing_again_removes_what_is_no_longer_wanted(offline_channel: Path, tmp_path: Path) -> None:
    """The records of a request are the environment: a package that is not among them goes, its files too."""
    where, prefix = (channel(offline_channel),), tmp_path / "env"
    install(solve("gate-a", "data-generic", channels=where), prefix, tmp_path / "pkgs")
    install(solve("gate-b", channels=where), prefix, tmp_path / "pkgs")
    assert sorted(path.stem for path in (prefix / "conda-meta").glob("*.json")) == ["gate-b-1.0-0", "gate-c-2.0-0"]
    assert not (prefix / "share/data-generic").exists()
