"""The HTTP client of a request: proxies, certificates and credentials, all given, none guessed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import rattler
from rattler.networking import AddHeadersMiddleware

from conda_llmenv.engines.credentials import Credentials, MemoryFile
from conda_llmenv.engines.options import ClientOptions


@contextlib.contextmanager
def open_client(options: ClientOptions, credentials: Credentials) -> Iterator[rattler.Client]:
    """Open a client; what it knows of secrets is gone when the context ends."""
    logins = credentials.logins()
    memory = MemoryFile(logins) if logins else None
    try:
        config = rattler.Config.from_toml(_toml(options, credentials, memory))
        with _certificates(options):
            client = rattler.Client.from_config(config, max_retries=options.max_retries)
        yield client
    finally:
        if memory is not None:
            memory.close()


@contextlib.contextmanager
def channel_client(options: ClientOptions, bases: Sequence[str]) -> Iterator[rattler.Client | None]:
    """Open a client for channel URLs; none is needed where all of them are folders."""
    if all(base.startswith("file:") for base in bases):
        yield None
        return
    with open_client(options, Credentials.of(bases)) as client:
        yield client


def closed_client() -> rattler.Client:
    """Return a client whose every request fails: for work that must not touch the network."""

    def refuse(host: str, path: str) -> dict[str, str] | None:
        raise ConnectionRefusedError(f"offline: {host}{path} was not asked for")

    return rattler.Client([AddHeadersMiddleware(refuse)])


def install_config(options: ClientOptions) -> rattler.Config:
    """Return the installer's settings: how many packages are fetched at once."""
    return rattler.Config.from_toml(f"[concurrency]\ndownloads = {options.downloads}\n")


def _toml(options: ClientOptions, credentials: Credentials, memory: MemoryFile | None) -> str:
    """Write the library's own configuration; JSON strings are TOML strings."""
    lines = [f"tls-no-verify = {str(options.ssl_verify is False).lower()}"]
    if memory is not None:
        lines.append(f"authentication-override-file = {json.dumps(memory.path)}")
    lines.append("[mirrors]")
    lines += [f"{json.dumps(clean)} = [{json.dumps(base)}]" for clean, base in credentials.mirrors().items()]
    lines.append("[proxy-config]")
    lines += [
        f"{scheme} = {json.dumps(url)}" for scheme, url in options.proxy_servers.items() if scheme in {"http", "https"}
    ]
    return "\n".join(lines)


@contextlib.contextmanager
def _certificates(options: ClientOptions) -> Iterator[None]:
    """Name the bundle while the client is made: the library reads it from the environment, then and only then."""
    path = options.ssl_verify if isinstance(options.ssl_verify, str) and options.ssl_verify != "truststore" else None
    if path is None:
        yield
        return
    name = "SSL_CERT_DIR" if Path(path).is_dir() else "SSL_CERT_FILE"
    before = os.environ.get(name)
    os.environ[name] = path
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
