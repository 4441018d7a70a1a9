"""Logins for the library beside those it finds by itself.

It looks in the file that ``RATTLER_AUTH_FILE`` names, the keyring, ``~/.rattler/credentials.json`` and ``.netrc``, in
this order. A file of our own in the first place adds what stands in channel URLs, and netrc's ``default`` entry, which
conda honours and the library does not; the other places stay in use.
"""

from __future__ import annotations

import json
import netrc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conda_llmenv.engines.credentials import Credentials

AUTH_FILE = "RATTLER_AUTH_FILE"
STORE = Path(".rattler") / "credentials.json"
"""The library's own store below the home folder."""


def logins(credentials: Credentials, environ: Mapping[str, str], home: Path) -> dict[str, Any]:
    """Return host → login, in the form of the library's files; empty where the library needs no help.

    Args:
        credentials: of the channels.
        environ: the environment.
        home: the home folder.
    """
    given: dict[str, Any] = dict(credentials.logins())
    file = environ.get(AUTH_FILE)
    named = _entries(Path(file)) if file else {}
    stored = _entries(home / STORE)
    anyone = _default_login(environ, home)
    if anyone is not None:
        login, machines = anyone
        unknown = [host for host in credentials.hosts() if host not in {*given, *named, *stored, *machines}]
        given |= dict.fromkeys(unknown, login)
    return {**named, **given} if given else {}


def _entries(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):  # the library says what is wrong with its files
        return {}
    return found if isinstance(found, dict) else {}


def _default_login(environ: Mapping[str, str], home: Path) -> tuple[dict[str, Any], set[str]] | None:
    """Return the login of netrc for any machine it does not name, and those that it names."""
    named = environ.get("NETRC")
    for path in [Path(named)] if named else [home / ".netrc", home / "_netrc"]:
        try:
            found = netrc.netrc(path)
        except (OSError, netrc.NetrcParseError, UnicodeDecodeError):  # as the library that conda uses
            continue
        entry = found.hosts.get("default")
        if entry is None or not entry[0]:
            return None
        return {"BasicHTTP": {"username": entry[0], "password": entry[2] or ""}}, set(found.hosts)
    return None
