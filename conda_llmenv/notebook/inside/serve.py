"""Finds and runs the Jupyter server of the interpreter at hand; its token comes through a pipe that ends it, too.

Used as ``serve.py find``, ``serve.py kernels`` and ``serve.py run NAME PORT [ARGUMENT]...``. Works from Python 3.8 on.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import signal
import sys
import threading
import time

GRACE_SECONDS = 15.0
"""How long a server may take to end its kernels and itself."""

NEEDED = ("jupyter_server", 2)
"""What all of them run on; 2.0 is the first in which one option decides about the token."""

SERVERS = (
    ("jupyterlab", 4, "jupyterlab.labapp", "LabApp"),
    ("nbclassic", 1, "nbclassic.notebookapp", "NotebookApp"),
    ("jupyter_server", 2, "jupyter_server.serverapp", "ServerApp"),
)
"""What brings a server, the best first: distribution, first version that runs on jupyter_server 2, module, class.

Notebook 7 requires JupyterLab, which then serves its page, too.
"""

OTHERS = ("notebook",)
"""What people may take for a server that could be used: Notebook 6 is one of its own."""


def version(distribution: str) -> str:
    """Return the version of a distribution, or an empty string where it is not there."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def is_from(found: str, major: int) -> bool:
    """Return whether a version is of this major release or a later one."""
    first = found.partition(".")[0]
    return first.isdecimal() and int(first) >= major


def find() -> dict[str, str]:
    """Return name and version of the best server that is there, or what is there and too old."""
    old = []
    for name, major, *_ in SERVERS:
        found = version(name)
        if is_from(found, major) and is_from(version(NEEDED[0]), NEEDED[1]):
            return {"name": name, "version": found}
        if found:
            old.append(f"{name} {found}")
    return {"old": ", ".join([*old, *(f"{name} {version(name)}" for name in OTHERS if version(name))])}


def kernels() -> list[str]:
    """Return the programs that the kernels start which a server of this interpreter shows."""
    from jupyter_client.kernelspec import KernelSpecManager

    found = KernelSpecManager().get_all_specs().values()
    return [kernel["spec"]["argv"][0] for kernel in found if kernel["spec"]["argv"]]


def options(application: str, port: str, token: str) -> list[str]:
    """Return what holds whatever the configuration says: this machine alone, that port, and the token as the only key.

    They are given to the server inside the process, where no other account can read them.
    """
    provider = "jupyter_server.auth.identity.PasswordIdentityProvider"
    held = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": "0",
        "ServerApp.sock": "",
        "ServerApp.base_url": "/",
        "ServerApp.certfile": "",
        "ServerApp.keyfile": "",
        "ServerApp.allow_remote_access": "False",
        "ServerApp.open_browser": "False",
        f"{application}.open_browser": "False",
        "ServerApp.identity_provider_class": provider,
        "IdentityProvider.token": token,
        "PasswordIdentityProvider.token": token,
        "PasswordIdentityProvider.hashed_password": "",
        "PasswordIdentityProvider.password_required": "False",
        "PasswordIdentityProvider.allow_password_change": "False",
        "KernelManager.ip": "127.0.0.1",
    }
    if os.geteuid() == 0:
        held["ServerApp.allow_root"] = "True"
    return [f"--{name}={value}" for name, value in held.items()]


def first_line(descriptor: int) -> str:
    """Return the first line of a pipe and leave the rest in it."""
    read = b""
    while not read.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            raise SystemExit("the pipe with the token was closed")
        read += byte
    return read[:-1].decode()


def end_with(descriptor: int) -> None:
    """End this process when nobody holds the other end of the pipe any more: first asked, then forced."""
    while os.read(descriptor, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def run(name: str, port: str, arguments: list[str]) -> None:
    """Run a server until it ends."""
    token = first_line(0)
    pipe = os.dup(0)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # os.devnull is no path to look at
        os.dup2(nothing.fileno(), 0)
    threading.Thread(target=end_with, args=(pipe,), daemon=True).start()
    path, application = next((path, application) for known, _, path, application in SERVERS if known == name)
    module = importlib.import_module(path)
    sys.argv = [name]  # what it would call itself in its messages
    launch = getattr(module, "main", None) or module.launch_new_instance
    launch([*arguments, *options(application, port, token)])


if __name__ == "__main__":
    if sys.argv[1] == "find":
        sys.stdout.write(json.dumps(find()))
    elif sys.argv[1] == "kernels":
        sys.stdout.write(json.dumps(kernels()))
    else:
        run(sys.argv[2], sys.argv[3], sys.argv[4:])
