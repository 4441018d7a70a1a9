"""Which interface ranks meet on, and which settings cost speed."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.checks.host_network import nccl_matches
from conda_llmenv.model import HostFacts, Status
from tests.checks.host_scenes import DEV_BOX, NODE, judged

PORT = {
    "device": "mlx5_0",
    "port": "1",
    "state": "4: ACTIVE",
    "phys_state": "5: LinkUp",
    "rate": "400",
    "link_layer": "IB",
}


def interface(name: str, **changes: Any) -> dict[str, Any]:
    usual = {"name": name, "up": True, "loopback": name == "lo", "virtual": False, "bridge": False, "ipv4": True}
    return {**usual, "ipv6": False, **changes}


def seen(*names: str, files: Any = (), **variables: str) -> dict[str, Any]:
    return {"interfaces": [interface(name) for name in names], "variables": variables, "files": files}


@pytest.mark.parametrize(
    ("value", "name", "taken"),
    [
        ("eth", "eth0", True),
        ("=eth", "eth0", False),
        ("=eth0,eth1", "eth1", True),
        ("^docker,lo", "docker0", False),
        ("^docker,lo", "eth0", True),
        ("^=docker0", "docker1", True),
        ("ib0:1,eth", "ib0", True),
        ("ens", "eth0", False),
    ],
)
def test_nccl_reads_its_list(value: str, name: str, taken: bool) -> None:  # noqa: FBT001 - a column of the table
    """Prefixes, whole names behind ``=``, exclusion behind ``^``: the rules of NCCL's user guide."""
    assert nccl_matches(value, name) is taken


@pytest.mark.parametrize(
    ("values", "facts", "status", "words"),
    [
        (seen("lo", "eth0"), NODE, Status.PASS, "meet on eth0"),
        (seen("lo", "bond0.12", "docker0"), NODE, Status.PASS, "meet on bond0.12"),
        (seen("lo", "docker0", "virbr0"), NODE, Status.WARN, "only docker0, virbr0"),
        (seen("lo"), DEV_BOX, Status.PASS, "loopback"),
        (seen("lo", "docker0", NCCL_SOCKET_IFNAME="docker0"), NODE, Status.PASS, "loopback"),
        (seen("lo", "eth0", NCCL_SOCKET_IFNAME="ib0"), NODE, Status.FAIL, "NCCL_SOCKET_IFNAME=ib0 names an interface"),
        (seen("lo", "eth0", NCCL_SOCKET_IFNAME="ib0"), DEV_BOX, Status.WARN, "is not on this machine"),
        (seen("lo", "eth0", NCCL_SOCKET_IFNAME="^docker"), NODE, Status.PASS, "eth0"),
        (seen("lo", "eth0", GLOO_SOCKET_IFNAME="eth"), DEV_BOX, Status.FAIL, "GLOO_SOCKET_IFNAME=eth"),
        (seen("lo", "eth0", GLOO_SOCKET_IFNAME="eth0"), DEV_BOX, Status.PASS, "eth0"),
        ({"interfaces": []}, NODE, Status.SKIP, "could not be listed"),
    ],
)
def test_interfaces(values: dict[str, Any], facts: HostFacts, status: Status, words: str) -> None:
    """Row 49: an interface that is not there makes NCCL fail or hang; bridges of containers are only a hint."""
    found = judged("network-interface", values, facts)
    assert found.status is status
    assert words in found.summary


def test_interface_named_in_a_file() -> None:
    """The administrator's file counts, and is named, since `unset` would not help."""
    files = [{"path": "/etc/nccl.conf", "settings": {"NCCL_SOCKET_IFNAME": "=ib0"}}]
    found = judged("network-interface", seen("lo", "eth0", files=files))
    assert found.status is Status.FAIL
    assert found.fix.startswith("remove NCCL_SOCKET_IFNAME from /etc/nccl.conf")


def test_interface_that_is_down() -> None:
    """One that exists and has no address is told apart from one that does not exist."""
    values = seen("lo", "eth0", NCCL_SOCKET_IFNAME="ib0")
    values["interfaces"].append(interface("ib0", up=False, ipv4=False))
    found = judged("network-interface", values)
    assert "is down or has no address" in found.summary
    assert found.fix.startswith("unset NCCL_SOCKET_IFNAME ")


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("NCCL_P2P_DISABLE", "1", Status.WARN),
        ("NCCL_P2P_DISABLE", "0", Status.PASS),
        ("NCCL_SHM_DISABLE", "1", Status.WARN),
        ("NCCL_IB_DISABLE", "1", Status.WARN),
        ("NCCL_ALGO", "Ring", Status.WARN),
        ("NCCL_PROTO", "Simple", Status.WARN),
        ("NCCL_DEBUG", "INFO", Status.PASS),
        ("UCX_TLS", "tcp", Status.PASS),
    ],
)
def test_leftover_settings(name: str, value: str, status: Status) -> None:
    """What somebody set while hunting a bug slows every later run."""
    found = judged("nccl-settings", {"variables": {name: value}, "files": [], "infiniband": [PORT]})
    assert found.status is status
    assert found.fix == (f"unset {name}" if status is Status.WARN else "")
    assert f"{name}={value} (the environment)" in found.detail


def test_infiniband_is_not_missed_where_there_is_none() -> None:
    """NCCL_IB_DISABLE on a machine without InfiniBand changes nothing."""
    values = {"variables": {"NCCL_IB_DISABLE": "1"}, "files": [], "infiniband": [{**PORT, "state": "1: DOWN"}]}
    assert judged("nccl-settings", values).status is Status.PASS


def test_settings_of_the_environment_are_meant() -> None:
    """What a layer sets on purpose, as for a network without RDMA, is no leftover."""
    values = {"variables": {"NCCL_IB_DISABLE": "1"}, "files": [], "infiniband": [PORT]}
    assert judged("nccl-settings", values, variables={"NCCL_IB_DISABLE": "1"}).status is Status.PASS


def test_a_variable_wins_over_a_file() -> None:
    """NCCL reads the environment first, then its own file, then the administrator's."""
    files = [
        {"path": "/home/me/.nccl.conf", "settings": {"NCCL_P2P_DISABLE": "0"}},
        {"path": "/etc/nccl.conf", "settings": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}},
    ]
    found = judged("nccl-settings", {"variables": {"NCCL_DEBUG": "WARN"}, "files": files})
    assert found.summary == "NCCL_SHM_DISABLE=1 is set: ranks of one machine talk through the network"
    assert found.fix == "remove NCCL_SHM_DISABLE from /etc/nccl.conf"


def test_configuration_file_that_is_not_there() -> None:
    """NCCL does not say that its file is missing."""
    found = judged("nccl-settings", {"variables": {}, "files": [], "conf_file": "/nfs/nccl.conf"})
    assert (found.status, found.fix) == (Status.WARN, "unset NCCL_CONF_FILE")


def test_secrets_are_not_shown() -> None:
    """A variable that holds a password appears without it."""
    found = judged("nccl-settings", {"variables": {"NCCL_PLUGIN_TOKEN": "hunter2"}, "files": []})
    assert any(line.startswith("NCCL_PLUGIN_TOKEN=") for line in found.detail)
    assert "hunter2" not in repr(found)
