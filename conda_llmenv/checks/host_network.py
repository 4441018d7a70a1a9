"""Judges which network interface NCCL and Gloo take, and settings that cost speed without a word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Level, Status
from conda_llmenv.redact import mask_variable

_LOCAL_BRIDGE = re.compile(
    r"docker\d*|virbr.*|veth.*|br-[0-9a-f]{12}|cni\d*|flannel.*|cali.*|lxcbr.*|lxdbr.*|podman\d*|vmnet.*"
)
"""Interfaces that container and VM software makes: they have addresses and lead nowhere outside this machine."""

STICKY = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE")
FORCED = ("NCCL_ALGO", "NCCL_PROTO")

_LOSES = {
    "NCCL_P2P_DISABLE": "cards no longer copy to one another directly",
    "NCCL_SHM_DISABLE": "ranks of one machine talk through the network",
    "NCCL_IB_DISABLE": "InfiniBand is not used",
    "NCCL_ALGO": "NCCL no longer chooses its algorithm",
    "NCCL_PROTO": "NCCL no longer chooses its protocol",
}

Interface = Mapping[str, Any]


def _network_interface(scene: Scene) -> Finding:
    seen = scene.values("network-interface")
    known: Sequence[Interface] = seen.get("interfaces") or ()
    if not known:
        return Finding(Status.SKIP, "network interfaces could not be listed")
    usable = [one for one in known if is_usable(one)]
    measured = ", ".join(one["name"] for one in usable) or "none with an address"
    chosen = effective(seen, scene)
    for name, matching in (("NCCL_SOCKET_IFNAME", nccl_matches), ("GLOO_SOCKET_IFNAME", gloo_matches)):
        value = chosen.get(name, ("", ""))[0]
        if value and not [one for one in usable if matching(value, one["name"])]:
            return _missing(scene, name, chosen[name], known, measured)
    outside = [one for one in usable if not one["loopback"] and not _LOCAL_BRIDGE.fullmatch(one["name"])]
    if outside:
        names = ", ".join(one["name"] for one in outside)
        return Finding(
            Status.PASS, f"ranks meet on {names}", measured, "an interface that leads outside", detail=_ports(seen)
        )
    bridges = [one["name"] for one in usable if not one["loopback"]]
    if bridges and "NCCL_SOCKET_IFNAME" not in chosen:
        words = (
            f"only {', '.join(bridges)} and loopback have addresses: ranks of other machines cannot be reached there"
        )
        return Finding(Status.WARN, words, measured, "an interface that leads outside", detail=_ports(seen))
    return Finding(Status.PASS, "only ranks of this machine can meet: loopback", measured, detail=_ports(seen))


def _missing(scene: Scene, name: str, chosen: tuple[str, str], known: Sequence[Interface], measured: str) -> Finding:
    """A value that fits no interface; NCCL has a part in it only where there are cards."""
    value, source = chosen
    there = any(nccl_matches(value, one["name"]) for one in known)
    words = "is down or has no address" if there else "is not on this machine"
    fatal = scene.has_gpu or name == "GLOO_SOCKET_IFNAME"
    where = "" if source == ENVIRONMENT else f" in {source}"
    undo = f"unset {name}" if source == ENVIRONMENT else f"remove {name} from {source}"
    return Finding(
        Status.FAIL if fatal else Status.WARN,
        f"{name}={value}{where} names an interface that {words}",
        measured,
        f"an interface that {name} matches",
        f"{undo}        (or choose one of: {measured})",
    )


def is_usable(interface: Interface) -> bool:
    """Return whether an interface is up and has an address, as far as that is known."""
    addressed = interface.get("ipv4") is not False or bool(interface.get("ipv6"))
    return bool(interface.get("up")) and addressed


def nccl_matches(value: str, name: str) -> bool:
    """Return whether NCCL takes an interface: prefixes, ``=`` for whole names, ``^`` to exclude (NCCL user guide)."""
    excluded, rest = value.startswith("^"), value.removeprefix("^")
    exact, rest = rest.startswith("="), rest.removeprefix("=")
    words = [word.partition(":")[0].strip() for word in rest.split(",") if word.strip()]
    matched = any(name == word if exact else name.startswith(word) for word in words)
    return matched is not excluded


def gloo_matches(value: str, name: str) -> bool:
    """Return whether Gloo takes an interface: whole names, separated by commas."""
    return name in value.split(",")


ENVIRONMENT = "the environment"


def effective(seen: Mapping[str, Any], scene: Scene) -> dict[str, tuple[str, str]]:
    """Return each setting's value and its source: a variable wins over NCCL's files, the first file over others."""
    found: dict[str, tuple[str, str]] = {}
    for name, value in (seen.get("variables") or {}).items():
        source = ACTIVATION if scene.variables.get(name) == value else ENVIRONMENT
        found[name] = (mask_variable(name, str(value)), source)
    for file in seen.get("files") or ():
        for name, value in file["settings"].items():
            found.setdefault(name, (mask_variable(name, str(value)), file["path"]))
    return found


ACTIVATION = "the variables of this environment"


def _ports(seen: Mapping[str, Any]) -> tuple[str, ...]:
    ports = seen.get("infiniband") or ()
    return tuple(
        f"{port['device']}/{port['port']}: {port['link_layer']} {port['rate']}, {port['state']}, {port['phys_state']}"
        for port in ports
    )


def _nccl_settings(scene: Scene) -> Finding:
    seen = scene.values("nccl-settings")
    chosen = effective(seen, scene)
    slowing = list(_slowing(chosen, seen))
    detail = tuple(f"{name}={value} ({source})" for name, (value, source) in sorted(chosen.items()))
    unread = seen.get("conf_file")
    if not slowing and not unread:
        words = f"{len(chosen)} settings, none that costs speed" if chosen else "no settings"
        return Finding(Status.PASS, words, str(len(chosen)), detail=detail)
    if not slowing:
        words = f"NCCL_CONF_FILE names {unread}, which cannot be read; NCCL ignores it without a word"
        return Finding(Status.WARN, words, detail=detail, fix="unset NCCL_CONF_FILE")
    first = slowing[0]
    value, source = chosen[first]
    more = f" (and {', '.join(slowing[1:])})" if slowing[1:] else ""
    plain = [name for name in slowing if chosen[name][1] == ENVIRONMENT]
    fix = f"unset {' '.join(plain)}" if plain else f"remove {first} from {source}"
    return Finding(
        Status.WARN,
        f"{first}={value} is set: {_LOSES[first]}{more}",
        ", ".join(f"{name}={chosen[name][0]}" for name in slowing),
        "unset",
        fix,
        detail,
    )


def _slowing(chosen: Mapping[str, tuple[str, str]], seen: Mapping[str, Any]) -> Iterator[str]:
    """Yield settings left over from a hunt for some bug; what the environment's own layers set is meant."""
    active = any("ACTIVE" in port.get("state", "") for port in seen.get("infiniband") or ())
    for name in (*STICKY, *FORCED):
        value, source = chosen.get(name, ("", ""))
        off = value in {"", "0"} or source == ACTIVATION
        if not off and (name != "NCCL_IB_DISABLE" or active):
            yield name


CHECKS = (
    Check(
        id="network-interface",
        title="ranks have an interface to meet on",
        group="host",
        level=Level.FULL,
        judge=_network_interface,
        fix="ip -br address; export NCCL_SOCKET_IFNAME=NAME GLOO_SOCKET_IFNAME=NAME",
        probe="machine",
    ),
    Check(
        id="nccl-settings",
        title="no leftover setting slows NCCL",
        group="host",
        level=Level.QUICK,
        judge=_nccl_settings,
        probe="machine",
    ),
)
"""In the order of the ladder."""
