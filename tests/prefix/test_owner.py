"""Whether the process that a marker names still lives (reliability row 27)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs

from conda_llmenv.prefix import owner as owners


def test_this_process_is_alive() -> None:
    """Its marker survives a round trip."""
    here = owners.current()
    assert owners.is_alive(here) is True
    assert owners.from_json(owners.to_json(here)) == here


def test_an_ended_process_is_dead() -> None:
    """Also while it waits for its parent to take notice."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    start = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
    owner = structs.replace(owners.current(), pid=child.pid, started=start)
    assert owners.is_alive(owner) is True
    assert child.stdin is not None
    child.stdin.close()
    while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        pass
    assert owners.is_alive(owner) is False
    child.wait()
    assert owners.is_alive(owner) is False


def test_a_pid_used_again_is_not_the_owner() -> None:
    """The start time tells them apart."""
    here = owners.current()
    assert owners.is_alive(structs.replace(here, started=here.started - 1)) is False


def test_an_earlier_boot_is_dead() -> None:
    """All of its processes are."""
    here = owners.current()
    assert owners.is_alive(structs.replace(here, boot_id="00000000-0000/pid:[1]")) is False


@pytest.mark.parametrize("change", [{"host": "elsewhere"}, {"boot_id": ""}])
def test_another_host_cannot_be_judged(change: dict[str, str]) -> None:
    """Neither can a marker without a boot."""
    assert owners.is_alive(structs.replace(owners.current(), **change)) is None  # str fields


def test_another_container_cannot_be_judged() -> None:
    """Process numbers of another namespace mean nothing here."""
    here = owners.current()
    boot = here.boot_id.partition("/")[0]
    assert owners.is_alive(structs.replace(here, boot_id=f"{boot}/pid:[1]")) is None


@pytest.mark.parametrize(
    "data", [None, [], {}, {"host": 1, "pid": 1, "started": 1, "boot_id": ""}, {"host": "h", "pid": "1"}]
)
def test_junk_is_no_owner(data: object) -> None:
    """Whoever reads a marker gets one kind of error."""
    with pytest.raises(TypeError):
        owners.from_json(data)
