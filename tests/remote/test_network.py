"""A stalled and a lost network, between two network namespaces whose link goes down."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from conda_llmenv.process import run
from tests.remote.world import World, started, wait_for_end

pytestmark = [pytest.mark.ssh, pytest.mark.xdist_group("ssh")]

LAPTOP, HOST = "192.0.2.1", "192.0.2.2"

STALL_SECONDS = 5.0


class Link:
    """Two networks and the cable between them."""

    def __init__(self) -> None:
        self.holders = [subprocess.Popen(["unshare", "--net", "sleep", "600"]) for _ in range(2)]
        self.laptop, self.host = (self._within(holder.pid) for holder in self.holders)
        for holder in self.holders:  # until it has a network of its own
            while Path(f"/proc/{holder.pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
                time.sleep(0.01)
        self._ip(self.laptop, f"link add cable type veth peer name cable netns {self.holders[1].pid}")
        for within, address in ((self.laptop, LAPTOP), (self.host, HOST)):
            self._ip(within, f"address add {address}/30 dev cable")
            self._ip(within, "link set lo up")
            self._ip(within, "link set cable up")

    def down(self) -> None:
        """Pull the plug: what is sent is lost, and nobody is told."""
        self._ip(self.host, "link set cable down")

    def up(self) -> None:
        """Put it back."""
        self._ip(self.host, "link set cable up")

    def close(self) -> None:
        """End both networks."""
        for holder in self.holders:
            holder.kill()
            holder.wait()

    @staticmethod
    def _within(pid: int) -> list[str]:
        return ["nsenter", f"--net=/proc/{pid}/ns/net"]

    @staticmethod
    def _ip(within: Sequence[str], command: str) -> None:
        subprocess.run([*within, "ip", *command.split()], check=True)


@pytest.fixture
def link(world: World) -> Iterator[Link]:
    """Return a cable between a laptop and ``far``, an ssh server in a network of its own."""
    allowed = subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode == 0
    if not allowed or shutil.which("ip") is None or shutil.which("nsenter") is None:
        pytest.skip("needs to be allowed to make network namespaces (root, iproute2)")
    link = Link()
    try:
        name = f"far-{link.holders[0].pid}"
        world.servers.start(name, address=HOST, within=link.host)

        def within(argv: Sequence[str], **options: Any) -> Any:
            return run([*link.laptop, *argv], **options)

        world.register(name, name="far", run=within)
        yield link
        link.up()
        for client in world.clients:
            client.close()
        world.servers.stop(name)
    finally:
        link.close()


def test_a_stall_is_survived(world: World, link: Link) -> None:
    """The network is away for five seconds: no output is missing, and the kernel is the same."""
    client = world.client(link.laptop)
    started(client, "far")
    client.ask("begin", code="import time\nfor number in range(7):\n    print(number, flush=True)\n    time.sleep(1)")
    link.down()
    time.sleep(STALL_SECONDS)
    link.up()
    assert client.ask("finish")["text"].split() == [str(number) for number in range(7)]
    assert client.ask("alive")["alive"]
    client.ask("shutdown", now=False)
    world.wait_until_gone()


def test_a_lost_network_ends_both_sides(world: World, link: Link) -> None:
    """The network goes away for good: each side ends what it has by itself, and the client knows."""
    world.hasten("far")
    client = world.client(link.laptop)
    kernel = started(client, "far")
    ssh = next(child for child in psutil.Process(client.process.pid).children() if child.name() == "ssh")
    link.down()
    wait_for_end(kernel["pid"], ssh.pid)
    assert not client.ask("alive")["alive"]
    deadline = time.monotonic() + 10
    while Path(kernel["folder"]).exists() and time.monotonic() < deadline:  # the supervisor's last act
        time.sleep(0.05)
    assert not Path(kernel["folder"]).exists()
    link.up()
    world.wait_until_gone(seconds=20)
