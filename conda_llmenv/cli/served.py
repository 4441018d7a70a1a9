"""What ``llmenv notebook`` shows of a server: where it is, how to get there, and its log."""

from __future__ import annotations

import os
import re
import shlex
import stat
import sys
from contextlib import suppress
from pathlib import Path

from conda_llmenv import process
from conda_llmenv.cli import console
from conda_llmenv.cli.foreground import say
from conda_llmenv.errors import InputError
from conda_llmenv.notebook.found import FoundServer, find_elsewhere, find_server, has_kernel
from conda_llmenv.notebook.ssh_lines import Route, laptop_line
from conda_llmenv.page.taming import tamed

_SERIOUS = re.compile(r"\[[WEC] ")
"""How a line of Jupyter's log begins that is a warning or worse."""


class Log:
    """The server's log on stderr: while it starts only what is serious, then all of it."""

    def __init__(self, *, verbose: bool) -> None:
        self._is_open = verbose

    def open(self) -> None:
        """Show everything from now on."""
        self._is_open = True

    def line(self, text: str) -> None:
        """Take a line of the server's, from its reader thread."""
        if self._is_open or _SERIOUS.match(text):
            say(tamed(text))


def choose_server(prefix: Path) -> tuple[FoundServer, dict[str, str]]:
    """Return the environment's own server, or one elsewhere that knows the environment's kernel, and its variables.

    Raises:
        InputError: there is none; what can be installed, or registered, is in the hint.
    """
    from conda_llmenv.cli.wiring import user_config
    from conda_llmenv.prefix.activated import activated_environ

    activated = activated_environ(prefix, os.environ, process.run)
    own = find_server(prefix / "bin" / "python", activated.environ, process.run)
    if own.name:
        console.warn_all(activated.notices)
        return own, {**activated.environ, "PYTHONNOUSERSITE": "1"}
    other = find_elsewhere(prefix, os.environ, user_config().root_prefix, process.run)
    if other is not None and has_kernel(other, prefix, os.environ, process.run):
        return other, dict(os.environ)
    raise _missing(prefix, own, other)


def _missing(prefix: Path, own: FoundServer, other: FoundServer | None) -> InputError:
    """Return the failure of an environment without a server; a kernel is enough where a server is elsewhere."""
    place = shlex.quote(str(prefix))
    if own.problem:
        return InputError(
            f"the Python of {prefix} cannot be asked for its Jupyter server",
            details=[tamed(own.problem)],
            hint=f"see what is wrong with `llmenv verify -p {place}`",
        )
    details = [f"{own.old} is there, which is too old"] if own.old else []
    install = f"install one: {_install_command(prefix)}"
    if other is None:
        return InputError(f"there is no Jupyter server in {prefix} or on PATH", details=details, hint=install)
    return InputError(
        f"{prefix} has no Jupyter server, and {other.title} in {other.python.parent.parent} knows no kernel of it",
        details=details,
        hint=f"register one: llmenv kernel add -p {place}\n      or {install}",
    )


def _install_command(prefix: Path) -> str:
    """Return how to install a server with the tool that the environment was made with."""
    if any((prefix / "conda-meta").glob("*.json")):
        return shlex.join(["conda", "install", "-p", str(prefix), "-c", "conda-forge", "jupyterlab"])
    return shlex.join([str(prefix / "bin" / "python"), "-m", "pip", "install", "jupyterlab"])


def tell(
    prefix: Path, found: FoundServer, route: Route, token: str, *, port: int, local: int | None, pid: int, as_json: bool
) -> None:
    """Print how to reach the server; the token stands apart from every line that is to be typed."""
    line = laptop_line(route, local or port, port)
    url = f"http://127.0.0.1:{local or port}{found.page}"
    if as_json:
        console.payload("notebook", {
            "prefix": str(prefix), "server": found.name, "version": found.version, "python": str(found.python),
            "pid": pid, "address": "127.0.0.1", "port": port, "local_port": local or port, "host": route.host,
            "via": list(route.via), "ssh": line, "url": url, "token": token,
        })  # fmt: skip
        return
    console.fact("server", f"{found.title}, listening on 127.0.0.1:{port} alone, for {prefix}")
    console.fact("laptop", line)
    console.fact("open", url)
    console.fact("token", _shown(token))
    console.fact("stop", "Ctrl-C")
    for note in route.notes:
        say(f"note: {note}")
    if local is None:
        say(f"note: if your laptop uses port {port} already, stop and add --local-port with another one")
    sys.stdout.flush()


def _shown(token: str) -> str:
    """Return the token, or where it is if stdout is a file that others may read, such as that of a batch job."""
    with suppress(OSError, ValueError):
        mode = os.fstat(sys.stdout.fileno()).st_mode
        if stat.S_ISREG(mode) and mode & (stat.S_IRGRP | stat.S_IROTH):
            return "not shown, since others may read this file; `jupyter server list` or --json tells it"
    return token
