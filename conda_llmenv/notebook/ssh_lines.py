"""The command lines that lead from a laptop to a server on another host."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct

from conda_llmenv.errors import LlmenvError

SSH_PORT = 22

KEEPALIVE_SECONDS = 5
"""Between signs of life; the third that stays away ends a connection."""

CONNECT_SECONDS = 20

CONNECTION_FIELDS = 4

_TAKEN = re.compile(r"bind \[.*\]:[0-9]+: Address already in use|cannot listen to port: [0-9]+")
"""What ssh says when it cannot listen at its local end."""


class Route(Struct, frozen=True):
    """How a laptop reaches a host.

    Attributes:
        host: the destination, as ssh takes it.
        via: the login nodes in between, nearest to the laptop first.
        port: of the host's ssh server where it is not the usual one.
        notes: what a person should know of how this was found.
    """

    host: str
    via: tuple[str, ...] = ()
    port: int = SSH_PORT
    notes: tuple[str, ...] = ()


def route_here(
    environ: Mapping[str, str], hostname: str, user: str, *, host: str | None = None, via: Sequence[str] = ()
) -> Route:
    """Return how a laptop most likely reaches this machine.

    Args:
        environ: Slurm's and sshd's variables say where the person came from.
        hostname: of this machine, as it calls itself.
        user: the account here.
        host: what the person says that this machine is called, with or without an account.
        via: the login nodes that the person names.
    """
    if via or not _is_in_job(environ, hostname):
        port = SSH_PORT if via or host else _server_port(environ)
        return Route(_with_user(host or hostname, user), tuple(via), port)
    login = environ["SLURM_SUBMIT_HOST"]
    note = (
        f"the Slurm job came from {login}, so the line goes through it; if your laptop knows that login node by "
        "another name, give it with --via"
    )
    return Route(_with_user(host or hostname, user), (_with_user(login, user),), notes=(note,))


def _is_in_job(environ: Mapping[str, str], hostname: str) -> bool:
    """Return whether this is a compute node of a Slurm job that was submitted elsewhere."""
    login = environ.get("SLURM_SUBMIT_HOST", "")
    return "SLURM_JOB_ID" in environ and bool(login) and login.partition(".")[0] != hostname.partition(".")[0]


def _server_port(environ: Mapping[str, str]) -> int:
    """Return the port at which the person's own connection came in (``SSH_CONNECTION`` of sshd)."""
    fields = environ.get("SSH_CONNECTION", "").split()
    if len(fields) == CONNECTION_FIELDS and fields[-1].isdecimal() and "SLURM_JOB_ID" not in environ:
        return int(fields[-1])
    return SSH_PORT


def _with_user(host: str, user: str) -> str:
    return host if "@" in host or host.startswith("ssh://") else f"{user}@{host}"


def laptop_line(route: Route, local: int, remote: int) -> str:
    """Return the one line to type on the laptop; it holds no secret."""
    port = ["-p", str(route.port)] if route.port != SSH_PORT else []
    return shlex.join(["ssh", "-N", *_jumps(route.via), *port, "-L", f"{local}:127.0.0.1:{remote}", route.host])


def tunnel_argv(route: Route, local: int, remote: int, *, ask: bool) -> list[str]:
    """Return the command of a tunnel that is kept alive by us.

    The connection is one of its own: through a shared master (``ControlMaster``) the forwarding would stay behind. Its
    end is open to this machine alone, whatever ``GatewayPorts`` says. Host keys are checked as ever.

    Args:
        route: where to.
        local: port on this machine.
        remote: port on the host.
        ask: whether somebody is there to type a password or a code.
    """
    settings = {
        "BatchMode": "no" if ask else "yes",
        "ConnectTimeout": str(CONNECT_SECONDS),
        "ControlMaster": "no",
        "ControlPath": "none",
        "ExitOnForwardFailure": "yes",
        "LogLevel": "INFO",
        "PermitLocalCommand": "no",
        "RemoteCommand": "none",
        "ServerAliveCountMax": "3",
        "ServerAliveInterval": str(KEEPALIVE_SECONDS),
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    forward = ["-L", f"127.0.0.1:{local}:127.0.0.1:{remote}"]
    return ["ssh", "-N", "-T", "-a", "-x", *options, *_jumps(route.via), *forward, "--", route.host]


def _jumps(via: Sequence[str]) -> list[str]:
    return ["-J", ",".join(via)] if via else []


def local_port_failure(lines: Sequence[str]) -> LlmenvError | None:
    """Return the failure of a forwarding whose local port was taken, or None if ssh's lines tell of another one."""
    told = [line for line in lines if _TAKEN.search(line)]
    if not told:
        return None
    return LlmenvError(
        f"a port on this machine that ssh was to listen at is taken: {told[0].strip()}",
        hint="name another one with --local-port; LocalForward lines of ~/.ssh/config count, too",
    )
