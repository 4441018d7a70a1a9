"""A channel behind a token or a login works, and the secret is nowhere afterwards."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from conda_llmenv.engines.credentials import Credentials
from conda_llmenv.engines.rattler.logins import logins
from conda_llmenv.errors import ChannelUnavailable, InputError, InstallFailed, LlmenvError
from conda_llmenv.model import Channel
from tests.engines.support import channel, chosen, install, solve
from tests.http_channel import ChannelServer, Fault, serve

CANARY = "s3cr3t-canary"
KINDS = {
    "token": {"token": f"tk-{CANARY}"},
    "login": {"login": f"user:{CANARY}"},
    "both": {"token": f"tk-{CANARY}", "login": f"user:{CANARY}"},
}


def holding(folder: Path) -> list[Path]:
    """Return the files under a folder that hold the canary."""
    return [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def everything_said(error: LlmenvError) -> str:
    """Return all a person could see of an error, in a traceback too."""
    said = [error.message, *error.details, error.hint, getattr(error, "channel", "")]
    return "\n".join([*said, str(error.__cause__)])


@pytest.mark.parametrize("kind", KINDS)
def test_a_private_channel_works_and_leaves_no_secret(kind: str, offline_channel: Path, tmp_path: Path) -> None:
    """Row 39: solve, download, link; then 0 hits in prefix, package cache and repodata cache."""
    with serve(offline_channel, **KINDS[kind]) as server:
        where = (channel(server.url()), Channel("other", server.url("other")))
        solution = solve("gate-a", "only-other", channels=where, repodata_cache=tmp_path / "repodata")
        assert CANARY in chosen(solution, "gate-a").url, "a record keeps what it takes to fetch it"
        install(solution, tmp_path / "env", tmp_path / "pkgs", requested=(f"{server.url()}::gate-a",))
    assert (tmp_path / "env/share/gate-a/about.txt").is_file()
    assert (tmp_path / "env/conda-meta/gate-a-1.0-0.json").is_file()
    assert holding(tmp_path) == []


def test_a_public_channel_beside_gets_no_credentials(offline_channel: Path, tmp_path: Path) -> None:
    """The token of one channel is not sent to another server."""
    with serve(offline_channel, token=f"tk-{CANARY}") as private, serve(offline_channel) as public:
        solve("only-other", channels=(channel(private.url()), Channel("other", public.url("other"))))
        assert not [request for request in public.requests if CANARY in f"{request.path}{request.authorization}"]
        assert public.requests


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", ["404", "500", "rejected"])
def test_no_error_shows_a_secret(kind: str, fault: str, offline_channel: Path, tmp_path: Path) -> None:
    """Whatever fails about a private channel, the message has its address without the secret."""
    with serve(offline_channel, **KINDS[kind]) as server:
        solution = solve("gate-c", channels=(channel(server.url()),))
        url = server.url().replace(CANARY, f"old-{CANARY}") if fault == "rejected" else server.url()
        server.faults = [] if fault == "rejected" else [Fault("*", status=int(fault))]
        with pytest.raises(ChannelUnavailable) as caught:
            solve("gate-c", channels=(Channel(url, url),))
        assert CANARY not in everything_said(caught.value)
        assert "***" in caught.value.message
        server.faults = server.faults or [Fault("*.conda", status=403)]
        with pytest.raises(InstallFailed, match=r"gate-c-2.0-0.conda cannot be downloaded") as failed:
            install(solution, tmp_path / "env", tmp_path / "pkgs")
        assert CANARY not in everything_said(failed.value)


def test_two_logins_on_one_host_are_refused(http_channel: ChannelServer) -> None:
    """The library keeps one login a host: one channel would be asked with the other's password."""
    where = [http_channel.url(name).replace("//", f"//{name}:{CANARY}@") for name in ("conda-forge", "other")]
    with pytest.raises(InputError, match=r"two channels on 127\.0\.0\.1 want different logins") as caught:
        solve("gate-c", channels=tuple(Channel(url, url) for url in where))
    assert CANARY not in everything_said(caught.value)
    assert http_channel.requests == []


def store(path: Path, host: str, user: str) -> Path:
    """Write a file of logins in the form of ``rattler auth login``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({host: {"BasicHTTP": {"username": user, "password": CANARY}}}))
    return path


@pytest.mark.parametrize("place", ["netrc", "netrc default", "NETRC", "rattler's store", "RATTLER_AUTH_FILE"])
@pytest.mark.parametrize("beside", ["", "other"], ids=["alone", "beside a login in a URL"])
def test_logins_kept_elsewhere_are_used(
    place: str, beside: str, offline_channel: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``.netrc`` as conda reads it and the stores of ``rattler auth login``; also where a channel's URL has a login."""
    line = f"login user password {CANARY}\n"
    if place.startswith("netrc"):
        (isolated_home / ".netrc").write_text(f"{'default' if 'default' in place else 'machine localhost'} {line}")
    elif place == "NETRC":
        (isolated_home / "elsewhere").write_text(f"machine localhost {line}")
        monkeypatch.setenv("NETRC", str(isolated_home / "elsewhere"))
    elif place == "RATTLER_AUTH_FILE":
        monkeypatch.setenv(place, str(store(isolated_home / "auth.json", "localhost", "user")))
    else:
        store(isolated_home / ".rattler" / "credentials.json", "localhost", "user")
    before = dict(os.environ)
    with (
        serve(offline_channel, login=f"user:{CANARY}") as private,
        serve(offline_channel, login="other:word") as second,
    ):
        url = f"http://localhost:{private.port}/conda-forge"
        more = (Channel(beside, second.url(beside)),) if beside else ()
        assert chosen(solve("gate-c", channels=(Channel("private", url), *more)), "gate-c").version == "2.0"
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("netrc", "expected"),
    [
        ("machine h.example login a password b\ndefault login c password d\n", None),
        ("default login c password d\n", "c"),
        ("default login\n", None),
        ("machine x\nmacdef init\n\ndefault login c password d\n", "c"),
        ("\xff\xfe", None),
        ("", None),
    ],
)
def test_the_default_of_netrc_is_for_machines_nothing_names(netrc: str, expected: str | None, tmp_path: Path) -> None:
    """The library does not know ``default``; it must not win over a login that some place has for the host."""
    (tmp_path / ".netrc").write_text(netrc, encoding="latin-1")
    wanted = Credentials.of(["https://h.example/c"])
    found = logins(wanted, {}, tmp_path)
    assert found.get("h.example", {}).get("BasicHTTP", {}).get("username") == expected
    store(tmp_path / ".rattler" / "credentials.json", "h.example", "stored")
    assert logins(wanted, {}, tmp_path) == {}
    assert (
        logins(Credentials.of(["https://u:p@h.example/c"]), {}, tmp_path)["h.example"]["BasicHTTP"]["username"] == "u"
    )
