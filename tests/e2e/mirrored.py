"""A mirror of the offline channels, the ways to configure it, and a trap for requests that leave for another host."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.http_channel import ChannelServer

LAYOUT = {
    "anaconda/cloud/conda-forge": "conda-forge",
    "anaconda/cloud/pytorch": "other",
    "anaconda/cloud/nvidia": "other",
    "anaconda/cloud/nvidia/label/cuda-12.1.0": "other",
    "anaconda/pkgs/main": "other",
    "anaconda/pkgs/r": "conda-forge",
}
"""Where the mirror has which of the two offline channels."""

UNIVERSITY = """\
channels:
  - defaults
show_channel_urls: true
default_channels:
  - HOST/anaconda/pkgs/main
  - HOST/anaconda/pkgs/r
custom_channels:
  conda-forge: HOST/anaconda/cloud
  pytorch: HOST/anaconda/cloud/
  nvidia: HOST/anaconda/cloud
"""
ALIAS = """\
channel_alias: HOST/anaconda/cloud
default_channels:
  - HOST/anaconda/pkgs/main
  - HOST/anaconda/pkgs/r
"""
STYLES = {
    "university": UNIVERSITY,
    "alias": ALIAS,
    "alias, moved": f"{ALIAS}migrated_channel_aliases: [https://conda.anaconda.org]\n"
    "migrated_custom_channels: {pkgs/main: https://repo.anaconda.com}\n"
    "custom_channels: {pkgs/main: HOST/anaconda}\n",
    "multichannel": "custom_multichannels:\n  defaults: [HOST/anaconda/pkgs/main, HOST/anaconda/pkgs/r]\n"
    "channel_alias: HOST/anaconda/cloud\nchannels: [conda-forge]\n",
    "addresses": f"{ALIAS}channels:\n  - HOST/anaconda/cloud/conda-forge/\n  - HOST/anaconda/pkgs/main/\n",
    "allowed only": f"{ALIAS}allowlist_channels: [conda-forge, defaults, pytorch, nvidia, nvidia/label/cuda-12.1.0]\n",
}
LOGIN = "me:s3cr3t-canary"


@dataclass
class Trap:
    """What every request to another host runs into: it is set as the proxy."""

    port: int
    connections: list[bytes] = field(default_factory=list)

    @property
    def environ(self) -> dict[str, str]:
        """The variables that lead every request here that is not for this machine."""
        names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY")
        return {**dict.fromkeys(names, f"http://127.0.0.1:{self.port}"), "NO_PROXY": "127.0.0.1"}


@contextlib.contextmanager
def set_trap() -> Iterator[Trap]:
    """Listen for connections that should not be made."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        caught = Trap(listener.getsockname()[1])

        def catch() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        caught.connections.append(connection.recv(200))

        thread = threading.Thread(target=catch, daemon=True)
        thread.start()
        yield caught
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def lay_out(offline_channel: Path, root: Path) -> Path:
    """Put the offline channels into the folders of a mirror."""
    for path, channel in LAYOUT.items():
        shutil.copytree(offline_channel / channel, root / path, copy_function=_link, dirs_exist_ok=True)
    return root


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def configure(home: Path, server: ChannelServer, text: str) -> None:
    """Write a person's .condarc for the mirror."""
    host = server.host if server.login is None else server.host.replace("//", f"//{server.login}@")
    (home / ".condarc").write_text(text.replace("HOST", host))
