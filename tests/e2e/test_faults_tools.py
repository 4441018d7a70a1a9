"""Programs that are missing, wheels that are broken, and signals while others are at work."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.http_channel import ChannelServer, Fault
from tests.index import artifacts
from tests.index.fixtures import installed
from tests.index.server import write_flat
from tests.program import Ended, Program


@pytest.fixture
def trimmed(llmenv: Program, tmp_path: Path) -> Program:
    """The program on a machine whose PATH has a shell and nothing else."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to(str(shutil.which("sh")))
    llmenv.environ["PATH"] = str(tmp_path / "bin")
    return llmenv


def test_a_git_source_without_git(trimmed: Program, prefix: Path) -> None:
    """Fault 42: git is named with where to get it; nothing is left of the environment."""
    (trimmed.cwd / "x/.git").mkdir(parents=True)
    trimmed.write("team.yml", f"dependencies:\n- python\n- pip\n- pip:\n  - git+file://{trimmed.cwd}/x@main\n")
    ended = trimmed("create", "-f", "team.yml", "-p", prefix)
    assert ended.code == 1
    assert "hint: git is not installed: add `git` to the conda dependencies" in ended.stderr
    assert "Traceback" not in ended.text
    assert not prefix.parent.exists()


def test_everything_else_works_without_any_program(trimmed: Program, prefix: Path, tmp_path: Path) -> None:
    """Fault 42: no git, compiler, conda or nvidia-smi on PATH is no obstacle to what needs none of them."""
    trimmed.environ["PIP_FIND_LINKS"] = str(write_flat(tmp_path / "wheels", [artifacts.wheel("tinydist", "1.0")]))
    trimmed.write(
        "team.yml", "dependencies:\n- python\n- pip\n- pip: [tinydist]\nllmenv:\n  verify: {imports: [tinydist]}\n"
    )
    ended = trimmed("create", "-f", "team.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    assert installed(prefix)["tinydist"] == "1.0"
    for command in (
        ("list",),
        ("info",),
        ("info", "-p", str(prefix)),
        ("tiers", "detect"),
        ("remove", "-p", str(prefix), "-y"),
    ):
        assert trimmed(*command).code == 0


def test_without_nvidia_smi_the_card_is_skipped_with_a_reason(trimmed: Program, tmp_path: Path) -> None:
    """Fault 42: a driver is there and neither NVML nor nvidia-smi: said, and no card is invented or called fine."""
    root = tmp_path / "host"
    (root / "proc" / "driver" / "nvidia").mkdir(parents=True)
    (root / "proc" / "driver" / "nvidia" / "version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
    )
    ended = trimmed("tiers", "detect", LLMENV_HOST_ROOT=str(root))
    assert ended.code == 0, ended.text
    assert "550.54.15" in ended.stdout
    assert "tier      cpu" in ended.stdout
    plan = trimmed("create", "--dry-run", "--tier", "a100", "--json", "confused", LLMENV_HOST_ROOT=str(root)).result()
    assert all(check["status"] != "pass" for check in plan["checks"] if "card" in json.dumps(check).lower())


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_each_installer_by_name(llmenv: Program, prefix: Path, tmp_path: Path, installer: str) -> None:
    """Fault 42: where uv is missing pip does the work; asked for by name, both give the same environment."""
    llmenv.environ["PIP_FIND_LINKS"] = str(write_flat(tmp_path / "wheels", [artifacts.wheel("tinydist", "1.0")]))
    llmenv.write("team.yml", "dependencies:\n- python\n- pip\n- pip: [tinydist]\n")
    ended = llmenv("create", "-f", "team.yml", "-p", prefix, "--installer", installer)
    assert ended.code == 0, ended.text
    assert installed(prefix)["tinydist"] == "1.0"


def test_a_broken_wheel_takes_the_environment_with_it(llmenv: Program, prefix: Path, tmp_path: Path) -> None:
    """Fault 4: a wheel that is no archive: its name, its line, exit code 1, and nothing left of the environment."""
    wheels = [artifacts.wheel("tinydist", "1.0"), artifacts.wheel("brokendist", "1.0", broken=True)]
    llmenv.environ["PIP_FIND_LINKS"] = str(write_flat(tmp_path / "wheels", wheels))
    llmenv.write("team.yml", "dependencies:\n- python\n- pip\n- pip:\n  - tinydist\n  - brokendist\n")
    ended = llmenv("create", "-f", "team.yml", "-p", prefix)
    assert ended.code == 1
    assert "team.yml:6: brokendist" in ended.stderr
    assert not prefix.parent.exists()
    assert not (Path(llmenv.environ["HOME"]) / ".conda").exists()


def test_a_failed_build_ends_with_its_last_lines(llmenv: Program, prefix: Path) -> None:
    """Fault 4: a source that does not build: what it printed last is shown, the environment is gone."""
    broken = artifacts.source_files("brokensource", "1.0", before="raise SystemExit('no such header: cuda.h')")
    for name, text in broken.items():
        llmenv.write(f"source/{name}", text)
    llmenv.write("team.yml", "dependencies:\n- python\n- pip\n- pip:\n  - ./source\n")
    ended = llmenv("create", "-f", "team.yml", "-p", prefix)
    assert ended.code == 1
    assert "no such header: cuda.h" in ended.stderr
    assert not prefix.parent.exists()


def gone(pid: int) -> bool:
    """Whether a process has ended, giving it a moment."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def interrupted(process: subprocess.Popen[str], number: signal.Signals, prefix: Path) -> Ended:
    """Send a signal to the program alone and see it take everything back."""
    os.kill(process.pid, number)
    stdout, stderr = process.communicate(timeout=30)
    ended = Ended(process.returncode, stdout, stderr)
    assert ended.code == 128 + number, ended.text
    assert "Traceback" not in ended.text
    assert not prefix.parent.exists() or list(prefix.parent.iterdir()) == []
    return ended


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_pip_builds(llmenv: Program, prefix: Path, tmp_path: Path, number: signal.Signals) -> None:
    """Fault 3: the build and everything it started are dead, the lock is free, no file of ours is left."""
    (tmp_path / "tmp").mkdir()
    marker = llmenv.cwd / "pid"
    slow = f"import os, time\nopen({str(marker)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    for name, text in artifacts.source_files("slowsource", "1.0", before=slow).items():
        llmenv.write(f"source/{name}", text)
    llmenv.write("team.yml", "dependencies:\n- python\n- pip\n- pip:\n  - ./source\n")
    process = llmenv.start("create", "-f", "team.yml", "-p", prefix, TMPDIR=str(tmp_path / "tmp"))
    while not (marker.exists() and marker.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    interrupted(process, number, prefix)
    assert gone(int(marker.read_text()))
    assert list((tmp_path / "tmp").glob("llmenv-*")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_dry_run_builds(llmenv: Program, prefix: Path, tmp_path: Path, number: signal.Signals) -> None:
    """Fault 3: planning starts programs too; they end with it, and so does the folder with pip's settings."""
    (tmp_path / "tmp").mkdir()
    marker = llmenv.cwd / "pid"
    slow = f"import os, time\nopen({str(marker)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    sdist = artifacts.sdist("slowsource", "1.0", artifacts.source_files("slowsource", "1.0", before=slow))
    llmenv.environ["PIP_FIND_LINKS"] = str(write_flat(tmp_path / "links", [sdist]))
    llmenv.write("team.yml", "dependencies:\n- python\n- pip\n- pip: [slowsource]\n")
    process = llmenv.start("create", "-f", "team.yml", "-p", prefix, "--dry-run", TMPDIR=str(tmp_path / "tmp"))
    while not (marker.exists() and marker.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    interrupted(process, number, prefix)
    assert gone(int(marker.read_text()))
    assert list((tmp_path / "tmp").glob("llmenv-*")) == []


@pytest.fixture
def online(llmenv: Program, http_channel: ChannelServer, tmp_path: Path) -> Program:
    """The program over HTTP, with a package cache of its own."""
    llmenv.environ |= {"CONDA_CHANNEL_ALIAS": http_channel.host, "CONDA_PKGS_DIRS": str(tmp_path / "pkgs")}
    return llmenv


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("path", ["big-blob*.conda", "repodata.json"])
def test_a_signal_while_the_network_is_slow(
    online: Program, prefix: Path, http_channel: ChannelServer, path: str, number: signal.Signals
) -> None:
    """Fault 3: a download or repodata that never comes is not waited for."""
    http_channel.faults = [Fault(path, stall=20)]
    process = online.start("create", "-p", prefix, "big-blob")
    while not http_channel.asked_for(path):
        assert process.poll() is None
        time.sleep(0.02)
    started = time.monotonic()
    interrupted(process, number, prefix)
    assert time.monotonic() - started < 8
    http_channel.faults = []
    assert online("create", "-p", prefix, "confused", "--no-verify").code == 0
