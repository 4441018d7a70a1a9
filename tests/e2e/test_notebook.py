"""``llmenv notebook`` with a real JupyterLab: for this machine alone, by its token alone, gone when it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

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
    with serving(jupyter, "-p", lab_env) as running:
        code = "import sys, os; print(sys.prefix, os.environ['FROM_STATE'], os.environ['CONDA_PREFIX'], sep='|')"
        printed = running.execute(running.start_kernel(), code)
        assert printed.strip() == f"{lab_env}|a b|{lab_env}"
        places = listens(running.family())
        assert ("127.0.0.1", running.port) in places
        assert {address for address, _ in places} == {"127.0.0.1"}
        assert running.told["url"] == f"http://127.0.0.1:{running.port}/lab"
        with pytest.raises(AssertionError, match="403"):
            running.rest("GET", "/api/kernels", token="0" * 48)
        assert not [line for line in command_lines() if running.token in line]
        assert running.token not in running.told["ssh"]
        family = running.family()
        assert running.end(signal.SIGINT) == 0
        assert wait_until_gone(family, 5) == []
        assert running.token not in running.log()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_server_and_kernels(jupyter: Program, lab_env: Path, number: int, code: int) -> None:
    """The end of a job and a closed terminal leave no process and no port."""
    with serving(jupyter, "-p", lab_env) as running:
        kernel = running.start_kernel()
        with running.channels(kernel) as ask:
            ask("import subprocess; subprocess.Popen(['sleep', '1000'])")
            family = running.family()
            assert len(family) >= 4
            assert running.end(number) == code
        assert wait_until_gone(family, 5) == []
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", running.port)) != 0


def test_kill_9_leaves_no_server(jupyter: Program, lab_env: Path) -> None:
    """When llmenv is killed, the server ends by itself, and its kernels with it."""
    with serving(jupyter, "-p", lab_env) as running:
        running.start_kernel()
        family = running.family()
        running.end(signal.SIGKILL)
        assert wait_until_gone(family) == []


def test_a_server_that_hangs_is_ended_with_its_kernels(jupyter: Program, lab_env: Path) -> None:
    """A second Ctrl-C does not wait for a server that does not answer."""
    with serving(jupyter, "-p", lab_env) as running:
        running.start_kernel()
        family = running.family()
        os.kill(int(running.told["pid"]), signal.SIGSTOP)
        running.process.send_signal(signal.SIGINT)
        assert not eventually(lambda: running.process.poll() is not None, 1)
        running.process.send_signal(signal.SIGINT)
        running.process.wait(10)
        assert wait_until_gone(family, 5) == []


def test_a_server_that_dies_is_told_with_its_last_lines(jupyter: Program, lab_env: Path) -> None:
    """The exit code is 1 and the signal is named."""
    with serving(jupyter, "-p", lab_env) as running:
        os.kill(int(running.told["pid"]), signal.SIGKILL)
        assert running.process.wait(20) == 1
        assert "the server ended by SIGKILL" in running.log()
        assert "Jupyter Server" in running.log()


def test_a_server_that_cannot_start_is_told_with_its_reason(jupyter: Program, lab_env: Path) -> None:
    """What the server said last is shown."""
    done = jupyter("notebook", "-p", lab_env, "--", "--ServerApp.root_dir=/nonexistent/folder")
    assert done.code == 1
    assert "the server ended with status 1" in done.stderr
    assert "/nonexistent/folder" in done.stderr


def test_shut_down_from_the_browser(jupyter: Program, lab_env: Path) -> None:
    """File > Shut Down ends llmenv, which has done its work then."""
    with serving(jupyter, "-p", lab_env) as running:
        running.rest("POST", "/api/shutdown")
        assert running.process.wait(30) == 0
        assert "shut down from the browser" in running.log()


def test_a_port_that_is_taken(jupyter: Program, lab_env: Path) -> None:
    """It is a mistake to ask for it; unasked, the next one is used."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        done = jupyter("notebook", "-p", lab_env, "--port", str(port))
        assert done.code == 2
        assert f"port {port} is taken" in done.stderr


def test_the_text_for_people(jupyter: Program, lab_env: Path) -> None:
    """One line for the laptop, an address, and the token by itself; through a login node when one is named."""
    process = jupyter.start("notebook", "-p", lab_env, "--via", "ada@login1,login2", "--host", "ada@gpu01")
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(5)]
        facts = dict(line.split(maxsplit=1) for line in lines)
    finally:
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=30)
    port = re.search(r"127\.0\.0\.1:(\d+) alone", facts["server"])
    assert port
    assert facts["laptop"] == f"ssh -N -J ada@login1,login2 -L {port[1]}:127.0.0.1:{port[1]} ada@gpu01\n"
    assert facts["open"] == f"http://127.0.0.1:{port[1]}/lab\n"
    token = facts["token"].strip()
    assert re.fullmatch(r"[0-9a-f]{48}", token)
    assert token not in "".join(lines).replace(facts["token"], "")
    assert token not in log


def test_a_token_is_not_written_into_a_file_that_others_may_read(jupyter: Program, lab_env: Path) -> None:
    """As a batch job's output often is."""
    out = jupyter.cwd / "job.out"
    with out.open("w") as stream:
        out.chmod(0o644)
        process = subprocess.Popen(
            [*jupyter.argv, "notebook", "-p", lab_env], cwd=jupyter.cwd, env=jupyter.environ, stdout=stream,
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
def test_options_that_would_open_the_server_are_refused(jupyter: Program, lab_env: Path, option: str) -> None:
    """Before anything is started."""
    done = jupyter("notebook", "-p", lab_env, "--", option)
    assert done.code == 2
    assert f"{option.partition('=')[0]} cannot be given to the server" in done.stderr


@pytest.mark.parametrize("host", ["-oProxyCommand=touch x", "a b", "user@", "a\nb", "", "$(touch x)", "a;b", "a,b"])
def test_hostile_host_names_are_refused(jupyter: Program, lab_env: Path, host: str) -> None:
    """The printed line is pasted into a shell."""
    done = jupyter("notebook", "-p", lab_env, f"--host={host}")
    assert done.code == 2
    assert "is no SSH destination" in done.stderr


def test_an_environment_without_a_server_says_what_to_install(jupyter: Program, prefix: Path) -> None:
    """One line that works when pasted."""
    made = jupyter("create", "--override-channels", "-c", "conda-forge", "python", "-p", prefix, "--no-verify", "-y")
    assert made.code == 0, made.text
    done = jupyter("notebook", "-p", prefix, PATH="/usr/bin:/bin")
    assert done.code == 2
    assert f"no Jupyter server in {prefix}" in done.stderr
    assert f"{prefix}/bin/python -m pip install jupyterlab" in done.stderr
