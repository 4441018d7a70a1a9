"""Observes network interfaces, InfiniBand devices, and everything that steers NCCL, Gloo and UCX."""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterable
from typing import Any

from .machine_files import Machine

SIOCGIFADDR = 0x8915  # linux/sockios.h
NAME_BYTES = 15
"""Longest name of an interface, IFNAMSIZ of linux/if.h without its end."""

UP, LOOPBACK = 0x1, 0x8  # linux/if.h
LINK_LOCAL = "20"
"""Scope of an address in ``/proc/net/if_inet6`` that reaches no further than the link."""

STEERING = re.compile(
    r"(?:(?:TORCH_)?NCCL|GLOO|UCX|TP_SOCKET)_\w+|CUDA_VISIBLE_DEVICES|NVIDIA_VISIBLE_DEVICES|KMP_DUPLICATE_LIB_OK"
)
ASSIGNMENT = re.compile(r"\s*(NCCL_\w+)\s*=(.*)")
SECRET_NAME = re.compile(r"\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|_KEY)", re.IGNORECASE)
USER_OF_ADDRESS = re.compile(r"(\w+://)[^/@\s]+@")
LONGEST = 300


def interfaces(machine: Machine) -> dict[str, Any]:
    """Return the interfaces, which of them have an address, InfiniBand devices, and what chooses among them."""
    found = [_interface(machine, name) for name in machine.names("sys/class/net") if _is_interface(machine, name)]
    return {
        "interfaces": found,
        "infiniband": infiniband(machine),
        "variables": variables(("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA")),
        "files": nccl_files(machine),
    }


def _is_interface(machine: Machine, name: str) -> bool:
    return os.path.isdir(machine.path("sys/class/net/" + name))  # bonding_masters is a file


def _interface(machine: Machine, name: str) -> dict[str, Any]:
    folder = "sys/class/net/" + name
    text = (machine.text(folder + "/flags") or "0").strip()
    flags = int(text, 16)
    state = (machine.text(folder + "/operstate") or "").strip()
    return {
        "name": name,
        "up": bool(flags & UP) and state not in ("down", "lowerlayerdown", "notpresent"),
        "loopback": bool(flags & LOOPBACK),
        "virtual": "/devices/virtual/" in os.path.realpath(machine.path(folder)),
        "bridge": os.path.isdir(machine.path(folder + "/bridge")),
        "ipv4": has_ipv4(name) if machine.live else None,
        "ipv6": _has_ipv6(machine, name),
    }


def has_ipv4(name: str) -> bool:
    """Return whether an interface of this machine has an IPv4 address."""
    import fcntl

    request = struct.pack("256s", name.encode()[:NAME_BYTES])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
            fcntl.ioctl(opened.fileno(), SIOCGIFADDR, request)
    except OSError:
        return False
    return True


def _has_ipv6(machine: Machine, name: str) -> bool:
    """Whether an interface has an IPv6 address that reaches further than its own link."""
    rows = [line.split() for line in (machine.text("proc/net/if_inet6") or "").splitlines()]
    return any(row[-1:] == [name] and row[3] != LINK_LOCAL for row in rows)


def infiniband(machine: Machine) -> list[dict[str, str]]:
    """Return each port of InfiniBand or RoCE devices with its state, rate and link layer."""
    found = []
    for device in machine.names("sys/class/infiniband"):
        ports = f"sys/class/infiniband/{device}/ports"
        for port in machine.names(ports):
            texts = {
                key: (machine.text(f"{ports}/{port}/{key}") or "").strip()
                for key in ("state", "phys_state", "rate", "link_layer")
            }
            found.append(dict(texts, device=device, port=port))
    return found


def nccl_settings(machine: Machine) -> dict[str, Any]:
    """Return every variable that steers NCCL, Torch's use of it, Gloo or UCX, and what configuration files set."""
    names = [name for name in sorted(os.environ) if STEERING.fullmatch(name)]
    return {
        "variables": variables(names),
        "files": nccl_files(machine),
        "conf_file": _missing_conf_file(machine),
        "infiniband": infiniband(machine),
    }


def variables(names: Iterable[str]) -> dict[str, str]:
    """Return the variables of these names that are set, without secrets."""
    return {name: masked(name, os.environ[name]) for name in names if name in os.environ}


def masked(name: str, value: str) -> str:
    """Return a value as it may be told."""
    shown = "***" if SECRET_NAME.fullmatch(name) else USER_OF_ADDRESS.sub(r"\1***@", value)
    return shown[:LONGEST]


def nccl_files(machine: Machine) -> list[dict[str, Any]]:
    """Return what NCCL reads besides the environment, file by file, what is read first first; a variable wins.

    The file is ``NCCL_CONF_FILE`` or ``~/.nccl.conf``, then ``/etc/nccl.conf`` (NCCL user guide, "Environment
    variables"; ``initEnv`` in its source).
    """
    own = os.environ.get("NCCL_CONF_FILE") or os.path.expanduser("~/.nccl.conf")
    texts = [(own, _own_text(machine, own)), ("/etc/nccl.conf", machine.text("etc/nccl.conf"))]
    found = []
    for path, text in texts:
        matches = [ASSIGNMENT.match(line) for line in (text or "").splitlines()]
        settings = {match.group(1): masked(match.group(1), match.group(2).strip()) for match in matches if match}
        if text is not None:
            found.append({"path": path, "settings": settings})
    return found


def _own_text(machine: Machine, path: str) -> str | None:
    """A recorded machine has no home of its own: only its ``/etc/nccl.conf`` counts."""
    return machine.text(path.lstrip("/")) if machine.live and os.path.isabs(path) else None


def _missing_conf_file(machine: Machine) -> str:
    """Return NCCL_CONF_FILE where it names a file that cannot be read, else an empty string."""
    path = os.environ.get("NCCL_CONF_FILE", "")
    return path if path and machine.live and _own_text(machine, path) is None else ""
