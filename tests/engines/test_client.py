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

from conda_llmenv.engines.rattler.proxies import Proxies, choose
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


@pytest.mark.parametrize(
    ("configured", "servers", "direct"),
    [
        ({}, {}, ()),
        ({"http": "http://p:1"}, {"http": "http://p:1"}, ()),
        ({"all": "http://u:w@p:1"}, {"http": "http://u:w@p:1", "https": "http://u:w@p:1"}, ()),
        ({"all": "http://p:1", "https": "http://q:1"}, {"http": "http://p:1", "https": "http://q:1"}, ()),
        ({"https": "p:8080"}, {"https": "http://p:8080"}, ()),
        ({"https://a.example": "http://p:1"}, {"https": "http://p:1"}, ("b.example",)),
        ({"all://b.example": "http://p:1"}, {"https": "http://p:1"}, ("a.example",)),
        ({"https": "http://p:1", "https://b.example": ""}, {"https": "http://p:1"}, ("b.example",)),
        ({"https://elsewhere.example": "http://p:1"}, {}, ()),
        ({"https": ""}, {}, ()),
    ],
)
def test_proxies_of_schemes_and_hosts(
    configured: dict[str, str], servers: dict[str, str], direct: tuple[str, ...]
) -> None:
    """Conda's four kinds of keys, the most particular first; a proxy without a scheme is an HTTP one."""
    bases = ["https://a.example/c", "https://b.example:8443/d", "file:///e"]
    assert choose(configured, bases) == Proxies(servers, direct)


def test_no_proxy_of_the_environment_counts(http_channel: ChannelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that needs no proxy is reached without the configured one, too."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1, elsewhere.example")
    one = engine(proxy_servers={"all": "http://127.0.0.1:9"})
    solution = one.solve(solve_request("gate-c", channels=(channel(http_channel.url()),)), Recorder())
    assert named(solution) == {"gate-c": "2.0"}


def test_a_proxy_with_a_login_gets_it(http_channel: ChannelServer) -> None:
    """The login in the proxy's address is for the proxy, not for the channel."""
    one = engine(proxy_servers={"http": http_channel.host.replace("//", "//user:word@")})
    with pytest.raises(ChannelUnavailable):
        one.solve(solve_request("gate-c", channels=(channel("http://channel.invalid/x"),)), Recorder())
    asked = http_channel.requests[0]
    assert asked.headers.get("proxy-authorization") == "Basic dXNlcjp3b3Jk"
    assert asked.authorization is None


@pytest.mark.parametrize("verify", ["folder", "truststore"])
def test_other_ways_to_name_authorities(verify: str, private_url: str, authority: Path) -> None:
    """A folder of hashed certificates is trusted; the system's store does not know ours."""
    folder = authority.parent / "certificates"
    folder.mkdir()
    shutil.copy(authority, folder / "ca.pem")
    subprocess.run(["openssl", "rehash", str(folder)], check=True, capture_output=True)
    one = engine(ssl_verify=str(folder) if verify == "folder" else "truststore")
    request = solve_request("gate-c", channels=(channel(private_url),))
    if verify == "folder":
        assert named(one.solve(request, Recorder())) == {"gate-c": "2.0"}
    else:
        with pytest.raises(ChannelUnavailable, match="its certificate is not known here"):
            one.solve(request, Recorder())


def test_what_is_not_honoured_is_told(offline_channel: Path) -> None:
    """A setting that this engine cannot honour is never passed over in silence."""
    recorder = Recorder()
    one = engine(ignored=("client_ssl_cert (~/.condarc:3)",))
    one.solve(solve_request("gate-c", channels=(channel(offline_channel),)), recorder)
    assert [notice.message for notice in recorder.notices] == [
        "client_ssl_cert (~/.condarc:3) is not honoured by this engine"
    ]
    assert "conda llmenv" in recorder.notices[0].hint
