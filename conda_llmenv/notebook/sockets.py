"""What a process listens at, as the kernel of the system knows it, and ports that nobody listens at."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from conda_llmenv.errors import InputError, LlmenvError

LOOPBACK = "127.0.0.1"

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""Sockets of this network namespace; the format is in ``Documentation/networking/proc_net_tcp.rst`` of Linux."""

LISTEN = "0A"
"""The state of a socket that takes connections."""

TRIES = 100
"""Ports that are tried, from the first on."""

_SOCKET = re.compile(r"socket:\[([0-9]+)\]")


class Listening(Struct, frozen=True, order=True):
    """An address and port that a process takes connections at."""

    address: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return ipaddress.ip_address(self.address).is_loopback


def can_be_seen() -> bool:
    """Return whether this system tells what a process listens at, as Linux does."""
    return TABLES[0].is_file()


def listening(pid: int) -> tuple[Listening, ...]:
    """Return what a process listens at; nothing for one that has ended or that belongs to another account."""
    inodes = set(_sockets(pid))
    found = (entry for table in TABLES for entry in _entries(table))
    return tuple(sorted({place for inode, place in found if inode in inodes}))


def _sockets(pid: int) -> Iterator[str]:
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                match = _SOCKET.fullmatch(str(descriptor.readlink()))
                if match:
                    yield match[1]


def _entries(table: Path) -> Iterator[tuple[str, Listening]]:
    """Yield the inode and place of each listening socket of a table."""
    try:
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        _, local, _, state, _, _, _, _, _, inode, *_ = line.split()
        if state == LISTEN:
            address, _, port = local.rpartition(":")
            yield inode, Listening(_address(address), int(port, 16))


def _address(text: str) -> str:
    """Return an address from its words in hexadecimal, each in the byte order of the machine."""
    words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
    address = ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def free_port(asked: int | None, first: int) -> int:
    """Return the port that was asked for, or the first free one from ``first`` on.

    Raises:
        InputError: somebody listens at the port that was asked for, or this account may not.
        LlmenvError: none of many is free.
    """
    if asked is not None:
        _check(asked)
        return asked
    for port in range(first, first + TRIES):
        if _why_not(port) is None:
            return port
    raise LlmenvError(f"none of the ports {first} to {first + TRIES - 1} is free", hint="name a free one with --port")


def is_free(port: int) -> bool:
    """Return whether this account could listen at a port of the loopback address now."""
    return _why_not(port) is None


def _check(port: int) -> None:
    number = _why_not(port)
    if number == errno.EADDRINUSE:
        raise InputError(
            f"port {port} is taken: a program on this machine listens there",
            hint=f"name another port, or see whose it is with `ss -ltnp 'sport = :{port}'`",
        )
    if number is not None:
        raise InputError(f"port {port} cannot be used: {os.strerror(number)}", hint="name a port above 1023")


def _why_not(port: int) -> int | None:
    """Return the error number with which nobody can listen at a port, or None for a free one."""
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as servers do: an ended one does not hold its port
        try:
            probe.bind((LOOPBACK, port))
            probe.listen()
        except OSError as error:
            return error.errno
    return None
