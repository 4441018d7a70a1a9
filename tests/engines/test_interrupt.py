"""Being told to stop: promptly, and with nothing left at work on the prefix."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engines.support import channel
from tests.http_channel import ChannelServer, Fault

ROOT = Path(__file__).parents[2]

INSTALL = """
import json, os, shutil, signal, sys, time
from pathlib import Path
from tests.engines.support import channel, install, solve

url, prefix, cache = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
solution = solve("python", "pip", "numpy", channels=(channel(url),))

def end(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, end)
print("ready", flush=True)
try:
    install(solution, prefix, cache)
    print(json.dumps({"finished": True}))
except KeyboardInterrupt:
    stopped = time.time()
    if prefix.exists():
        shutil.rmtree(prefix)
    time.sleep(0.7)
    print(json.dumps({"stopped": stopped, "back": prefix.exists()}))
"""


def begin(url: str, tmp_path: Path) -> subprocess.Popen[str]:
    """Start an installation in a process of its own and wait until it begins."""
    argv = [sys.executable, "-c", INSTALL, url, str(tmp_path / "env"), str(tmp_path / "pkgs")]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(argv, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        pytest.fail(f"the installation did not begin:\n{process.communicate(timeout=20)[1]}")
    return process


def answer_of(process: subprocess.Popen[str]) -> dict[str, float | bool]:
    """Wait for the end and return what the process found out; it must not have printed anything of its own accord."""
    out, err = process.communicate(timeout=20)
    # A signal in the middle of asyncio's own clearing up leaves a loop that complains when it is collected.
    assert (process.returncode, err if "BaseEventLoop.__del__" not in err else "") == (0, "")
    answer: dict[str, float | bool] = json.loads(out)
    return answer


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_download_ends_at_once(number: signal.Signals, http_channel: ChannelServer, tmp_path: Path) -> None:
    """Row 3: a slow download is not waited for; nothing is printed but what we print."""
    http_channel.faults = [Fault("*.conda", pace=0.2)]
    process = begin(http_channel.url(), tmp_path)
    time.sleep(0.8)
    asked = time.time()
    process.send_signal(number)
    answer = answer_of(process)
    assert answer["stopped"] - asked < 1.5
    assert answer["back"] is False


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15])
def test_nothing_is_linked_after_the_call_has_ended(delay: float, offline_channel: Path, tmp_path: Path) -> None:
    """The library links in threads that outlive it; a prefix that was taken back must not come back."""
    process = begin(channel(offline_channel).url, tmp_path)
    time.sleep(delay)
    process.send_signal(signal.SIGTERM)
    assert not answer_of(process).get("back", False)
