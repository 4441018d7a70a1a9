"""A real DataLoader with real workers, under the limits that people meet."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.model import Status
from tests.probes.looking import found, wrapped
from tests.torchenv import BreakEnv

PLANTED = Path(__file__).with_name("planted_compute.py")

pytestmark = pytest.mark.torch


def test_workers_give_every_sample(torch_env: Path) -> None:
    """Forked and spawned, in order and by value."""
    finding = found(torch_env, "dataloader", {"workers": 4})
    assert finding.status is Status.PASS, finding
    assert finding.summary == "4 workers give every sample in order, forked and spawned"
    assert finding.figures["loader_per_s"] > 0


def test_a_tiny_shm_is_named(torch_env: Path, tmp_path: Path) -> None:
    """A worker that finds /dev/shm full raises, or dies with a bus error; both say what to enlarge."""
    small = wrapped(tmp_path, torch_env, "mount -t tmpfs -o size=4m tmpfs /dev/shm && exec {python}", root=True)
    finding = found(small, "dataloader")
    assert finding.status is Status.FAIL
    assert "/dev/shm is too small for tensors that come from workers" in finding.summary
    assert "--shm-size=8g" in finding.fix


def test_a_low_limit_of_open_files_is_named(torch_env: Path, tmp_path: Path) -> None:
    """Each tensor of a worker is an open file: 64 are too few for a batch or two of everything."""
    limited = wrapped(tmp_path, torch_env, "ulimit -n 64 && exec {python}")
    finding = found(limited, "dataloader")
    assert finding.status is Status.FAIL
    assert "the limit of open files is too low" in finding.summary
    assert finding.fix.startswith("ulimit -n 65535")
    assert "open files are limited to 64" in finding.detail


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("reversed_batches", "workers by fork give other samples"),
        ("dying_workers", "workers die, as they do where memory is used up"),
    ],
)
def test_broken_workers_are_seen(broken_env: BreakEnv, fault: str, words: str) -> None:
    """Samples in another order, and a worker that is killed, as the kernel does when memory is used up."""
    prefix = broken_env({"sitecustomize.py": PLANTED.read_text(encoding="utf-8")})
    finding = found(prefix, "dataloader", environ={"PLANTED": fault})
    assert finding.status is Status.FAIL
    assert words in finding.summary
