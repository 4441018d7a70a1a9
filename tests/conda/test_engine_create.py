"""``conda llmenv create --engine conda``: the environment is what conda would have made, or is not there at all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conda.conftest import Conda
from tests.http_channel import ChannelServer, Fault

ASKED = ("python", "pip", "post-link-demo", "conda-forge::gate-a", "numpy >=2")


@pytest.fixture
def create(conda: Conda, tmp_path: Path) -> Callable[..., Any]:
    """Create an environment with the conda engine and a package cache of its own; return how that ended."""
    conda.environ["CONDA_PKGS_DIRS"] = str(tmp_path / "pkgs")

    def run(*arguments: str | Path, **variables: str) -> Any:
        return conda("llmenv", "create", "--engine", "conda", "-y", *arguments, **variables)

    return run


def records(prefix: Path) -> dict[str, dict[str, Any]]:
    """Return the records of an environment by package."""
    entries = (json.loads(path.read_bytes()) for path in (prefix / "conda-meta").glob("*.json"))
    return {entry["name"]: entry for entry in entries}


def environments(folder: Path) -> list[str]:
    """Return what is in the folder of environments, our own work folders included."""
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_the_environment_works_and_conda_finds_nothing_wrong(
    create: Callable[..., Any], conda: Conda, prefix: Path
) -> None:
    """Python runs, link scripts have run, and `conda list`, `conda doctor` and `conda install` are content with it."""
    ended = create("-p", prefix, *ASKED)
    assert ended.code == 0, ended.text
    assert "link scripts were not run" not in ended.text
    assert (prefix / "post-link-was-here").exists()
    shown = subprocess.run(
        [prefix / "bin/python", "-c", "import numpy; print(numpy.__file__)"], capture_output=True, check=True
    )
    assert str(prefix).encode() in shown.stdout
    listed = {entry["name"] for entry in json.loads(conda("list", "-p", prefix, "--json").stdout)}
    assert {"python", "numpy", "gate-a", "gate-c"} <= listed
    doctor = conda("doctor", "-p", prefix).stdout
    for health in ("no packages with altered files", "environment is consistent", "no packages with missing files"):
        assert any(line.startswith("✅") and health in line for line in doctor.splitlines()), doctor
    again = conda("install", "-p", prefix, "--dry-run", "--json", "click")
    assert json.loads(again.stdout)["success"] is True, again.text
    changed = {entry["name"] for entry in json.loads(again.stdout)["actions"].get("UNLINK", [])}
    assert changed == set()


def test_the_history_is_one_revision_with_what_was_asked(
    create: Callable[..., Any], conda: Conda, prefix: Path
) -> None:
    """Conda reads the specs from it, and the records name their own."""
    assert create("-p", prefix, *ASKED).code == 0
    revisions = json.loads(conda("list", "-p", prefix, "--revisions", "--json").stdout)
    assert len(revisions) == 1
    assert len(revisions[0]["install"]) == len(records(prefix))
    history = (prefix / "conda-meta/history").read_text(encoding="utf-8")
    assert history.count("==>") == 1
    assert "'conda-forge::gate-a'" in history
    asked = {name: entry.get("requested_specs") for name, entry in records(prefix).items()}
    assert (asked["gate-a"], asked["pip"]) == (["conda-forge::gate-a"], ["pip"])
    assert not asked["gate-c"]


def test_the_same_facts_as_with_the_embedded_engine(create: Callable[..., Any], conda: Conda, tmp_path: Path) -> None:
    """Same packages, same files but for what Python compiles, same hashes and addresses."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    assert create("-p", ours, "python", "pip", "numpy").code == 0
    assert conda("llmenv", "create", "--engine", "rattler", "-y", "-p", theirs, "python", "pip", "numpy").code == 0
    mine, other = records(ours), records(theirs)
    assert mine.keys() == other.keys()
    for name, entry in mine.items():
        for key in (
            "version",
            "build",
            "build_number",
            "subdir",
            "url",
            "fn",
            "sha256",
            "md5",
            "size",
            "timestamp",
            "depends",
        ):
            assert entry.get(key) == other[name].get(key), (name, key)
        files = [{path for path in one["files"] if not path.endswith(".pyc")} for one in (entry, other[name])]
        assert files[0] == files[1], name


def test_a_payload_is_all_there_is_on_stdout(create: Callable[..., Any], prefix: Path) -> None:
    """Conda shows no bar, no spinner, no message of a package; stderr has nothing of it either."""
    ended = create("-p", prefix, "post-link-demo", "--json")
    assert ended.result()["engine"] == "conda"
    assert ended.stderr == ""


def test_a_download_that_breaks_off_is_gone_on_with(
    create: Callable[..., Any], http_channel: ChannelServer, prefix: Path
) -> None:
    """Once is no failure."""
    http_channel.faults = [Fault("big-blob*", cut=100_000, times=1)]
    ended = create("-p", prefix, "big-blob", CONDA_CHANNEL_ALIAS=http_channel.host)
    assert ended.code == 0, ended.text
    assert len(http_channel.asked_for("big-blob*")) == 2


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("big-blob*", cut=100_000), "big-blob-1.0-0.conda did not arrive whole"),
        (Fault("big-blob*", flip=True), "its sha256 differs"),
        (Fault("big-blob*", status=404), "big-blob-1.0-0.conda cannot be downloaded"),
    ],
    ids=["cut", "flipped", "missing"],
)
def test_a_download_that_fails_leaves_nothing(
    create: Callable[..., Any], http_channel: ChannelServer, prefix: Path, fault: Fault, said: str
) -> None:
    """No environment, no package of that name in the cache; with the server well again the same command works."""
    http_channel.faults = [fault]
    ended = create("-p", prefix, "big-blob", "--json", CONDA_CHANNEL_ALIAS=http_channel.host)
    error = ended.json()["error"]
    assert (ended.code, error["code"]) == (1, "install-failed")
    assert said in error["message"]
    if "sha256" in said:
        assert [line.split()[0] for line in error["details"][:3]] == ["expected", "found", "from"]
    assert environments(prefix.parent) == []
    http_channel.faults = []
    assert create("-p", prefix, "big-blob", CONDA_CHANNEL_ALIAS=http_channel.host).code == 0


def test_a_changed_archive_of_a_local_channel_is_refused(
    create: Callable[..., Any], offline_channel: Path, tmp_path: Path, prefix: Path
) -> None:
    """Conda itself does not look at archives on disk."""
    channel = Path(shutil.copytree(offline_channel, tmp_path / "channels"))
    archive = next(channel.glob("conda-forge/*/gate-c-2.0-0.conda"))
    other = archive.with_name("gate-c-1.0-0.conda").read_bytes()
    archive.unlink()
    archive.write_bytes(other)
    ended = create("-p", prefix, "gate-c", "--json", CONDA_CHANNEL_ALIAS=channel.as_uri())
    assert "is not the file its channel describes" in ended.json()["error"]["message"]
    assert not list((tmp_path / "pkgs").glob("gate-c-2.0-0*"))


def test_a_link_script_that_fails_is_shown(create: Callable[..., Any], prefix: Path, tmp_path: Path) -> None:
    """Nothing is left, and what the script said is there to read."""
    (tmp_path / "pkgs").mkdir()
    assert create("-p", tmp_path / "first", "post-link-demo").code == 0
    script = tmp_path / "pkgs/post-link-demo-1.0-0/bin/.post-link-demo-post-link.sh"
    assert script.exists()
    blocker = {"BASH_ENV": str(tmp_path / "blocked.sh")}
    (tmp_path / "blocked.sh").write_text(
        'case "$0" in *conda*|*tmp*) ;; esac\ntouch() { echo no touching; return 7; }\n'
    )
    ended = create("-p", prefix, "post-link-demo", "--json", **blocker)
    error = ended.json()["error"]
    assert "post-link script failed for package" in error["message"]
    assert any("no touching" in line for line in error["details"])
    assert not prefix.exists()


@pytest.fixture
def started(conda: Conda, create: Callable[..., Any], http_channel: ChannelServer, prefix: Path) -> Iterator[Any]:
    """A create that is in the middle of a slow download."""
    http_channel.faults = [Fault("big-blob*", pace=0.1)]
    process = conda.start(
        "llmenv",
        "create",
        "--engine",
        "conda",
        "-y",
        "-p",
        prefix,
        "python",
        "big-blob",
        CONDA_CHANNEL_ALIAS=http_channel.host,
    )
    deadline = time.monotonic() + 60
    while not http_channel.asked_for("big-blob*") and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_an_interrupted_create_leaves_nothing(started: Any, prefix: Path, number: signal.Signals) -> None:
    """Conda takes most signals for itself; ours counts, and the exit status says which it was."""
    os.killpg(started.pid, number)
    _, said = started.communicate(timeout=30)
    assert started.returncode == 128 + number
    assert "Traceback" not in said
    assert "interrupted; what had been started was taken back" in said
    assert environments(prefix.parent) == []


@pytest.mark.parametrize("what", ["*repodata.json", "big-blob*"])
def test_an_interruption_does_not_wait_for_a_silent_server(
    create: Callable[..., Any], conda: Conda, http_channel: ChannelServer, prefix: Path, what: str
) -> None:
    """Conda would, for its read timeout: a minute, several times over."""
    http_channel.faults = [Fault(what, stall=40)]
    arguments = ("llmenv", "create", "--engine", "conda", "-y", "-p", prefix, "big-blob")
    process = conda.start(*arguments, CONDA_CHANNEL_ALIAS=http_channel.host, CONDA_REMOTE_MAX_RETRIES="1")
    deadline = time.monotonic() + 60
    while not http_channel.asked_for("repodata*" if "repodata" in what else what) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(1)
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert time.monotonic() - begun < 20
    assert process.returncode == 128 + signal.SIGINT
    assert environments(prefix.parent) == []


def test_a_killed_create_is_settled_by_the_next(
    started: Any, create: Callable[..., Any], http_channel: ChannelServer, prefix: Path
) -> None:
    """What was extracted in part is not taken for whole."""
    os.kill(started.pid, signal.SIGKILL)
    started.communicate(timeout=30)
    http_channel.faults = []
    ended = create("-p", prefix, "python", "big-blob", CONDA_CHANNEL_ALIAS=http_channel.host)
    assert ended.code == 0, ended.text
    assert subprocess.run([prefix / "bin/python", "-c", ""], check=False).returncode == 0
    assert environments(prefix.parent) == [prefix.name]


@pytest.mark.parametrize(
    "part", ["share/big-blob.bin", "info/index.json", "info/paths.json", "info/repodata_record.json"]
)
def test_damage_in_the_package_cache_is_repaired(create: Callable[..., Any], tmp_path: Path, part: str) -> None:
    """Conda compares sizes at most; here what is damaged is extracted anew from the verified archive."""
    assert create("-p", tmp_path / "one", "big-blob").code == 0
    whole = (tmp_path / "one/share/big-blob.bin").read_bytes()
    path = tmp_path / "pkgs/big-blob-1.0-0" / part
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.unlink()
    path.write_bytes(content)
    ended = create("-p", tmp_path / "two", "big-blob")
    assert ended.code == 0, ended.text
    assert (tmp_path / "two/share/big-blob.bin").read_bytes() == whole


def test_an_unknown_solver_is_said_so(create: Callable[..., Any], prefix: Path) -> None:
    """Conda is configured to a solver that is not installed: conda's words, and what to do."""
    ended = create("-p", prefix, "gate-c", CONDA_SOLVER="nosuch")
    assert ended.code == 1
    assert "nosuch" in ended.stderr
    assert "conda config --set solver" in ended.stderr
