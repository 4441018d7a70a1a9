"""What ssh says when it fails, as one sentence with the reason and a next step."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from conda_llmenv.errors import LlmenvError

SSH_FAILED = 255
"""The exit status of ssh for failures of its own; any other is that of the remote command."""

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""What POSIX shells exit with when the program is not there, or may not be run."""

SHOWN = 300
"""Characters of a line that a message repeats."""


class HostFailed(LlmenvError):
    """Another host cannot be reached, refuses the login, or cannot run what was asked."""

    code = "host"


class _Known(NamedTuple):
    """What one of ssh's lines means."""

    pattern: re.Pattern[str]
    message: str
    hint: str


def _known(pattern: str, message: str, hint: str) -> _Known:
    return _Known(re.compile(pattern), message, hint)


_BY_HAND = "make `{by_hand}` work first"

KNOWN = (
    _known(
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "the host key of {host} is not the one known for it, so somebody may be answering in its place",
        "ask those who run it; if its key has really changed, forget the old one with `ssh-keygen -R` and the name ssh "
        "told, and connect once by hand",
    ),
    _known(
        r"Host key verification failed|No \S+ host key is known for",
        "the host key of {host} is not known yet",
        "connect once by hand, `{plain}`, and compare its fingerprint with what those who run it tell",
    ),
    _known(
        r"Permission denied|Too many authentication failures",
        "{host} refuses the login: {line}",
        "add your key with ssh-add or ssh-copy-id; " + _BY_HAND,
    ),
    _known(
        r"Could not resolve hostname",
        "{host} cannot be found: {line}",
        "check the name, and your VPN; a jump host is set with ProxyJump in ~/.ssh/config",
    ),
    _known(
        r"Connection refused|No route to host|Network is unreachable|Connection timed out|Operation timed out",
        "{host} cannot be reached: {line}",
        "check the network and the VPN, and whether a jump host is needed (ProxyJump in ~/.ssh/config)",
    ),
    _known(
        r"Timeout, server .* not responding",
        "{host} has stopped answering: {line}",
        "check the network; the kernel there is ended when the connection is, so start it anew",
    ),
    _known(
        r"Bad configuration option|Bad owner or permissions|[Uu]nsupported option|bad configuration",
        "ssh cannot read its configuration: {line}",
        _BY_HAND,
    ),
    _known(r"[Cc]onnection (closed|reset)|Broken pipe|kex_exchange", "{host} closed the connection: {line}", _BY_HAND),
)
"""Lines of OpenSSH, the more telling ones first: a changed key, for one, is also a failed verification."""


def printable(text: str) -> str:
    """Return a line of another host without what could steer a terminal, and not too long."""
    clean = "".join(character if character.isprintable() else " " for character in text).strip()
    return clean if len(clean) <= SHOWN else f"{clean[:SHOWN]}..."


def explain(host: str, prefix: str, status: int, lines: Sequence[str]) -> HostFailed:
    """Return the failure that ssh's exit status and its lines on standard error tell of.

    Args:
        host: the destination.
        prefix: the environment whose Python was to be run there.
        status: the exit status of ssh; negative for a signal.
        lines: standard error.
    """
    said = [line for line in map(printable, lines) if line]
    by_hand = shlex.join(["ssh", "-o", "BatchMode=yes", host, "true"])
    if status == SSH_FAILED:
        for known in KNOWN:
            for line in said:
                if known.pattern.search(line):
                    words = {"host": host, "line": line, "by_hand": by_hand, "plain": shlex.join(["ssh", host])}
                    return HostFailed(known.message.format(**words), hint=known.hint.format(**words), details=said)
        reason = said[-1] if said else "it gave no reason"
        return HostFailed(f"ssh cannot connect to {host}: {reason}", hint=_BY_HAND.format(by_hand=by_hand))
    if status in {NOT_FOUND, NOT_EXECUTABLE}:
        what = "cannot be run" if status == NOT_EXECUTABLE else "is not there"
        return HostFailed(
            f"{prefix}/bin/python {what} on {host}",
            details=said,
            hint="give the environment's path as it is on that host; one whose disk is not mounted is not there either",
        )
    reason = said[-1] if said else f"exit status {status}"
    return HostFailed(
        f"{prefix}/bin/python failed on {host}: {reason}", details=said, hint=_BY_HAND.format(by_hand=by_hand)
    )
