"""pytest fixtures over the offline channel; name this module in ``pytest_plugins``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests.channel.build import build
from tests.http_channel import ChannelServer, serve


@pytest.fixture(scope="session")
def offline_channel(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the folder with both channels, built once for all workers of a run; read-only by agreement."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    out = shared / "channels"
    with FileLock(f"{out}.lock", timeout=600):
        if not out.is_dir():
            build(out)
    return out


@pytest.fixture
def http_channel(offline_channel: Path) -> Iterator[ChannelServer]:
    """Serve both channels over HTTP without credentials or faults; a test orders what it wants."""
    with serve(offline_channel) as server:
        yield server
