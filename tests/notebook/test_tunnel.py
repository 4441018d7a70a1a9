"""``llmenv kernel tunnel`` over real ssh servers: it carries a notebook, comes back, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.e2e.test_terminal import converse
from tests.notebook.serving import document, eventually, isolated, serving, wait_until_gone
from tests.program import ROOT, Program
from tests.remote.servers import SSH, SSHD, Servers, free_port

pytestmark = [
    pytest.mark.ssh,
    pytest.mark.xdist_group("ssh"),
    pytest.mark.skipif(SSHD is None or SSH is None, reason="OpenSSH's server is not installed"),
]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Return the hosts ``gpu01``, and ``compute`` behind ``login``."""
    hosts = Servers(tmp_path_factory.mktemp("hosts") / "ssh", {"HOME": "/nonexistent"})
    try:
        hosts.start("gpu01")
        hosts.start("login")
        hosts.start("compute", client=["ProxyJump login"])
        yield hosts
    finally:
        hosts.close()


@pytest.fixture
def laptop(tmp_path: Path, servers: Servers) -> Program:
    """The program on a machine whose ssh knows the hosts."""
    (tmp_path / "laptop").mkdir()
    path = f"{servers.bin}{os.pathsep}{os.environ['PATH']}"
    return Program(tmp_path, {"PATH": path, "HOME": str(tmp_path / "laptop"), "PYTHONPATH": str(ROOT),
                              "PYTHONWARNINGS": "error::ResourceWarning"})  # fmt: skip


class Tunnel:
    """A tunnel that runs."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self.process = process
        self.errors = errors
        self.told = document(process, errors)["result"]
        self.local = int(self.told["local_port"])

    def log(self) -> str:
        """Return what it said so far."""
        return self.errors.read_text(encoding="utf-8")

    def family(self) -> list[psutil.Process]:
        """Return llmenv and the ssh it has started."""
        own = psutil.Process(self.process.pid)
        return [own, *own.children(recursive=True)]

    def sessions(self) -> list[psutil.Process]:
        """Return the ssh servers' processes at the other end of its connection."""
        ports = {one.laddr.port for ssh in self.family()[1:] for one in ssh.net_connections("tcp")}
        return [one for one in psutil.process_iter() if one.name().startswith("sshd") and _peers(one) & ports]


def _peers(process: psutil.Process) -> set[int]:
    with suppress(psutil.Error):
        return {one.raddr.port for one in process.net_connections("tcp") if len(one.raddr)}
    return set()


@contextmanager
def tunnel(laptop: Program, *arguments: str) -> Iterator[Tunnel]:
    """Start a tunnel and hand it out when it stands."""
    errors = laptop.cwd / "tunnel.err"
    with errors.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "conda_llmenv", "kernel", "tunnel", "--json", *arguments],
            cwd=laptop.cwd, env=laptop.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stream,
            text=True, start_new_session=True,
        )  # fmt: skip
    try:
        yield Tunnel(process, errors)
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()


LOOP = """
import time
try:
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted")
"""

STANDING_IN = """
import http.server, sys

class Version(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        content = b'{"version": "2"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Version).serve_forever()
"""
"""What a Jupyter server tells everybody, without the rest of it."""


@contextmanager
def standing_in() -> Iterator[int]:
    """Serve what stands in for a Jupyter server; the port is handed out."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", STANDING_IN, str(port)], stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: answers(port))
        yield port
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    """Return whether the server behind a port answers in time."""
    try:
        with socket.create_connection(("127.0.0.1", port), 10) as client:
            client.sendall(b"GET /api HTTP/1.0\r\n\r\n")
            return client.recv(100).startswith(b"HTTP/1.0 200")
    except OSError:
        return False


def test_a_notebook_is_pulled_through(llmenv: Program, laptop: Program, server_env: Path, tmp_path: Path) -> None:
    """A cell runs through REST and websocket: directly, through a jump of the configuration, and one of ``--via``.

    A stall of five seconds only delays it, and what is in the kernel is still there when the tunnel is back.
    """
    llmenv.environ.update(isolated(tmp_path))
    with serving(llmenv, "-p", server_env) as running:
        port = str(running.port)
        with tunnel(laptop, "--host", "gpu01", "--port", port) as way:
            assert way.local != running.port
            kernel = running.start_kernel(port=way.local)
            with running.channels(kernel, port=way.local) as ask:
                assert ask("import sys; print(sys.prefix)").strip() == str(server_env)
                stall(way.sessions(), 5)
                assert ask("print(6 * 7)").strip() == "42"
                interrupt = threading.Timer(1, running.rest, ("POST", f"/api/kernels/{kernel}/interrupt"))
                interrupt.start()
                assert ask(LOOP) == "interrupted\n"
                interrupt.join()
            assert "a Jupyter server answers" in way.log()
            assert "the tunnel broke" not in way.log()
            running.execute(kernel, "kept = 1", port=way.local)
            way.family()[1].kill()
            assert eventually(lambda: "is back" in way.log())
            assert running.execute(kernel, "print(kept)", port=way.local) == "1\n"
        for arguments in (["--host", "compute"], ["--host", "gpu01", "--via", "login"]):
            with tunnel(laptop, *arguments, "--port", port) as way:
                assert running.execute(kernel, "print(sys.prefix)", port=way.local).strip() == str(server_env)
        processes = running.family()[2:]
        running.rest("DELETE", f"/api/kernels/{kernel}")
        assert wait_until_gone(processes, 5) == []


def stall(processes: list[psutil.Process], seconds: float) -> None:
    """Stop processes for a while, as a network that is gone for a moment does."""
    assert processes
    for one in processes:
        one.suspend()
    try:
        time.sleep(seconds)
    finally:
        for one in processes:
            one.resume()


def test_a_tunnel_that_breaks_comes_back(laptop: Program) -> None:
    """A killed ssh and a closed connection are told and mended at the same port."""
    with standing_in() as port, tunnel(laptop, "--host", "gpu01", "--port", str(port)) as way:
        assert answers(way.local)
        way.family()[1].kill()
        assert eventually(lambda: "is back" in way.log())
        assert "the tunnel broke: ssh to gpu01 was ended by SIGKILL; attempt 1 to connect again in 1 s" in way.log()
        assert answers(way.local)
        for one in way.sessions():
            one.kill()
        assert eventually(lambda: way.log().count("is back") == 2)
        assert answers(way.local)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_nothing_is_left(laptop: Program, number: int, code: int) -> None:
    """Neither ssh, nor its jump, nor the port, nor the session on the host."""
    with standing_in() as port, tunnel(laptop, "--host", "compute", "--port", str(port)) as way:
        left = [*way.family(), *way.sessions()]
        assert len(left) >= 4
        way.process.send_signal(number)
        assert way.process.wait(10) == code
        assert wait_until_gone(left, 5) == []
        assert not answers(way.local)


def test_a_question_of_ssh_is_answered_at_the_terminal(laptop: Program, servers: Servers) -> None:
    """A passphrase is asked for by ssh itself, and Ctrl-C ends both of them."""
    key = servers.make_key("locked")
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "sesame", "-f", str(key)], check=True)
    with (servers.folder / "authorized_keys").open("a") as keys:
        keys.write(key.with_suffix(".pub").read_text())
    servers.start("asks", client=[f"IdentityFile {key}"])
    arguments = ("kernel", "tunnel", "--host", "asks", "--port", str(free_port()))
    code, shown = converse(laptop, {b"passphrase for key": b"sesame\n", b"open ": b"\x03"}, *arguments)
    assert code == 0, shown
    assert "stopped; the tunnel is gone" in shown


def test_it_gives_up_after_the_attempts(laptop: Program, servers: Servers) -> None:
    """The last reason is ssh's own, and the exit code is 1."""
    servers.start("brief")
    with standing_in() as port, tunnel(laptop, "--host", "brief", "--port", str(port), "--attempts", "1") as way:
        sessions = way.sessions()
        servers.stop("brief")
        for one in sessions:
            one.kill()
        assert way.process.wait(20) == 1
        assert way.process.stdout is not None
        assert way.process.stdout.read() == ""  # the one document is out already
        assert "attempt 1 to connect again" in way.log()
        assert "error: brief cannot be reached" in way.log()


def test_nothing_answers_behind_it_yet(laptop: Program) -> None:
    """The tunnel stands, and says what is missing; it carries the server as soon as there is one."""
    with tunnel(laptop, "--host", "gpu01", "--port", "1") as way:
        assert eventually(lambda: "Connection refused; start `llmenv notebook` there" in way.log())


def test_the_line_alone(laptop: Program) -> None:
    """``--print`` runs nothing, and the line works when pasted."""
    port = free_port()
    done = laptop("kernel", "tunnel", "--host", "ada@gpu01", "--via", "login", "--port", str(port), "--print")
    assert done.code == 0, done.text
    assert re.search(rf"-J login -L 127\.0\.0\.1:{port}:127\.0\.0\.1:{port} -- ada@gpu01", done.stdout)


@pytest.mark.parametrize("host", ["-oProxyCommand=touch x", "a b", "user@", "a\nb", "", "$(touch x)", "a;b", "x`y`"])
@pytest.mark.parametrize("option", ["--host", "--via"])
def test_hostile_names_are_refused(laptop: Program, host: str, option: str) -> None:
    """Before ssh is started."""
    others = [] if option == "--host" else ["--host=gpu01"]
    done = laptop("kernel", "tunnel", f"{option}={host}", *others)
    assert done.code == 2
    assert "is no SSH destination" in done.stderr


def test_a_changed_host_key_ends_it_at_once(laptop: Program, servers: Servers) -> None:
    """Nobody is let in between, and nothing is tried again."""
    servers.start("changed")
    servers.stop("changed")
    (servers.folder / "host_changed").unlink()
    (servers.folder / "host_changed.pub").unlink()
    servers.make_key("host_changed")
    known = servers.known.read_text()
    servers.start("changed")
    servers.known.write_text(known)
    done = laptop("kernel", "tunnel", "--host", "changed", "--port", str(free_port()))
    assert done.code == 1
    assert "the host key of changed is not the one known for it" in done.stderr


def test_a_host_key_that_is_not_known_is_not_taken(laptop: Program, servers: Servers) -> None:
    """Without a terminal nobody can be asked."""
    known = servers.known.read_text()
    servers.start("unknown")
    servers.known.write_text(known)
    done = laptop("kernel", "tunnel", "--host", "unknown", "--port", str(free_port()))
    assert done.code == 1
    assert "the host key of unknown is not known yet" in done.stderr
    assert servers.known.read_text() == known


def test_ssh_s_own_reasons(laptop: Program, servers: Servers) -> None:
    """In one sentence each: a name that nobody knows, a login that is refused, a host where no server runs."""
    port = str(free_port())
    servers.start("strict", "AuthorizedKeysFile /dev/null")
    for host, told in (("nobody.invalid", "cannot be found"), ("strict", "refuses the login"), ("strict", "refused")):
        done = laptop("kernel", "tunnel", "--host", host, "--port", port)
        assert done.code == 1
        assert f"{host} " in done.stderr
        assert told in done.stderr
        if told == "refuses the login":
            servers.stop("strict")


def test_local_ports_that_are_taken(laptop: Program, servers: Servers) -> None:
    """The port that is asked for, and one that the configuration of ssh wants besides."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        taken = str(listener.getsockname()[1])
        done = laptop("kernel", "tunnel", "--host", "gpu01", "--port", "1", "--local-port", taken)
        assert done.code == 2
        assert f"port {taken} is taken" in done.stderr
        servers.start("wants", client=[f"LocalForward 127.0.0.1:{taken} localhost:1"])
        done = laptop("kernel", "tunnel", "--host", "wants", "--port", "1")
        assert done.code == 1
        assert "a port on this machine that ssh was to listen at is taken" in done.stderr


def test_the_local_end_is_open_to_this_machine_alone(laptop: Program, servers: Servers) -> None:
    """Whatever the configuration of ssh says."""
    servers.start("gateway", client=["GatewayPorts yes", "ControlMaster auto", f"ControlPath {servers.folder}/shared"])
    with tunnel(laptop, "--host", "gateway", "--port", "1") as way:
        listening = [one.laddr for one in way.family()[1].net_connections("tcp") if one.status == psutil.CONN_LISTEN]
        assert [(one.ip, one.port) for one in listening] == [("127.0.0.1", way.local)]
        assert not (servers.folder / "shared").exists()
