"""Real ssh servers on the loopback interface, with keys, configuration and files of their own."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin:/usr/bin")
SSH = shutil.which("ssh")


def free_port() -> int:
    """Return a port that nobody listens at now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Servers:
    """Some ssh servers, and a client configuration that knows them by name.

    Args:
        folder: where keys, configuration and logs go.
        environ: variables of every session on them.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        folder.mkdir()
        self.folder = folder
        self.environ = dict(environ)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.ports: dict[str, int] = {}
        self.config = folder / "config"
        self.known = folder / "known_hosts"
        self.bin = folder / "bin"
        self.bin.mkdir()
        wrapper = self.bin / "ssh"  # OpenSSH asks the password database for the home folder, not HOME
        wrapper.write_text(f'#!/bin/sh\nexec {SSH} -F {shlex.quote(str(self.config))} "$@"\n')
        wrapper.chmod(0o755)
        self.key = self.make_key("client")
        (folder / "authorized_keys").write_text(self.key.with_suffix(".pub").read_text())

    def make_key(self, name: str) -> Path:
        """Make a key pair and return the path of the private one."""
        path = self.folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
        return path

    def start(
        self,
        name: str,
        *server: str,
        client: Sequence[str] = (),
        address: str = "127.0.0.1",
        within: Sequence[str] = (),
    ) -> None:
        """Start a server.

        Args:
            name: what the client knows it by.
            server: lines of its configuration, before those that are there anyway; the first of a kind counts.
            client: lines of the client's, likewise.
            address: where it listens.
            within: a command that runs others in another network.
        """
        key = self.folder / f"host_{name}"
        if not key.exists():
            self.make_key(key.name)
        port = self.ports.setdefault(name, free_port())
        lines = [
            *server,
            f"Port {port}",
            f"ListenAddress {address}",
            f"HostKey {key}",
            f"AuthorizedKeysFile {self.folder / 'authorized_keys'}",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
            "PidFile none",
            "SetEnv " + " ".join(f"{variable}={value}" for variable, value in self.environ.items()),
        ]
        config = self.folder / f"sshd_{name}"
        config.write_text("\n".join(lines) + "\n")
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # where sshd changes its root before a login; root's servers insist
        path = self.folder / f"{name}.log"
        with path.open("wb") as log:
            self.running[name] = subprocess.Popen([*within, str(SSHD), "-D", "-e", "-f", str(config)], stderr=log)
        _wait_for("Server listening", path)
        kind, public = key.with_suffix(".pub").read_text().split()[:2]
        with self.known.open("a") as known:
            known.write(f"[{address}]:{port} {kind} {public}\n")
        with self.config.open("a") as written:
            written.write(self._client(name, port, client, address))

    def stop(self, name: str) -> None:
        """Stop a server; connections that it has accepted go on."""
        self.running[name].terminate()
        self.running.pop(name).wait()

    def close(self) -> None:
        """Stop all servers."""
        for name in list(self.running):
            self.stop(name)

    def _client(self, name: str, port: int, client: Sequence[str], address: str) -> str:
        lines = [
            f"Host {name}",
            *client,
            f"HostName {address}",
            f"Port {port}",
            f"User {getpass.getuser()}",
            f"IdentityFile {self.key}",
            "IdentitiesOnly yes",
            f"UserKnownHostsFile {self.known}",
            "GlobalKnownHostsFile /dev/null",
        ]
        return "\n    ".join(lines) + "\n"


def _wait_for(text: str, log: Path) -> None:
    deadline = time.monotonic() + 10
    while text not in (told := log.read_text(encoding="utf-8")):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no ssh server: {told}")
        time.sleep(0.02)
