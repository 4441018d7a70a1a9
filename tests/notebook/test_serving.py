"""``llmenv notebook`` with a real JupyterLab: for this machine alone, by its token alone, gone when it ends."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.e2e.test_terminal import converse
from tests.notebook.serving import command_lines, eventually, isolated, serving, wait_until_gone
from tests.program import Program

pytestmark = [pytest.mark.xdist_group("ssh"), pytest.mark.script]

HOSTILE = """
c.ServerApp.ip = "0.0.0.0"
c.ServerApp.token = ""
c.ServerApp.password = ""
c.IdentityProvider.token = ""
c.PasswordIdentityProvider.token = ""
c.ServerApp.allow_remote_access = True
c.ServerApp.sock = "/nonexistent/socket"
c.ServerApp.certfile = "/nonexistent/certificate"
c.ServerApp.base_url = "/elsewhere"
c.ServerApp.port = 1
c.ServerApp.open_browser = True
c.KernelManager.ip = "0.0.0.0"
"""


SEEN = """
import json, os, site, sys
variables = map(os.environ.get, ["FROM_STATE", "ACTIVATE_DEMO", "CONDA_PREFIX"])
print(json.dumps([sys.prefix, *variables, site.ENABLE_USER_SITE]))
"""

TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""

REACHABLE = """
import builtins, socket
builtins.listener = socket.socket()
builtins.listener.bind(("0.0.0.0", 0))
builtins.listener.listen()
"""
"""As an extension does that serves its own pages."""

OPEN = """
from jupyter_server.auth.identity import PasswordIdentityProvider, User
PasswordIdentityProvider.get_user = lambda self, handler: User("anybody")
"""


@pytest.fixture
def jupyter(llmenv: Program, tmp_path: Path) -> Program:
    """The program with Jupyter's files in the test's own folder."""
    llmenv.environ.update(isolated(tmp_path))
    return llmenv


def listens(processes: list[psutil.Process]) -> set[tuple[str, int]]:
    """Return every address and port at which processes take connections."""
    found = [connection for one in processes for connection in one.net_connections("tcp")]
    return {(one.laddr.ip, one.laddr.port) for one in found if one.status == psutil.CONN_LISTEN}


def test_a_notebook_runs_in_the_activated_environment_and_only_here(
    jupyter: Program, lab_env: Path, tmp_path: Path
) -> None:
    """A cell sees the environment, its activation script and its variables.

    Whatever the configuration says, the server and its kernels listen on the loopback address alone, and the token is
    nowhere but where it was asked for.
    """
    config = tmp_path / "jupyter_config_dir" / "jupyter_server_config.py"
    config.parent.mkdir()
    config.write_text(HOSTILE)
    config.with_name("jupyter_lab_config.py").write_text(HOSTILE.replace("ServerApp", "LabApp"))
    with serving(jupyter, "-p", lab_env) as running:
        printed = running.execute(running.start_kernel(), SEEN)
        assert json.loads(printed) == [str(lab_env), "a b", "a b$c", str(lab_env), False]
        places = listens(running.family())
        assert ("127.0.0.1", running.port) in places
        assert {address for address, _ in places} == {"127.0.0.1"}
        assert running.told["url"] == f"http://127.0.0.1:{running.port}/lab"
        with pytest.raises(AssertionError, match="403"):
            running.rest("GET", "/api/kernels", token="0" * 48)
        assert not [line for line in command_lines() if running.token in line]
        assert not [one for one in running.family() if running.token in one.environ().values()]
        assert running.token not in running.told["ssh"]
        family = running.family()
        assert running.end(signal.SIGINT) == 0
        assert wait_until_gone(family, 5) == []
        assert running.token not in running.log()


def test_the_end_of_a_job_ends_server_and_kernels(jupyter: Program, server_env: Path) -> None:
    """SIGTERM leaves no process and no port, not even of what a cell has started."""
    with serving(jupyter, "-p", server_env) as running:
        running.execute(running.start_kernel(), "import subprocess; child = subprocess.Popen(['sleep', '1000'])")
        family = running.family()
        assert len(family) >= 4
        assert running.end(signal.SIGTERM) == 143
        assert wait_until_gone(family, 5) == []
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", running.port)) != 0


def test_a_closed_terminal_ends_the_server(jupyter: Program, server_env: Path) -> None:
    """As when the connection to the host is lost; nothing can be printed any more."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *jupyter.argv, "notebook", "-p", str(server_env)],
        cwd=jupyter.cwd, env=jupyter.environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    shown = b""
    try:
        while b"stop " not in shown:
            shown += os.read(master, 65536)
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        assert len(family) >= 2
        os.close(master)
        assert process.wait(30) == 129
    finally:
        process.kill()
        process.wait()
    assert wait_until_gone(family, 5) == []


def test_kill_9_leaves_no_server(jupyter: Program, server_env: Path) -> None:
    """When llmenv is killed, the server ends by itself, and its kernels with it."""
    with serving(jupyter, "-p", server_env) as running:
        running.execute(running.start_kernel(), "")
        family = running.family()
        running.end(signal.SIGKILL)
        assert wait_until_gone(family) == []


def test_a_server_that_hangs_is_ended_with_its_kernels(jupyter: Program, server_env: Path) -> None:
    """A second Ctrl-C does not wait for a server that does not answer."""
    with serving(jupyter, "-p", server_env) as running:
        running.execute(running.start_kernel(), "")
        family = running.family()
        os.kill(int(running.told["pid"]), signal.SIGSTOP)
        running.process.send_signal(signal.SIGINT)
        assert not eventually(lambda: running.process.poll() is not None, 1)
        running.process.send_signal(signal.SIGINT)
        running.process.wait(10)
        assert wait_until_gone(family, 5) == []


def test_a_server_that_dies_is_told_with_its_last_lines(jupyter: Program, server_env: Path) -> None:
    """The exit code is 1 and the signal is named."""
    with serving(jupyter, "-p", server_env) as running:
        os.kill(int(running.told["pid"]), signal.SIGKILL)
        assert running.process.wait(20) == 1
        assert "the server ended by SIGKILL" in running.log()
        assert "Jupyter Server" in running.log()


@pytest.mark.parametrize(
    ("config", "reason"),
    [(REACHABLE, "can be reached from other machines"), (OPEN, "answers without a token")],
    ids=["reachable", "open"],
)
def test_a_server_that_others_could_use_is_stopped(
    jupyter: Program, server_env: Path, tmp_path: Path, config: str, reason: str
) -> None:
    """What no option prevents is seen once it runs, and ends it."""
    (tmp_path / "jupyter_config_dir").mkdir()
    (tmp_path / "jupyter_config_dir" / "jupyter_server_config.py").write_text(config)
    done = jupyter("notebook", "-p", server_env)
    assert done.code == 1
    assert reason in done.stderr
    assert "token " not in done.stdout
    assert not [line for line in command_lines() if "serve.py" in line and str(server_env) in line]


def test_a_server_that_cannot_start_is_told_with_its_reason(jupyter: Program, server_env: Path) -> None:
    """What the server said last is shown."""
    done = jupyter("notebook", "-p", server_env, "--", "--ServerApp.root_dir=/nonexistent/folder")
    assert done.code == 1
    assert "the server ended with status 1" in done.stderr
    assert "/nonexistent/folder" in done.stderr


def test_shut_down_from_the_browser(jupyter: Program, server_env: Path) -> None:
    """File > Shut Down ends llmenv, which has done its work then."""
    with serving(jupyter, "-p", server_env) as running:
        running.rest("POST", "/api/shutdown")
        assert running.process.wait(30) == 0
        assert "the server was shut down" in running.log()


def test_a_port_that_is_taken(jupyter: Program, server_env: Path) -> None:
    """It is a mistake to ask for it; unasked, the next one is used."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        done = jupyter("notebook", "-p", server_env, "--port", str(port))
        assert done.code == 2
        assert f"port {port} is taken" in done.stderr


def test_the_text_for_people(jupyter: Program, server_env: Path) -> None:
    """One line for the laptop, an address, and the token by itself; Ctrl-C is the way to stop it."""
    route = ("--via", "ada@login1,login2", "--host", "ada@gpu01", "--local-port", "9999")
    code, shown = converse(jupyter, {b"stop ": b"\x03"}, "notebook", "-p", str(server_env), *route)
    assert code == 0, shown
    facts = dict(re.findall(r"^(\w+) +(.*?) *$", shown, re.MULTILINE))
    port = re.search(r"127\.0\.0\.1:(\d+) alone", facts["server"])
    assert port
    assert facts["laptop"] == f"ssh -N -J ada@login1,login2 -L 9999:127.0.0.1:{port[1]} ada@gpu01"
    assert facts["open"] == "http://127.0.0.1:9999/"
    assert re.fullmatch(r"[0-9a-f]{48}", facts["token"])
    assert shown.count(facts["token"]) == 1


def test_a_token_is_not_written_into_a_file_that_others_may_read(jupyter: Program, server_env: Path) -> None:
    """As a batch job's output often is."""
    out = jupyter.cwd / "job.out"
    with out.open("w") as stream:
        out.chmod(0o644)
        process = subprocess.Popen(
            [*jupyter.argv, "notebook", "-p", server_env], cwd=jupyter.cwd, env=jupyter.environ, stdout=stream,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        assert eventually(lambda: "stop " in out.read_text(), 60)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    assert "not shown, since others may read this file" in out.read_text()
    assert not re.search(r"[0-9a-f]{48}", out.read_text())


@pytest.mark.parametrize(
    "option", ["--ip=0.0.0.0", "--ServerApp.ip=::", "--IdentityProvider.token=x", "--ServerApp.password=", "--port=1"]
)
def test_options_that_would_open_the_server_are_refused(jupyter: Program, server_env: Path, option: str) -> None:
    """Before anything is started."""
    done = jupyter("notebook", "-p", server_env, "--", option)
    assert done.code == 2
    assert f"{option.partition('=')[0]} cannot be given to the server" in done.stderr


@pytest.mark.parametrize("host", ["-oProxyCommand=touch x", "a b", "user@", "a\nb", "", "$(touch x)", "a;b", "a,b"])
def test_hostile_host_names_are_refused(jupyter: Program, server_env: Path, host: str) -> None:
    """The printed line is pasted into a shell."""
    done = jupyter("notebook", "-p", server_env, f"--host={host}")
    assert done.code == 2
    assert "is no SSH destination" in done.stderr


def test_an_environment_without_a_server_says_what_to_install(jupyter: Program, prefix: Path) -> None:
    """One line that works when pasted."""
    made = jupyter("create", "--override-channels", "-c", "conda-forge", "python", "-p", prefix, "--no-verify", "-y")
    assert made.code == 0, made.text
    done = jupyter("notebook", "-p", prefix, PATH="/usr/bin:/bin")
    assert done.code == 2
    assert f"no Jupyter server in {prefix}" in done.stderr
    assert f"conda install -p {prefix} -c conda-forge jupyterlab" in done.stderr
    packages = next(prefix.glob("lib/python3.*/site-packages"))
    (packages / "jupyterlab-3.6.8.dist-info").mkdir()
    (packages / "jupyterlab-3.6.8.dist-info" / "METADATA").write_text("Name: jupyterlab\nVersion: 3.6.8\n")
    done = jupyter("notebook", "-p", prefix, PATH="/usr/bin:/bin")
    assert "jupyterlab 3.6.8 is there, which is too old" in done.stderr
    (prefix / "bin" / "python").unlink()
    done = jupyter("notebook", "-p", prefix)
    assert done.code == 2
    assert f"the Python of {prefix} cannot be asked" in done.stderr


def test_a_server_elsewhere_is_used_where_it_knows_the_kernel(
    jupyter: Program, lab_env: Path, kernel_env: Path, tmp_path: Path
) -> None:
    """It starts the environment's own Python; without a registered kernel it would run another one."""
    path = f"{lab_env / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = jupyter("notebook", "-p", kernel_env, PATH=path)
    assert done.code == 2
    assert f"in {lab_env} knows no kernel of it" in done.stderr
    assert f"llmenv kernel add -p {kernel_env}" in done.stderr
    added = jupyter("kernel", "add", "-p", kernel_env, "--name", "tuning")
    assert added.code == 0, added.text
    with serving(jupyter, "-p", kernel_env, PATH=path) as running:
        assert running.told["python"] == f"{lab_env}/bin/python3"
        printed = running.execute(running.start_kernel("tuning"), "import sys; print(sys.prefix)")
        assert printed.strip() == str(kernel_env)
