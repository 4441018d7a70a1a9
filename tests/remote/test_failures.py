"""What keeps a kernel on another host from starting, and what is said of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from conda_llmenv.errors import InputError, LlmenvError, NotFoundError
from conda_llmenv.remote.failures import HostFailed, explain
from tests.remote.conftest import make_environment
from tests.remote.servers import free_port
from tests.remote.world import World, started

pytestmark = [pytest.mark.ssh, pytest.mark.xdist_group("ssh")]


def refused(world: World, host: str, **options: Path) -> LlmenvError:
    """Return why a kernel cannot be registered; nothing is written then."""
    before = sorted(world.kernels.rglob("*"))
    with pytest.raises(LlmenvError) as caught:
        world.register(host, name="never", **options)
    assert sorted(world.kernels.rglob("*")) == before
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value


HOSTILE = [
    "-oProxyCommand=touch pwned",
    "--",
    "",
    " ",
    "gpu01 touch",
    "gpu01\nHost x",
    "gpu01;touch pwned",
    "$(touch pwned)@gpu01",
    "`touch pwned`",
    "gpu01|x",
    "user@-oProxyCommand=x",
    "ssh://-oProxyCommand=x/",
    "g\u00fcnther@host",
    "\u202egpu01",
    "../gpu01",
    "a" * 300,
    "%h",
]


@pytest.mark.parametrize("host", HOSTILE)
def test_hostile_names_of_hosts(world: World, host: str) -> None:
    """What is no destination never reaches ssh, whose configuration may hand it to a shell."""
    started_programs: list[object] = []
    before = sorted(world.kernels.rglob("*"))
    with pytest.raises(InputError, match="no SSH destination"):
        world.register(host, name="never", run=lambda argv, **_: started_programs.append(argv))
    assert not started_programs
    assert sorted(world.kernels.rglob("*")) == before


@pytest.mark.parametrize(
    "host", ["gpu01", "me@gpu01.example.org", "ssh://me@10.0.0.1:2222", "fe80::1", "a_b-c", "u@d@h"]
)
def test_names_of_hosts_that_ssh_takes(world: World, host: str) -> None:
    """Ordinary destinations pass."""
    asked: list[list[str]] = []

    class Stop(Exception):  # it is no error
        pass

    def run(argv: list[str], **_: object) -> None:
        asked.append(argv)
        raise Stop

    with pytest.raises(Stop):
        world.register(host, run=run)
    assert asked[0][asked[0].index("--") + 1] == host


@pytest.mark.parametrize("name", ["..", "a\n", "-x", "x" * 300, "k\u00e4rnel", "a/b", "A"])
def test_hostile_names_of_kernels(world: World, name: str) -> None:
    """The name is refused before anything is asked or written."""
    with pytest.raises(InputError, match="kernel name"):
        world.register("gpu01", name=name, run=None)


@pytest.mark.parametrize("prefix", ["envs/sft", "/", "/envs/../etc", "/envs/a\nb", "~/envs/sft"])
def test_paths_that_are_no_environments(world: World, prefix: str) -> None:
    """A path must be one of the other host, whole."""
    with pytest.raises(InputError, match="no absolute path"):
        world.register("gpu01", prefix=prefix, run=None)  # type: ignore[arg-type]  # as typed by a person


def test_an_unknown_host_key(world: World) -> None:
    """A host that nobody has connected to is not trusted, and the person is told how to."""
    world.servers.start("stranger", client=["UserKnownHostsFile /dev/null"])
    error = refused(world, "stranger")
    assert error.message == "the host key of stranger is not known yet"
    assert "fingerprint" in error.hint


def test_a_changed_host_key(world: World) -> None:
    """Another key than the known one is an alarm and never accepted."""
    known = world.folder / "other_known_hosts"
    world.servers.start("changed", client=[f"UserKnownHostsFile {known}"])
    other = world.servers.make_key("other").with_suffix(".pub").read_text()
    known.write_text(f"[127.0.0.1]:{world.servers.ports['changed']} {other}")
    error = refused(world, "changed")
    assert error.message.startswith("the host key of changed is not the one known for it")
    assert "ssh-keygen -R" in error.hint


def test_a_refused_login(world: World) -> None:
    """The ways to log in that the server would take are named."""
    closed = world.servers.folder / "none"
    closed.write_text("")
    world.servers.start("closed", f"AuthorizedKeysFile {closed}")
    error = refused(world, "closed")
    assert error.message.startswith("closed refuses the login: ")
    assert "Permission denied (publickey)" in error.message
    assert "ssh -o BatchMode=yes closed true" in error.hint


def test_nobody_listens(world: World) -> None:
    """A host that is down is told from one that refuses the login."""
    world.servers.start("down")
    world.servers.stop("down")
    error = refused(world, "down")
    assert error.message.startswith("down cannot be reached: ")
    assert "Connection refused" in error.message


def test_a_name_that_is_none(world: World) -> None:
    """The line of ssh is kept: it says which of several hosts it was."""
    error = refused(world, "nowhere.invalid")
    assert error.message.startswith("nowhere.invalid cannot be found: ssh: Could not resolve hostname")


def test_no_environment_there(world: World) -> None:
    """The path is on the other host, which the sentence says."""
    error = refused(world, "gpu01", prefix=world.folder / "nothing")
    assert error.message == f"{world.folder}/nothing/bin/python is not there on gpu01"


def test_no_ipykernel_there(world: World) -> None:
    """How to install it is said as a line to paste."""
    prefix = world.folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
    error = refused(world, "gpu01", prefix=prefix)
    assert isinstance(error, NotFoundError)
    assert error.hint == f"install it there: ssh gpu01 '{prefix}/bin/python -m pip install ipykernel'"
    (prefix / "conda-meta").mkdir()
    assert refused(world, "gpu01", prefix=prefix).hint == f"install it there: conda install -p {prefix} ipykernel"


def test_a_kernel_that_fails_to_start(world: World) -> None:
    """The last line of what it printed is the reason."""
    prefix = make_environment(world.folder / "broken")
    packages = next(prefix.glob("lib/python3.*/site-packages"))
    (packages / "ipykernel_launcher.py").write_text("raise OSError('libcuda.so.1 is not there')\n")
    world.register("gpu01", name="broken", prefix=prefix)
    answer = world.client().ask("start", kernel="broken")
    assert answer["error"] == "the kernel on gpu01 ended while starting: OSError: libcuda.so.1 is not there"
    world.wait_until_gone()


def test_the_host_goes_away_after_registering(world: World) -> None:
    """A client shows one sentence with the reason and the next step."""
    world.servers.start("gone")
    world.register("gone", name="gone")
    world.servers.stop("gone")
    answer = world.client().ask("start", kernel="gone")
    assert answer["error"].startswith("gone cannot be reached: ")
    assert "Connection refused" in answer["error"]
    assert "; check the network" in answer["error"]


def test_no_ssh_here(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OpenSSH both registering and starting say so."""
    answer = world.client(PATH=str(tmp_path)).ask("start", kernel="there")
    assert answer["error"] == "ssh cannot be started: No such file or directory; install OpenSSH's client"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(world, "gpu01").message == "ssh cannot be started: No such file or directory"


def test_a_host_that_forbids_forwarding(world: World) -> None:
    """The kernel there is ended, and the administrators' word for what is missing is named."""
    world.servers.start("strict", "AllowStreamLocalForwarding no")
    world.register("strict", name="strict")
    answer = world.client().ask("start", kernel="strict")
    assert answer["error"].startswith("strict does not forward to the kernel that listens there: ")
    assert "AllowStreamLocalForwarding" in answer["error"]
    world.wait_until_gone()


def test_a_host_that_talks(world: World) -> None:
    """What start-up files print, even half a record, is no answer of the kernel's."""
    talk = r"""ForceCommand echo welcome; printf '\036{"event": \n'; echo careful >&2; eval "$SSH_ORIGINAL_COMMAND" """
    world.servers.start("talker", talk)
    world.register("talker", name="talker")
    client = world.client()
    started(client, "talker")
    assert client.text("print(1 + 1)") == "2"


def test_what_the_person_has_configured_for_a_shell(world: World, tmp_path: Path) -> None:
    """A terminal, a command, a shared connection and a forward in use are for people's own sessions with that host."""
    with socket.create_server(("127.0.0.1", 0)) as busy:
        settings = [
            "ControlMaster auto",
            f"ControlPath {tmp_path}/%C",
            "ControlPersist 600",
            "RequestTTY force",
            "RemoteCommand echo hello",
            "LogLevel QUIET",
            f"LocalForward {busy.getsockname()[1]} localhost:1",
            "ExitOnForwardFailure yes",
        ]
        world.servers.start("mine", client=settings)
        world.register("mine", name="mine")
        client = world.client()
        started(client, "mine")
        client.ask("shutdown", now=False)
    world.wait_until_gone()
    assert not list(tmp_path.iterdir())


def test_a_port_that_another_program_took(world: World, tmp_path: Path) -> None:
    """Between the choice of a port and its use another program may take it; then others are chosen."""
    taker = tmp_path / "ssh"
    taker.write_text(
        f"#!{sys.executable}\n"
        "import os, pathlib, socket, subprocess, sys\n"
        f"mark = pathlib.Path({str(tmp_path / 'taken')!r})\n"
        "forwards = [sys.argv[at + 1] for at, word in enumerate(sys.argv) if word == '-L']\n"
        "if not mark.exists():\n"
        "    port = int(forwards[0].split(':')[1])\n"
        "    with socket.create_server(('127.0.0.1', port)) as taken:\n"
        "        other = subprocess.Popen(['sleep', '60'], pass_fds=[taken.fileno()], stdout=2)\n"
        "    mark.write_text(f'{port} {other.pid}')\n"
        f"os.execv({str(world.servers.bin / 'ssh')!r}, ['ssh', *sys.argv[1:]])\n"
    )
    taker.chmod(0o755)
    client = world.client(PATH=f"{tmp_path}:{world.environ['PATH']}")
    kernel = started(client, "there")
    port, other = map(int, (tmp_path / "taken").read_text().split())
    with suppress(ProcessLookupError):  # the first ssh's process group has ended, and it was of that
        os.kill(other, signal.SIGKILL)
    assert port not in kernel["ports"]
    assert client.text("print(1)") == "1"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/home/me/.ssh/config: line 3: Bad configuration option: hostnam", "ssh cannot read its configuration"),
        ("Bad owner or permissions on /home/me/.ssh/config", "ssh cannot read its configuration"),
        ("ssh: connect to host gpu01 port 22: No route to host", "gpu01 cannot be reached"),
        ("Timeout, server gpu01 not responding.", "gpu01 has stopped answering"),
        ("kex_exchange_identification: read: Connection reset by peer", "gpu01 closed the connection"),
        ("Received disconnect: Too many authentication failures", "gpu01 refuses the login"),
        ("something new\x1b[2J\x07", "ssh cannot connect to gpu01: something new [2J"),
    ],
)
def test_lines_of_ssh(line: str, expected: str) -> None:
    """Each becomes one sentence; nothing in it steers a terminal."""
    error = explain("gpu01", "/envs/sft", 255, ["debug1: whatever", line])
    assert isinstance(error, HostFailed)
    assert error.message.startswith(expected)
    assert error.message.isprintable()
    assert error.hint


def test_a_client_without_provisioners(world: World) -> None:
    """One that starts argv itself, as some editors do, says what is missing instead of running a Python here."""
    argv = json.loads((world.kernels / "there" / "kernel.json").read_text())["argv"]
    done = subprocess.run(argv, env=world.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("this kernel runs on another host")


def test_a_free_port_is_one() -> None:
    """The tests' own choice of ports works."""
    with socket.create_server(("127.0.0.1", free_port())):
        pass
