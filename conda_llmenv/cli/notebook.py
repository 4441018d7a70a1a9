"""``llmenv notebook``: an environment's Jupyter server, for this machine alone, and the way to it from a laptop."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conda_llmenv.cli.foreground import say, say_failure, until_stopped
from conda_llmenv.cli.options import json_option, target_options

if TYPE_CHECKING:
    from conda_llmenv.notebook.found import FoundServer
    from conda_llmenv.notebook.server import Server
    from conda_llmenv.notebook.ssh_lines import Route

PORT = click.IntRange(1, 65535)

FIRST_PORT = 8888
"""Jupyter's own; the next free one is taken where it is not."""

TRIES = 3
"""How often another port is tried when some program took the free one meanwhile."""

TOKEN_BYTES = 24


@click.command()
@target_options
@click.option("--port", type=PORT, metavar="N", help="Port here; by default the first free one from 8888 on.")
@click.option("--local-port", type=PORT, metavar="N", help="Port on the laptop; by default the same.")
@click.option("--host", metavar="NAME", help="What your laptop calls this machine; [USER@]NAME.")
@click.option("--via", metavar="LOGIN[,LOGIN2]", help="Login node that your laptop reaches this machine through.")
@click.option("-v", "--verbose", is_flag=True, help="Show the server's whole log.")
@json_option
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTION OF THE SERVER...]")
@click.pass_context
def notebook(
    context: click.Context,
    /,
    name: str | None,
    prefix: str | None,
    arguments: tuple[str, ...],
    *,
    port: int | None,
    **options: Any,
) -> int:
    """Run an environment's Jupyter server, for a browser on your laptop.

    Run it on the host with the GPU. It listens on 127.0.0.1 alone, wants a token, and prints the one line to type on
    the laptop. Ctrl-C stops it with its kernels. The exit code is 0 when it was stopped so or from the browser, 1 when
    it ended by itself.
    """
    from conda_llmenv.cli.kernel_tools import environment
    from conda_llmenv.notebook.arguments import check_arguments

    if arguments and "--" not in context.obj:
        raise click.UsageError(
            f"{arguments[0]!r} is no option; name the environment with -n, and the server's after --"
        )
    check_arguments(arguments)
    target = environment(name, prefix)
    route = _route(options["host"], options["via"])
    return _Run(target, arguments, route, **options).run(port)


def _route(host: str | None, via: str | None) -> Route:
    """Return how the laptop reaches this machine, from what the person says and what the variables tell."""
    import pwd
    import socket

    from conda_llmenv.notebook.ssh_lines import route_here
    from conda_llmenv.remote.destination import check_destination

    logins = tuple(map(check_destination, via.split(","))) if via is not None else ()
    if host is not None:
        check_destination(host)
    user = pwd.getpwuid(os.geteuid()).pw_name
    return route_here(os.environ, socket.gethostname(), user, host=host, via=logins)


class _Run:
    """One server, from its start to its end."""

    def __init__(
        self,
        prefix: Path,
        arguments: Sequence[str],
        route: Route,
        *,
        local_port: int | None,
        verbose: bool,
        as_json: bool,
        **_unused: Any,
    ) -> None:
        import secrets

        from conda_llmenv.cli.served import Log

        self._prefix = prefix
        self._arguments = arguments
        self._route = route
        self._local_port = local_port
        self._as_json = as_json
        self._token = secrets.token_hex(TOKEN_BYTES)
        self._log = Log(verbose=verbose)

    def run(self, port: int | None) -> int:
        """Serve until the server ends or somebody ends it."""
        return until_stopped(lambda: self._serve(port), "stopped; the server and its kernels are gone")

    def _serve(self, port: int | None) -> int:
        from conda_llmenv.cli.served import choose_server

        found, environ = choose_server(self._prefix)
        server, taken = self._start(found, environ, port)
        try:
            self._tell(found, taken, server.pid)
            self._log.open()
            code = server.wait()
        finally:
            server.stop()
        if not code:
            say("the server was shut down")
        elif self._as_json:  # the one document has been printed
            say_failure(server.ended())
        else:
            raise server.ended()
        return 1 if code else 0

    def _start(self, found: FoundServer, environ: dict[str, str], asked: int | None) -> tuple[Server, int]:
        """Start the server at the port that was asked for, or at a free one; try the next when somebody was faster."""
        from conda_llmenv.notebook.server import Server, ServerFailed
        from conda_llmenv.notebook.sockets import free_port, is_free

        first = FIRST_PORT
        for attempt in range(1, TRIES + 1):
            port = free_port(asked, first)
            server = Server(
                found,
                port=port,
                token=self._token,
                arguments=self._arguments,
                environ=environ,
                on_line=self._log.line,
            )
            try:
                server.wait_until_ready()
            except BaseException as error:
                server.stop()
                if asked or attempt == TRIES or not isinstance(error, ServerFailed) or is_free(port):
                    raise
                first = port + 1
            else:
                return server, port
        raise AssertionError("the last attempt returns or raises")

    def _tell(self, found: FoundServer, port: int, pid: int) -> None:
        from conda_llmenv.cli.served import tell

        tell(
            self._prefix, found, self._route, self._token, port=port, local=self._local_port, pid=pid,
            as_json=self._as_json,
        )  # fmt: skip
