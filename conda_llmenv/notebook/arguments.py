"""Options of a Jupyter server that a person may not give: what they set is held, or stands in the process list."""

from __future__ import annotations

from collections.abc import Sequence

from conda_llmenv.errors import InputError

HELD = {
    "ip": "the server listens on 127.0.0.1 alone",
    "port": "give --port before the `--`",
    "port_retries": "give --port before the `--`",
    "sock": "the server listens on 127.0.0.1 alone",
    "base_url": "the printed address has none",
    "certfile": "ssh encrypts the way here",
    "keyfile": "ssh encrypts the way here",
    "allow_remote_access": "the server listens on 127.0.0.1 alone",
    "identity_provider_class": "the token is the only key",
    "token": "every process list would show it; a new one is made each time",
    "password": "the token is the only key",
    "hashed_password": "the token is the only key",
    "password_required": "the token is the only key",
    "allow_password_change": "the token is the only key",
    "open_browser": "no browser is opened here",
}
"""Traits and aliases of Jupyter's, and why they are not taken."""


def check_arguments(arguments: Sequence[str]) -> None:
    """Refuse what would open the server to others or show its token.

    Raises:
        InputError: the first such option, with the reason.
    """
    for argument in arguments:
        name = argument.lstrip("-").partition("=")[0].rpartition(".")[2].replace("-", "_")
        if argument.startswith("-") and name in HELD:
            shown = argument.partition("=")[0]
            raise InputError(f"{shown} cannot be given to the server: {HELD[name]}", hint="leave it out")
