"""Credentials in channel URLs: told apart from the addresses, so that the library never writes one to disk.

Given a URL with a token, py-rattler puts it into ``conda-meta`` and its repodata cache. So it is given clean URLs, and
the secrets through its two hooks for them: a conda token (``/t/TOKEN/``) as the mirror of the clean address, user and
password as an entry of an authentication file that lives in memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.engines.options import WITH_CONDA
from conda_llmenv.errors import InputError
from conda_llmenv.model import Record
from conda_llmenv.redact import strip


class Credentials(Struct, frozen=True):
    """What it takes to reach some channels.

    Attributes:
        secret_bases: clean channel URL → the URL as given, for those that carry a secret.
        bases: all channel URLs without their secrets.
    """

    secret_bases: tuple[tuple[str, str], ...] = ()
    bases: tuple[str, ...] = ()

    @classmethod
    def of(cls, bases: Iterable[str]) -> Credentials:
        """Return the credentials in channel URLs."""
        pairs = [(strip(base), base) for base in dict.fromkeys(bases)]
        secret = tuple((clean, base) for clean, base in pairs if clean != base)
        return cls(secret, tuple(clean for clean, _ in pairs))

    def restored(self, record: Record) -> Record:
        """Return a record of a clean channel with the URLs that can be fetched."""
        for clean, base in self.secret_bases:
            if record.url.startswith(f"{clean}/"):
                return replace(record, url=base + record.url[len(clean) :], channel=base)
        return record

    def mirrors(self) -> dict[str, str]:
        """Return clean channel URL → URL with its token and without user and password."""
        found = {}
        for clean, base in self.secret_bases:
            parts = urlsplit(base)
            if "/t/" in parts.path:
                found[f"{clean}/"] = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) + "/"
        return found

    def logins(self) -> dict[str, dict[str, dict[str, str]]]:
        """Return host → login in the form of rattler's authentication file.

        Raises:
            InputError: two channels of one host want different logins, of which the file can hold one.
        """
        found: dict[str, dict[str, dict[str, str]]] = {}
        for _, base in self.secret_bases:
            parts = urlsplit(base)
            if parts.hostname and parts.username:
                login = {"username": unquote(parts.username), "password": unquote(parts.password or "")}
                if found.setdefault(parts.hostname, {"BasicHTTP": login}) != {"BasicHTTP": login}:
                    raise InputError(
                        f"two channels on {parts.hostname} want different logins; this engine can use one a host",
                        hint=f"give both channels one login; or, {WITH_CONDA}",
                    )
        return found

    def hosts(self) -> tuple[str, ...]:
        """Return the hosts of the channels, each once."""
        hosts = (urlsplit(base).hostname for base in self.bases)
        return tuple(dict.fromkeys(host for host in hosts if host))


def without_secrets(record: Record) -> Record:
    """Return a record as it may be written to disk."""
    return replace(record, url=strip(record.url), channel=strip(record.channel))


def base_of(record: Record) -> str:
    """Return the channel URL, credentials included, that a record's package is fetched from."""
    return record.url.removesuffix(f"/{record.subdir}/{record.file_name}")


class MemoryFile:
    """A file that exists only for this process; its path can be opened like any other."""

    def __init__(self, content: object) -> None:
        self._number = os.memfd_create("llmenv", os.MFD_CLOEXEC)
        os.write(self._number, json.dumps(content).encode())
        self.path = f"/proc/self/fd/{self._number}"

    def close(self) -> None:
        """Forget the content."""
        os.close(self._number)
