"""The HTTP client of a request: proxies, certificates and credentials, all given, none guessed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import rattler
from rattler.networking import AddHeadersMiddleware

from conda_llmenv.engines.credentials import Credentials, MemoryFile
from conda_llmenv.engines.leaving import leave_in_order
from conda_llmenv.engines.options import ClientOptions
from conda_llmenv.engines.rattler.logins import AUTH_FILE, logins
from conda_llmenv.engines.rattler.proxies import choose


@contextlib.contextmanager
def open_client(
    options: ClientOptions, credentials: Credentials, *, seconds: int | None = None
) -> Iterator[rattler.Client]:
    """Open a client; what it knows of secrets is gone when the context ends.

    Args:
        options: how to reach channels.
        credentials: of the channels that will be asked.
        seconds: the longest time for one request with its whole answer; None for no limit.
    """
    found = logins(credentials, os.environ, Path.home())
    memory = MemoryFile(found) if found else None
    try:
        config = rattler.Config.from_toml(_toml(options, credentials))
        variables = _certificates(options) | ({AUTH_FILE: memory.path} if memory is not None else {})
        with _environment(variables):
            client = rattler.Client.from_config(config, max_retries=options.max_retries, timeout=seconds)
        yield client
    finally:
        if memory is not None:
            memory.close()


@contextlib.contextmanager
def channel_client(options: ClientOptions, bases: Sequence[str]) -> Iterator[rattler.Client | None]:
    """Open a client for channel URLs; none is needed where all of them are folders."""
    leave_in_order()
    if all(base.startswith("file:") for base in bases):
        yield None
        return
    with open_client(options, Credentials.of(bases)) as client:
        yield client


def closed_client() -> rattler.Client:
    """Return a client whose every request fails: for work that must not touch the network."""

    def refuse(host: str, path: str) -> dict[str, str] | None:
        """Fail where the headers of a request are made, before anything is sent."""
        raise ConnectionRefusedError(f"offline: {host}{path} was not asked for")

    leave_in_order()
    return rattler.Client([AddHeadersMiddleware(refuse)])


def install_config(options: ClientOptions) -> rattler.Config:
    """Return the installer's settings: how many packages are fetched at once."""
    return rattler.Config.from_toml(f"[concurrency]\ndownloads = {options.downloads}\n")


def _toml(options: ClientOptions, credentials: Credentials) -> str:
    """Write the library's own configuration; JSON strings are TOML strings."""
    no_proxy = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    proxies = choose(options.proxy_servers, credentials.bases, no_proxy)
    lines = [f"tls-no-verify = {str(options.ssl_verify is False).lower()}", "[mirrors]"]
    lines += [f"{json.dumps(clean)} = [{json.dumps(base)}]" for clean, base in credentials.mirrors().items()]
    lines.append("[proxy-config]")
    lines += [f"{scheme} = {json.dumps(url)}" for scheme, url in proxies.servers.items()]
    if proxies.direct:
        lines.append(f"non-proxy-hosts = {json.dumps(proxies.direct)}")
    return "\n".join(lines)


def _certificates(options: ClientOptions) -> dict[str, str]:
    """Return the variable that names a bundle or a folder of certificates."""
    path = options.ssl_verify
    if not isinstance(path, str) or path == "truststore":  # the library's own default is the system's store
        return {}
    return {"SSL_CERT_DIR" if Path(path).is_dir() else "SSL_CERT_FILE": path}


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables while the client is made: the library reads them then, and only then."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
