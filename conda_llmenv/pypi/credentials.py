"""Credentials inside requirement URLs, moved to where only the owner's processes can read them.

A URL with a password would reach git's argv, ``direct_url.json`` inside the environment and the plan. So the
password is taken out of the line; downloads find it in a private netrc file, git in an HTTP header set by its
environment (``GIT_CONFIG_COUNT``, git 2.31 and later; an ``insteadOf`` rule would put it back into the argv of git's
transport).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from conda_llmenv.model import PipRequirement
from conda_llmenv.pypi.sources import expand

_LOGIN = re.compile(
    r"(?P<scheme>(?:(?:git|hg|svn|bzr)\+)?https?://)(?P<user>[^/@:\s]+)(?::(?P<password>[^/@\s]*))?@(?P<host>[^/\s]+)"
)

EMPTY = '""'
"""An empty password in a netrc file."""


class Login(Struct, frozen=True):
    """A user and password (empty where the user is a token) for one host."""

    scheme: str
    host: str
    user: str
    password: str

    @property
    def header(self) -> str:
        """The HTTP header that logs in."""
        return "Authorization: Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


def without_login(line: str) -> str:
    """Return a requirement line with user and password taken out of its URL."""
    return _LOGIN.sub(r"\g<scheme>\g<host>", line)


def logins(requirements: Iterable[PipRequirement], environ: Mapping[str, str]) -> tuple[Login, ...]:
    """Return the logins in the URLs of requirements, ``${NAME}`` references filled in."""
    lines = (expand(one.text, environ) for one in requirements)
    return tuple(dict.fromkeys(_login(match) for line in lines for match in _LOGIN.finditer(line)))


def _login(match: re.Match[str]) -> Login:
    scheme = match["scheme"].rpartition("+")[2]
    return Login(scheme, match["host"], unquote(match["user"]), unquote(match["password"] or ""))


def netrc_lines(found: Iterable[Login], environ: Mapping[str, str]) -> list[str]:
    """Return a netrc text with the logins, and behind them the user's own entries, which keep working."""
    known = Path(environ.get("NETRC") or Path(environ.get("HOME") or Path.home()) / ".netrc")
    own = [known.read_text(encoding="utf-8")] if known.is_file() else []
    return [f"machine {_host_name(one)} login {one.user} password {one.password or EMPTY}" for one in found] + own


def _host_name(login: Login) -> str:
    return re.sub(r":\d+$", "", login.host)


def login_variables(found: Iterable[Login], environ: Mapping[str, str], netrc: Path) -> dict[str, str]:
    """Return the variables that make downloads use a netrc file and git the logins, beside the user's git settings."""
    start = int(environ.get("GIT_CONFIG_COUNT") or 0)
    variables = {"NETRC": str(netrc)}
    for number, one in enumerate(found, start=start):
        variables[f"GIT_CONFIG_KEY_{number}"] = f"http.{one.scheme}{one.host}/.extraHeader"
        variables[f"GIT_CONFIG_VALUE_{number}"] = one.header
        variables["GIT_CONFIG_COUNT"] = str(number + 1)
    return variables
