"""Certificates and proxies reach the client as configured, and leave no trace in the process."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conda_llmenv.errors import ChannelUnavailable
from tests.engines.support import Recorder, channel, engine, named, solve_request
from tests.http_channel import ChannelServer


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Keep the terminal clean."""


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """An authority nobody knows; beside it ``server.pem``, the certificate it gave to localhost, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("making a certificate needs openssl")
    (tmp_path / "names").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    for line in (
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority",
        "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost",
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.crt -days 2 -extfile names",
    ):
        subprocess.run(["openssl", *line.split()], cwd=tmp_path, check=True, capture_output=True)
    pair = (tmp_path / "server.key").read_text() + (tmp_path / "server.crt").read_text()
    (tmp_path / "server.pem").write_text(pair)
    return tmp_path / "ca.pem"


@pytest.fixture
def private_url(authority: Path, offline_channel: Path) -> Iterator[str]:
    """A channel over HTTPS with that certificate."""
    handler = functools.partial(Quiet, directory=str(offline_channel))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.with_name("server.pem"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"https://localhost:{server.server_address[1]}/conda-forge"
        server.shutdown()
        thread.join()


def test_an_unknown_authority_is_refused_with_the_setting_to_change(private_url: str) -> None:
    """Behind a company's proxy this is the first message anybody sees."""
    with pytest.raises(ChannelUnavailable, match="its certificate is not known here") as caught:
        engine().solve(solve_request("gate-c", channels=(channel(private_url),)), Recorder())
    assert "ssl_verify" in caught.value.hint


@pytest.mark.parametrize("verify", ["bundle", "off"])
def test_ssl_verify_is_honoured(verify: str, private_url: str, authority: Path) -> None:
    """`ssl_verify: /path` trusts that authority, `false` anybody; the process's own environment stays as it was."""
    before = dict(os.environ)
    one = engine(ssl_verify=str(authority) if verify == "bundle" else False)
    solution = one.solve(solve_request("gate-c", channels=(channel(private_url),)), Recorder())
    assert named(solution) == {"gate-c": "2.0"}
    assert dict(os.environ) == before


def test_a_proxy_is_used(http_channel: ChannelServer) -> None:
    """`proxy_servers` sends requests through the proxy, which is asked for the whole address."""
    one = engine(proxy_servers={"http": http_channel.host})
    with pytest.raises(ChannelUnavailable):
        one.solve(solve_request("gate-c", channels=(channel("http://channel.invalid/x"),)), Recorder())
    assert http_channel.requests
