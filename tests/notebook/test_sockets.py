"""What a process listens at, read from the system, against sockets that are really there."""

from __future__ import annotations

import os
import socket

import pytest

from conda_llmenv.errors import InputError
from conda_llmenv.notebook.sockets import can_be_seen, free_port, listening

pytestmark = pytest.mark.skipif(not can_be_seen(), reason="this system does not tell what a process listens at")


@pytest.mark.parametrize(
    ("family", "address", "local"),
    [
        (socket.AF_INET, "127.0.0.1", True),
        (socket.AF_INET, "0.0.0.0", False),  # noqa: S104  # the address that must be found out
        (socket.AF_INET, "127.9.8.7", True),
        (socket.AF_INET6, "::1", True),
        (socket.AF_INET6, "::", False),
    ],
)
def test_a_socket_is_found_with_its_address(family: int, address: str, local: bool) -> None:  # noqa: FBT001
    with socket.socket(family) as listener:
        try:
            listener.bind((address, 0))
        except OSError as error:
            pytest.skip(f"{address} cannot be used here: {error}")
        port = listener.getsockname()[1]
        assert port not in {place.port for place in listening(os.getpid())}
        listener.listen()
        found = [place for place in listening(os.getpid()) if place.port == port]
        assert [(place.address, place.is_local) for place in found] == [(address, local)]


def test_a_process_that_has_ended_listens_at_nothing() -> None:
    assert listening(2**22 + 1) == ()


def test_the_first_free_port_is_taken() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert free_port(None, port) > port
        with pytest.raises(InputError, match=f"port {port} is taken"):
            free_port(port, 8888)
