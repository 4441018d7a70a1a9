"""Several programs at once, and one that died: one wins, the others wait or say who is at work; nothing gets mixed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.http_channel import ChannelServer, Fault
from tests.program import Ended, Program

SPECS = ("gate-a", "gate-b", "confused", "data-generic", "prefix-demo")
ROUNDS = 4


@pytest.fixture
def bare(llmenv: Program) -> Program:
    """The program with a file that gives environments without Python: small, and made in a moment."""
    llmenv.write("bare.yml", "llmenv:\n  remove: [python, pip]\n")
    return llmenv


def ended(process: subprocess.Popen[str]) -> Ended:
    """Wait for a run that was started."""
    stdout, stderr = process.communicate(timeout=120)
    return Ended(process.returncode, stdout, stderr)


def names(prefix: Path) -> set[str]:
    """Return the packages recorded in an environment."""
    return {json.loads(path.read_text())["name"] for path in (prefix / "conda-meta").glob("*.json")}


def wait_for(condition: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a file appears while a run goes on."""
    until = time.monotonic() + 30
    while not condition.exists():
        assert process.poll() is None, ended(process).text
        assert time.monotonic() < until
        time.sleep(0.01)


def test_two_creations_of_one_environment(llmenv: Program, prefix: Path) -> None:
    """Fault 22: both start at the same moment; one makes it, the other says it is there; nothing is broken."""
    both = [ended(run) for run in [llmenv.start("create", "-p", prefix, "six", "click", "--no-verify") for _ in "ab"]]
    # 1 after waiting for the other, 2 where the machine let this one look only when the other was done
    assert sorted(run.code for run in both) in ([0, 1], [0, 2]), [run.text for run in both]
    loser = next(run for run in both if run.code)
    assert f"{prefix} is an environment already" in loser.stderr
    assert {"six", "click"} <= names(prefix)
    assert llmenv("info", "-p", prefix, "--json").result()["phase"] == "created"
    assert [path.name for path in prefix.parent.iterdir()] == [prefix.name]


@pytest.fixture
def slow(llmenv: Program, http_channel: ChannelServer, tmp_path: Path) -> Program:
    """The program over a server that takes seconds over one package."""
    http_channel.faults = [Fault("big-blob*.conda", pace=0.05)]
    llmenv.environ |= {"CONDA_CHANNEL_ALIAS": http_channel.host, "CONDA_PKGS_DIRS": str(tmp_path / "pkgs")}
    return llmenv


def test_who_waits_learns_for_whom_and_gives_up_in_time(slow: Program, prefix: Path, tmp_path: Path) -> None:
    """Fault 22: the second run names host and pid, and ends at its time limit; the first is unharmed."""
    first = slow.start("create", "-p", prefix, "big-blob", "--no-verify")
    wait_for(prefix / "conda-meta" / "llmenv" / "state.json", first)
    started = time.monotonic()
    second = slow("create", "-p", prefix, "confused", LLMENV_LOCK_TIMEOUT="1", CONDA_PKGS_DIRS=str(tmp_path / "more"))
    assert second.code == 1
    assert time.monotonic() - started < 10
    assert str(first.pid) in second.stderr
    assert os.uname().nodename in second.stderr
    assert "hint: " in second.stderr
    done = ended(first)
    assert done.code == 0, done.text
    assert "big-blob" in names(prefix)


def test_a_killed_holder_is_no_obstacle(slow: Program, http_channel: ChannelServer, prefix: Path) -> None:
    """Faults 2 and 24: SIGKILL while the lock is held: not an environment for anybody, and the next run makes it."""
    first = slow.start("create", "-p", prefix, "big-blob", "--no-verify")
    wait_for(prefix / "conda-meta" / "llmenv" / "state.json", first)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=30)
    assert not (prefix / "conda-meta" / "history").is_file(), "conda must not take it for an environment"
    state = json.loads((prefix / "conda-meta" / "llmenv" / "state.json").read_text())
    assert state["phase"] == "creating"
    assert slow("list", "--json").result() == []
    http_channel.faults = []
    started = time.monotonic()
    again = slow("create", "-p", prefix, "big-blob", "--no-verify")
    assert again.code == 0, again.text
    assert time.monotonic() - started < 20
    assert "big-blob" in names(prefix)
    assert [path.name for path in prefix.parent.iterdir()] == [prefix.name]


def test_a_kill_between_conda_and_pip(llmenv: Program, prefix: Path) -> None:
    """Fault 2: conda's part is whole and pip's is not: no environment for anybody, and a rerun makes one."""
    llmenv.write("team.yml", "dependencies:\n- python\n- pip\n- pip:\n  - ./slow\n")
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    llmenv.write("slow/pyproject.toml", project)
    marker = llmenv.cwd / "now"
    llmenv.write("slow/backend.py", f"import pathlib, time\npathlib.Path({str(marker)!r}).touch()\ntime.sleep(60)\n")
    first = llmenv.start("create", "-p", prefix, "-f", "team.yml")
    wait_for(marker, first)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=30)
    assert "python" in names(prefix)
    assert not (prefix / "conda-meta" / "history").is_file()
    assert llmenv("list", "--json").result() == []
    info = llmenv("info", "-p", prefix, "--json")
    assert info.code != 0 or info.result()["phase"] == "creating"
    again = llmenv("create", "-p", prefix, "six")
    assert again.code == 0, again.text
    assert "six" in names(prefix)


def test_twenty_environments_over_one_cache(bare: Program, prefix: Path, tmp_path: Path) -> None:
    """Fault 23 (conda#13037): 20 creations, 5 at a time, over a package cache that is empty at first: all correct."""
    bare.environ["CONDA_PKGS_DIRS"] = str(tmp_path / "pkgs")
    made: dict[Path, str] = {}
    for number in range(ROUNDS):
        places = {prefix.with_name(f"{spec}-{number}"): spec for spec in SPECS}
        runs = [bare.start("create", "-f", "bare.yml", "-p", place, spec) for place, spec in places.items()]
        for run in [ended(run) for run in runs]:
            assert run.code == 0, run.text
        made |= places
    assert len(made) == 20
    for spec in SPECS:
        found = [place for place, asked in made.items() if asked == spec]
        assert all(spec in names(place) for place in found)
        contents = [
            {path.relative_to(place): path.stat().st_size for path in place.glob("share/**/*") if path.is_file()}
            for place in found
        ]
        assert contents[0] or spec == "prefix-demo"
        assert all(content == contents[0] for content in contents)
    registry = Path(bare.environ["HOME"], ".conda", "environments.txt").read_text().split()
    assert sorted(registry) == sorted(map(str, made))
