"""How channels are reached, as a person has configured it for conda: it counts here too, or is said not to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.http_channel import ChannelServer, serve
from tests.program import Program

CANARY = "s3cr3t-canary"


@pytest.fixture
def online(llmenv: Program, http_channel: ChannelServer, tmp_path: Path) -> Program:
    """The program over HTTP, configured by the person's .condarc alone, for an environment without Python."""
    del llmenv.environ["CONDA_CHANNEL_ALIAS"]
    llmenv.environ["CONDA_PKGS_DIRS"] = str(tmp_path / "pkgs")
    llmenv.write("bare.yml", "dependencies: [gate-c]\nllmenv: {remove: [python, pip]}\n")
    return llmenv


def home_of(program: Program) -> Path:
    """Return the home folder a program runs in."""
    return Path(program.environ["HOME"])


def condarc(program: Program, text: str) -> None:
    """Write the person's .condarc."""
    (home_of(program) / ".condarc").write_text(text)


def netrc(home: Path) -> None:
    """Write the login into .netrc."""
    (home / ".netrc").write_text(f"machine localhost login user password {CANARY}\n")


def netrc_default(home: Path) -> None:
    """Write the login into .netrc, for machines it does not name."""
    (home / ".netrc").write_text(f"machine other login a password b\ndefault login user password {CANARY}\n")


def rattlers_store(home: Path) -> None:
    """Write the login where ``rattler auth login`` does."""
    (home / ".rattler").mkdir()
    login = {"localhost": {"BasicHTTP": {"username": "user", "password": CANARY}}}
    (home / ".rattler" / "credentials.json").write_text(json.dumps(login))


@pytest.mark.parametrize("place", [netrc, netrc_default, rattlers_store])
def test_a_login_kept_elsewhere_is_used(
    place: Callable[[Path], None], online: Program, offline_channel: Path, prefix: Path
) -> None:
    """Plan and download alike; and it is nowhere afterwards but where it was."""
    with serve(offline_channel, login=f"user:{CANARY}") as server:
        condarc(online, f"channel_alias: http://localhost:{server.port}\n")
        place(home_of(online))
        ended = online("create", "-f", "bare.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    assert CANARY not in ended.text
    for folder in (prefix, Path(online.environ["CONDA_PKGS_DIRS"])):
        assert [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()] == []


def test_a_token_of_anaconda_login_is_used(online: Program, offline_channel: Path, prefix: Path) -> None:
    """As conda does without being told (add_anaconda_token); and it can be told not to."""
    with serve(offline_channel, token=CANARY) as server:
        condarc(online, f"channel_alias: {server.host}\n")
        folder = home_of(online) / ".config" / "binstar"
        folder.mkdir(parents=True)
        (folder / f"http%3A%2F%2F127.0.0.1%3A{server.port}.token").write_text(CANARY)
        ended = online("create", "-f", "bare.yml", "-p", prefix)
        condarc(online, f"channel_alias: {server.host}\nadd_anaconda_token: false\n")
        refused = online("create", "-f", "bare.yml", "--dry-run")
    assert ended.code == 0, ended.text
    assert CANARY not in ended.text
    assert refused.code == 1
    assert "refuses access" in refused.stderr


@pytest.mark.parametrize("key", ["http", "all", "http://channel.invalid", "all://channel.invalid"])
def test_a_configured_proxy_is_asked(online: Program, http_channel: ChannelServer, prefix: Path, key: str) -> None:
    """By scheme, for all, and for a host; its login goes to the proxy and is not shown."""
    proxy = http_channel.host.replace("//", f"//user:{CANARY}@")
    condarc(online, f"channel_alias: http://channel.invalid\nproxy_servers: {{'{key}': '{proxy}'}}\n")
    ended = online("create", "-f", "bare.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    assert CANARY not in ended.text
    assert http_channel.asked_for("gate-c-2.0-0.conda")
    assert all("proxy-authorization" in request.headers for request in http_channel.requests)


def test_what_is_not_honoured_is_told_with_its_line(online: Program, http_channel: ChannelServer) -> None:
    """A client certificate needs conda itself: outside it, the setting is named and what would help."""
    condarc(online, f"channel_alias: {http_channel.host}\nclient_ssl_cert: ~/me.pem\npinned_packages: [gate-c<2]\n")
    ended = online("create", "-f", "bare.yml", "--dry-run", "--json")
    assert ended.code == 0, ended.text
    assert "client_ssl_cert (~/.condarc:2) is not honoured by this engine" in ended.stderr
    told = {notice["code"]: notice["message"] for notice in ended.result()["notices"]}
    assert told["setting-not-heeded"].startswith("pinned_packages (~/.condarc:3)")
