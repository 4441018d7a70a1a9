"""Kernels on other hosts, as jupyter_client and nbclient start, interrupt, restart and end them."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import psutil
import pytest

from tests.remote.conftest import make_environment
from tests.remote.world import World, started, wait_for_end

pytestmark = [pytest.mark.ssh, pytest.mark.xdist_group("ssh")]


def listens(port: int) -> bool:
    """Return whether somebody listens at a port of this host."""
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0


def test_a_notebook_runs_on_the_other_host(world: World) -> None:
    """Nbclient executes a notebook in the environment there, and afterwards nothing is left of it."""
    cells = [
        "import os, sys",
        "print(sys.prefix)",
        "print(os.environ['PYTHONNOUSERSITE'], 'SSH_CONNECTION' in os.environ)",
    ]
    answer = world.client().ask("notebook", kernel="there", cells=cells)
    assert answer["outputs"] == ["", f"{world.prefix}\n", "1 True\n"]
    world.wait_until_gone()


def test_interrupt_restart_and_shutdown(world: World) -> None:
    """A loop is interrupted and keeps its variables, a restart forgets them, a shutdown leaves nothing."""
    client = world.client()
    kernel = started(client, "there")
    client.text("kept = 1")
    client.ask("begin", code="print('begun')\nwhile True: pass")
    client.ask("interrupt")
    assert client.ask("finish")["text"] == "begun\nKeyboardInterrupt"
    assert client.text("print(kept)") == "1"
    for now in (False, True):
        client.ask("restart", now=now)
        assert client.ask("execute", code="kept")["text"] == "NameError"
    assert client.ask("alive")["alive"]
    assert all(map(listens, kernel["ports"]))
    client.ask("shutdown", now=False)
    world.wait_until_gone()
    assert not any(map(listens, kernel["ports"]))
    assert not kernel["folder"].exists()


def test_what_a_cell_has_started_ends_with_the_kernel(world: World) -> None:
    """A program that a cell left running ends when the kernel is killed."""
    client = world.client()
    started(client, "there")
    pid = int(client.text("import subprocess\nprint(subprocess.Popen(['sleep', '300']).pid)"))
    client.ask("shutdown", now=True)
    world.wait_until_gone(pid)


def test_a_host_behind_a_jump_host(world: World) -> None:
    """The person's ProxyJump is honoured, and the connection through it is gone afterwards, too."""
    world.register("compute", name="behind")
    client = world.client()
    started(client, "behind")
    assert client.text("import sys; print(sys.prefix)") == str(world.prefix)
    assert len(psutil.Process(world.servers.running["login"].pid).children()) == 1
    client.ask("shutdown", now=False)
    world.wait_until_gone()


def test_no_secret_shows(world: World) -> None:
    """The key is in no command line, no variable of the laptop gets there, and the kernel opens no port."""
    client = world.client()
    kernel = started(client, "there")
    lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    assert any(str(kernel["folder"]) in line for line in lines)
    assert not any(kernel["key"] in line for line in lines)
    assert kernel["folder"].stat().st_mode & 0o777 == 0o700
    assert (kernel["folder"] / "connection.json").stat().st_mode & 0o777 == 0o600
    assert kernel["key"] in (kernel["folder"] / "connection.json").read_text()
    assert client.text("import os; print('SECRET_OF_THE_LAPTOP' in os.environ)") == "False"
    assert client.text("import os; print(open(f'/proc/{os.getppid()}/environ').read().count('hunter2'))") == "0"
    connections = psutil.Process(kernel["pid"]).net_connections("tcp")
    assert not [one for one in connections if one.status == psutil.CONN_LISTEN and one.laddr.ip != "127.0.0.1"]


def test_an_environment_with_an_odd_path(world: World) -> None:
    """Spaces, quotes and dollar signs in the path reach the host's shell as they are."""
    prefix = world.folder / "it's a $HOME (2)"
    make_environment(prefix)
    world.register("gpu01", name="odd", prefix=prefix)
    client = world.client()
    started(client, "odd")
    assert client.text("import sys; print(sys.prefix)") == str(prefix)


def test_the_folder_of_the_notebook_where_the_host_has_it(world: World, tmp_path: Path) -> None:
    """On a shared disk the kernel starts where the notebook is; elsewhere at home."""
    (tmp_path / "here").mkdir()
    client = world.client()
    for cwd, expected in ((tmp_path / "here", tmp_path / "here"), (tmp_path / "gone", world.folder / "home")):
        client.ask("start", kernel="there", cwd=str(cwd))
        assert client.text("import os; print(os.getcwd())") == str(expected)
        client.ask("shutdown", now=True)


def test_the_client_is_killed(world: World) -> None:
    """Kill -9 of the client ends the kernel, what it started, and ssh."""
    client = world.client()
    kernel = started(client, "there")
    client.ask("begin", code="import subprocess\nprint('begun')\nsubprocess.run(['sleep', '300'])")
    client.process.kill()
    world.wait_until_gone()
    assert not kernel["folder"].exists()


def test_ssh_is_killed(world: World) -> None:
    """When the connection is cut the kernel there ends, and the client knows."""
    client = world.client()
    kernel = started(client, "there")
    ssh = next(child for child in psutil.Process(client.process.pid).children() if child.name() == "ssh")
    ssh.kill()
    world.wait_until_gone()
    assert not client.ask("alive")["alive"]
    assert not kernel["folder"].exists()


def test_ssh_stands_still(world: World) -> None:
    """When no sign of life comes through any more the kernel there ends, though nothing was closed."""
    world.register("gpu01", name="still")
    world.hasten("still")
    client = world.client()
    kernel = started(client, "still")
    ssh = next(child for child in psutil.Process(client.process.pid).children() if child.name() == "ssh")
    ssh.suspend()
    wait_for_end(kernel["pid"])
    ssh.resume()
    world.wait_until_gone()
    assert not client.ask("alive")["alive"]


def test_the_session_is_killed(world: World) -> None:
    """When the server ends the session there the kernel ends with it."""
    world.servers.start("cut")  # newer servers shut out for a while whoever had a session that crashed
    world.register("cut", name="cut")
    client = world.client()
    started(client, "cut")
    for session in psutil.Process(world.servers.running["cut"].pid).children():
        session.kill()
    world.wait_until_gone()
    assert not client.ask("alive")["alive"]


def test_the_supervisor_is_killed(world: World) -> None:
    """When nobody looks after the kernel any more it ends by itself."""
    client = world.client()
    kernel = started(client, "there")
    os.kill(psutil.Process(kernel["pid"]).ppid(), signal.SIGKILL)
    world.wait_until_gone()
    assert not client.ask("alive")["alive"]


def test_the_kernel_dies(world: World) -> None:
    """A kernel that crashes is known to be dead at once, with nothing left of it."""
    client = world.client()
    kernel = started(client, "there")
    os.kill(kernel["pid"], signal.SIGSEGV)
    world.wait_until_gone()
    assert not client.ask("alive")["alive"]
    assert not kernel["folder"].exists()
