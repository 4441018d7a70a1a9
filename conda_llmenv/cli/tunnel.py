"""``llmenv kernel tunnel``: a way to a Jupyter server on another host that is kept alive."""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import TYPE_CHECKING

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.foreground import say, say_failure, until_stopped
from conda_llmenv.cli.options import json_option
from conda_llmenv.errors import InputError, LlmenvError

if TYPE_CHECKING:
    from conda_llmenv.notebook.ssh_lines import Route

PORT = click.IntRange(1, 65535)

FIRST_PORT = 8888
"""Jupyter's own."""

LOWEST_PORT = 1024
"""Below it only root may listen."""


@click.command()
@click.option("--host", required=True, metavar="[USER@]HOST", help="Where `llmenv notebook` runs, as ssh is told.")
@click.option("--via", metavar="LOGIN[,LOGIN2]", help="Login node that the host is reached through.")
@click.option("--port", type=PORT, default=FIRST_PORT, metavar="N", help="The server's port there; default: 8888.")
@click.option("--local-port", type=PORT, metavar="N", help="Port here; by default the same, or the next free one.")
@click.option("--attempts", type=click.IntRange(min=0), default=20, metavar="N", help="How often in a row to connect "
              "again after the tunnel broke; default: 20.")  # fmt: skip
@click.option("--print", "printed", is_flag=True, help="Print the ssh command and run nothing.")
@json_option
def tunnel(
    host: str,
    via: str | None,
    *,
    port: int,
    local_port: int | None,
    attempts: int,
    printed: bool,
    as_json: bool,
) -> int:
    """Print or keep the SSH tunnel to a Jupyter server on another host.

    Run it on the laptop. It goes over the system's OpenSSH with your keys, agent, ~/.ssh/config and known hosts, says
    when the tunnel breaks and when it is back, and ends with ssh's own reason and exit code 1. Ctrl-C stops it.
    """
    from conda_llmenv.notebook.sockets import free_port
    from conda_llmenv.notebook.ssh_lines import Route, tunnel_argv
    from conda_llmenv.notebook.tunnel import Tunnel
    from conda_llmenv.remote.destination import check_destination

    route = Route(check_destination(host), tuple(map(check_destination, via.split(","))) if via is not None else ())
    local = free_port(local_port, port if port >= LOWEST_PORT else FIRST_PORT)
    ask = console.is_terminal(sys.stdin) and not as_json
    if printed:
        _print(route, local, port, shlex.join(tunnel_argv(route, local, port, ask=True)), as_json=as_json)
        return 0
    if shutil.which("ssh") is None:
        raise InputError("ssh is not on PATH", hint="install OpenSSH's client")
    watcher = _Told(route, local, port, as_json=as_json)
    kept = Tunnel(route, local, port, ask=ask, attempts=attempts, watcher=watcher)
    try:
        return until_stopped(kept.keep, "stopped; the tunnel is gone")
    except LlmenvError as failure:
        if not (as_json and watcher.has_printed):
            raise
        say_failure(failure)  # the one document has been printed
        return failure.exit_code


def _print(route: Route, local: int, remote: int, line: str, *, as_json: bool) -> None:
    url = f"http://127.0.0.1:{local}/"
    if as_json:
        console.payload("kernel tunnel", {
            "host": route.host, "via": list(route.via), "port": remote, "local_port": local, "ssh": line, "url": url,
        })  # fmt: skip
    else:
        console.fact("tunnel", line)
        console.fact("open", url)
    sys.stdout.flush()


class _Told:
    """Says what becomes of a tunnel: the address on stdout, the rest on stderr."""

    def __init__(self, route: Route, local: int, remote: int, *, as_json: bool) -> None:
        self._route = route
        self._local = local
        self._remote = remote
        self._as_json = as_json
        self._refused = ""
        self.has_printed = False

    def up(self, *, again: bool) -> None:
        """Print the address once; say when the tunnel is back, and whether a server answers behind it."""
        from conda_llmenv.notebook.ssh_lines import tunnel_argv
        from conda_llmenv.notebook.tunnel import server_answers

        self._refused = ""
        if again:
            say(f"the tunnel to {self._route.host} is back")
        else:
            line = shlex.join(tunnel_argv(self._route, self._local, self._remote, ask=True))
            _print(self._route, self._local, self._remote, line, as_json=self._as_json)
            self.has_printed = True
        if server_answers(self._local):
            say("a Jupyter server answers; its token was shown where it was started")

    def broken(self, reason: str, attempt: int, pause: float) -> None:
        """Say why it broke and when it is tried again."""
        say(f"the tunnel broke: {reason}; attempt {attempt} to connect again in {pause:g} s")

    def refused(self, reason: str) -> None:
        """Say why nothing is reached behind the tunnel, once for each reason."""
        if reason != self._refused:
            self._refused = reason
            say(
                f"nothing answers at port {self._remote} of {self._route.host}: {reason}; start `llmenv notebook` "
                "there, or give its port with --port"
            )
