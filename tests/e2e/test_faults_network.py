"""Servers and networks that misbehave: the program ends in bounded time, says which channel it was, and heals.

Every engine that can run here is put to it. What else covers these faults: 12, 13 and 14 in ``test_faults_downloads``,
16 and 17 for the embedded engine alone in ``tests/engines/test_channel_faults``, 23 in ``test_faults_parallel``, 41 in
``test_channels``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conda.conftest import CONDA_PYTHON, has_module
from tests.http_channel import ChannelServer, Fault, serve
from tests.program import Ended, Program

SECONDS = 2
"""The read timeout of these tests."""

BLOB = "share/big-blob.bin"
ENGINES = [
    pytest.param("rattler", id="rattler"),
    *(
        pytest.param(
            name, id=name, marks=[pytest.mark.conda, pytest.mark.skipif(not has_module(module), reason=f"no {module}")]
        )
        for name, module in (("conda", "conda"), ("libmamba", "libmambapy.solver"))
    ),
]


@dataclass
class WithEngine(Program):
    """The program with the engine that its environment names, run by a Python that has it."""

    engine: str = "rattler"

    @property
    def argv(self) -> list[str]:
        """The program itself."""
        return [sys.executable if self.engine == "rattler" else CONDA_PYTHON, "-m", "conda_llmenv"]


@pytest.fixture(params=ENGINES)
def online(request: pytest.FixtureRequest, llmenv: Program, http_channel: ChannelServer, tmp_path: Path) -> WithEngine:
    """The program over HTTP, with package caches of its own, little patience, and an environment without Python."""
    environ = {
        **llmenv.environ,
        "CONDA_PLUGINS_LLMENV_ENGINE": request.param,
        "CONDA_CHANNEL_ALIAS": http_channel.host,
        "CONDA_PKGS_DIRS": str(tmp_path / "pkgs"),
        "CONDA_REMOTE_READ_TIMEOUT_SECS": str(SECONDS),
        "CONDA_REMOTE_MAX_RETRIES": "1",
        "CONDA_SOLVER": "rattler",
    }
    llmenv.write("bare.yml", "dependencies: [big-blob]\nllmenv: {remove: [python, pip]}\n")
    return WithEngine(llmenv.cwd, environ, request.param)


def create(program: Program, prefix: Path, *options: str) -> Ended:
    """Make the environment."""
    return program("create", "-f", "bare.yml", "-p", prefix, *options)


def failed(ended: Ended, prefix: Path, *told: str) -> None:
    """A failure that says all of that, is no traceback, and leaves no environment."""
    assert ended.code == 1, ended.text
    for text in told:
        assert text in ended.stderr
    assert "Traceback" not in ended.text
    assert not prefix.parent.exists()


SILENCES = {
    "silent before the answer": {"stall": 60},
    "silent in the middle": {"pace": 60, "piece": 400},
    "a byte now and then": {"pace": 0.3, "piece": 1},
}


@pytest.mark.parametrize("kind", SILENCES)
@pytest.mark.parametrize("what", ["repodata*", "big-blob*.conda"])
def test_a_server_that_says_next_to_nothing_is_given_up(
    online: WithEngine, http_channel: ChannelServer, prefix: Path, kind: str, what: str
) -> None:
    """Fault 15, slow-loris: an end after the read timeout, not when the server likes; and it mends."""
    if kind == "a byte now and then" and online.engine == "conda":
        pytest.skip("conda waits for as long as anything at all arrives")
    http_channel.faults = [Fault(what, **SILENCES[kind])]  # type: ignore[arg-type]  # by name
    started = time.monotonic()
    ended = create(online, prefix)
    assert time.monotonic() - started < SECONDS * 10 + 10
    failed(ended, prefix, "conda-forge" if what == "repodata*" else "big-blob", "hint: ")
    http_channel.faults = []
    assert create(online, prefix).code == 0


@pytest.mark.parametrize("what", ["repodata.json", "big-blob*.conda"])
def test_a_slow_server_is_waited_for(
    online: Program, offline_channel: Path, prefix: Path, tmp_path: Path, what: str
) -> None:
    """Slow is not stalled: what arrives little by little for longer than the timeout is taken."""
    root = Path(shutil.copytree(offline_channel, tmp_path / "big"))
    for path in root.glob("conda-forge/*/repodata.json"):
        path.write_text(path.read_text() + " " * 1_000_000)
    with serve(root) as server:
        server.faults = [Fault(what, pace=0.25, piece=100_000)]
        started = time.monotonic()
        ended = online("create", "-f", "bare.yml", "-p", prefix, CONDA_CHANNEL_ALIAS=server.host)
    assert ended.code == 0, ended.text
    assert time.monotonic() - started > SECONDS


@pytest.mark.parametrize("what", ["repodata*", "big-blob*.conda"])
def test_a_reset_connection(online: Program, http_channel: ChannelServer, prefix: Path, what: str) -> None:
    """Fault 15: reset once, it is tried again; reset always, it is said in bounded time."""
    http_channel.faults = [Fault(what, reset=True)]
    failed(create(online, prefix), prefix, "conda-forge" if what == "repodata*" else "big-blob", "hint: ")
    http_channel.faults = [Fault(what, reset=True, times=1)]
    ended = create(online, prefix)
    assert ended.code == 0, ended.text


ANSWERS: dict[str, tuple[Fault, bool]] = {
    "200 to a range": (Fault("big-blob*.conda", cut=100_000, times=1), True),
    "206 from another place": (Fault("big-blob*.conda", start=1000, times=1), True),
    "206 from another place, always": (Fault("big-blob*.conda", start=1000), False),
    "416": (Fault("big-blob*.conda", status=416), False),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_download_that_broke_off_is_never_patched_up(
    online: Program, http_channel: ChannelServer, prefix: Path, offline_channel: Path, kind: str
) -> None:
    """Fault 13: whatever a server answers to a resumption, the hash of the whole file decides."""
    fault, heals = ANSWERS[kind]
    fault.times = 1 if heals else None
    http_channel.faults = [fault]
    ended = create(online, prefix)
    if ended.code == 0:
        assert heals
    else:
        failed(ended, prefix, "big-blob-1.0-0")
        assert not list(Path(online.environ["CONDA_PKGS_DIRS"]).glob("big-blob*.conda"))
        http_channel.faults = []
        assert create(online, prefix).code == 0
    assert (prefix / BLOB).read_bytes() == whole(offline_channel)


def whole(offline_channel: Path) -> bytes:
    """Return the file of the package as it should be."""
    from tests.channel import stubs

    return next(stub.files[BLOB] for stub in stubs.conda_forge() if BLOB in stub.files)


REFUSALS = {401: "credentials", 403: "access", 407: "proxy", 429: "slow down", 500: "failed", 503: "failed"}


@pytest.mark.parametrize("status", REFUSALS)
def test_each_refusal_has_its_own_sentence(
    online: Program, http_channel: ChannelServer, prefix: Path, status: int
) -> None:
    """Fault 17: what to do about it differs; the login is no news to whoever reads the message."""
    http_channel.faults = [Fault("repodata*", status=status, headers={"Retry-After": "1"})]
    alias = http_channel.host.replace("//", "//me:s3cr3t-canary@")
    online.environ["CONDA_CHANNEL_ALIAS"] = alias
    ended = create(online, prefix)
    failed(ended, prefix, REFUSALS[status], "conda-forge", "hint: ")
    assert "s3cr3t" not in ended.text
    if status in {401, 403}:
        asked = [(request.method, request.path) for request in http_channel.requests]
        assert len(asked) == len(set(asked)), "an answer like this is not asked for again"


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("what", ["repodata*", "big-blob*.conda"])
def test_a_passing_refusal_passes(
    online: Program, http_channel: ChannelServer, prefix: Path, status: int, what: str
) -> None:
    """Fault 17: asked to slow down, or out of order for a moment: it is tried again."""
    http_channel.faults = [Fault(what, status=status, times=1)]
    ended = create(online, prefix)
    assert ended.code == 0, ended.text


@pytest.mark.parametrize("what", ["*", "big-blob*.conda"])
def test_redirects_in_circles_end(online: Program, http_channel: ChannelServer, prefix: Path, what: str) -> None:
    """Fault 17: ended by a count, and named for what it is."""
    loop = {"Location": f"{http_channel.host}/round/big-blob-1.conda"}
    http_channel.faults = [Fault(what, status=302, headers=loop)]
    failed(create(online, prefix), prefix, "redirect", "hint: ")
    assert len(http_channel.requests) < 200


def test_a_login_stays_with_its_server(
    online: Program, http_channel: ChannelServer, offline_channel: Path, prefix: Path
) -> None:
    """Fault 17: a redirect to another server is followed without the login, nor does a token go along."""
    with serve(offline_channel) as other:
        location = f"http://localhost:{other.port}/conda-forge/{subdir_of(offline_channel)}/big-blob-1.0-0.conda"
        http_channel.faults = [Fault("big-blob*.conda", status=302, headers={"Location": location})]
        online.environ["CONDA_CHANNEL_ALIAS"] = http_channel.host.replace("//", "//me:s3cr3t-canary@")
        ended = create(online, prefix)
        assert ended.code == 0, ended.text
        assert [request.authorization for request in other.requests] == [None] * len(other.requests)
        assert other.requests


def subdir_of(offline_channel: Path) -> str:
    """Return the folder the package is in."""
    return next(offline_channel.glob("conda-forge/*/big-blob-1.0-0.conda")).parent.name


@pytest.fixture
def without_network() -> Callable[[Program], Program]:
    """Return what takes a program off every network, the one of this machine too."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rn", "true"], check=False).returncode:
        pytest.skip("this machine does not let a program be taken off the network (unshare -rn)")

    def isolate(program: Program) -> Program:
        unshared = Unshared(program.cwd, dict(program.environ))
        unshared.inner = program
        return unshared

    return isolate


class Unshared(Program):
    """A program in a network of its own, in which there is nothing."""

    inner: Program

    @property
    def argv(self) -> list[str]:
        """The same program."""
        return ["unshare", "-rn", *self.inner.argv]


def test_without_any_network(online: Program, prefix: Path, without_network: Callable[[Program], Program]) -> None:
    """Fault 16: a plain run says what it could not reach; offline works from caches, or names what is missing."""
    alone = without_network(online)
    failed(create(alone, prefix), prefix, "channel conda-forge cannot be")
    failed(create(alone, prefix, "--offline"), prefix, "conda-forge", "offline", "hint: ")
    ended = create(online, prefix)
    assert ended.code == 0, ended.text
    ended = create(alone, prefix.with_name("second"), "--offline")
    assert ended.code == 0, ended.text
    assert (prefix.with_name("second") / BLOB).is_file()
    cache = Path(online.environ["CONDA_PKGS_DIRS"])
    for path in cache.glob("big-blob*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    ended = create(alone, prefix.with_name("third"), "--offline")
    assert ended.code == 1, ended.text
    assert "big-blob-1.0-0" in ended.stderr
    assert "Traceback" not in ended.text
    assert not prefix.with_name("third").exists()


@pytest.mark.soak
@pytest.mark.parametrize("number", range(20))
def test_two_environments_at_a_time_share_the_cache_long(online: Program, prefix: Path, number: int) -> None:
    """Fault 23 (conda#13037), many times."""
    together(online, prefix)


@pytest.mark.parametrize("number", range(3))
def test_two_environments_at_a_time_share_the_cache(online: Program, prefix: Path, number: int) -> None:
    """Fault 23 (conda#13037): both start with an empty cache and fetch the same package at the same time."""
    together(online, prefix)


def test_who_waits_for_anothers_download_is_patient(online: Program, http_channel: ChannelServer, prefix: Path) -> None:
    """Fault 23: nothing arrives for the second run as long as the first one fetches, and that is no stall."""
    http_channel.faults = [Fault("big-blob*.conda", pace=0.25, piece=200_000)]
    together(online, prefix)


def together(program: Program, prefix: Path) -> None:
    """Make two environments at the same time and compare them."""
    places = (prefix.with_name("one"), prefix.with_name("two"))
    runs = [program.start("create", "-f", "bare.yml", "-p", place) for place in places]
    for run in runs:
        stdout, stderr = run.communicate(timeout=120)
        assert run.returncode == 0, stdout + stderr
    contents = [(place / BLOB).read_bytes() for place in places]
    assert contents[0] == contents[1]


def test_a_higher_version_on_a_later_channel_does_not_win(online: Program, prefix: Path) -> None:
    """Fault 41, dependency confusion: the first channel that has the name has it alone, also for a dependency."""
    online.write("team.yml", "channels: [conda-forge, other]\ndependencies: [only-other]\n")
    ended = online("create", "-f", "bare.yml", "-f", "team.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    assert (prefix / "share" / "confused" / "about.txt").read_text().startswith("confused 1.0 ")
