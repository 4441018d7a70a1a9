"""SSH destinations that are taken, and the argument lists that reach them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from conda_llmenv.errors import InputError

DESTINATION = re.compile(
    r"""
    (?:ssh://)?
    (?:[A-Za-z0-9_][A-Za-z0-9_.+-]*(?:@[A-Za-z0-9_.-]+)?@)?            # the user, maybe of a realm
    (?:[A-Za-z0-9_][A-Za-z0-9_.-]*|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+|\[[0-9A-Fa-f:.]+\])  # a name, or an address
    (?::[0-9]{1,5})?                                                   # only after ssh://, which ssh itself checks
    """,
    re.VERBOSE | re.ASCII,
)
"""What may stand before and after the ``@``: nothing that a shell in somebody's ``ProxyCommand`` could make much of."""

LONGEST, SHOWN = 255, 40
"""Characters of a destination, and of a refused one that a message repeats."""

CONNECT_SECONDS = 20

SENT = "import json;exec(json.loads(open(0,'rb',0,closefd=False).readline()))"
"""Runs the program in the first line of standard input, a JSON string, and leaves the rest to it."""

INSIDE = Path(__file__).parent / "inside"


def check_destination(text: str) -> str:
    """Return a destination that ssh can be given: ``host``, ``user@host`` or ``ssh://user@host:port``.

    Raises:
        InputError: it is none.
    """
    plain = text.isprintable() and len(text) <= LONGEST
    if plain and DESTINATION.fullmatch(text):
        return text
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    raise InputError(
        f"{shown!a} is no SSH destination",
        hint="use user@host, ssh://user@host:port or the name of a Host in ~/.ssh/config, which may hold anything else",
    )


def check_remote_prefix(text: str) -> str:
    """Return the absolute path of an environment on another host, in one form.

    Raises:
        InputError: it is relative, or holds what no path of an environment does.
    """
    path = PurePosixPath(text)
    if not path.is_absolute() or not text.isprintable() or ".." in path.parts or len(path.parts) == 1:
        raise InputError(
            f"{text!a} is no absolute path of an environment",
            hint="give the path as it is on the other host, such as -p /nfs/envs/sft",
        )
    return str(path)


def program(name: str) -> str:
    """Return a module of ``inside/`` as the line that :data:`SENT` runs."""
    return json.dumps((INSIDE / f"{name}.py").read_text(encoding="utf-8")) + "\n"


def ssh_argv(host: str, prefix: str, *, forwards: Sequence[str] = (), keepalive: int = 10) -> list[str]:
    """Return the command that runs the program sent on standard input with the environment's Python on a host.

    Everything else, from keys and agents to jump hosts, is left to the person's configuration of ssh. What is set here
    is what the promises rest on: a connection of its own, which is gone when it is given up, no questions, and the time
    after which silence means loss. Host keys are checked as ever.

    Args:
        host: a destination that :func:`check_destination` took.
        prefix: the environment.
        forwards: arguments of ``-L``.
        keepalive: seconds between signs of life; the third that stays away ends the connection.
    """
    options = {
        "BatchMode": "yes",
        "ConnectTimeout": str(CONNECT_SECONDS),
        "ServerAliveInterval": str(keepalive),
        "ServerAliveCountMax": "3",
        "ControlMaster": "no",
        "ControlPath": "none",
        "ExitOnForwardFailure": "no",  # one of the person's own forwards may be in use already; ours are looked at
        "LogLevel": "INFO",
        "RemoteCommand": "none",
        "StreamLocalBindUnlink": "yes",
    }
    settings = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    tunnels = [word for forward in forwards for word in ("-L", forward)]
    command = shlex.join([f"{prefix}/bin/python", "-I", "-u", "-c", SENT])
    return ["ssh", "-T", "-x", *settings, *tunnels, "--", host, f"exec {command}"]
