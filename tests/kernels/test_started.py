"""Registered kernels as real clients start them: activated, in the environment, and open to signals."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.kernelenv import Client, client_environ, no_process_left
from tests.program import Program

HOSTILE = 'it\'s "A" $HOME `x` \\ ä'

TESTED = """
import json, sys, time
from jupyter_client.manager import KernelManager
manager = KernelManager(kernel_name="own")
manager.start_kernel()
client = manager.blocking_client(); client.start_channels(); client.wait_for_ready(timeout=60)
"""


@pytest.fixture
def registered(llmenv: Program, own_kernel_env: Path, tmp_path: Path) -> Client:
    """An environment of its own, registered as the kernel ``own``, and a client for it."""
    added = llmenv("kernel", "add", "-p", own_kernel_env, "--name", "own")
    assert added.code == 0, added.text
    assert (tmp_path / "home/.local/share/jupyter/kernels/own/kernel.json").is_file()
    return Client(own_kernel_env, client_environ(tmp_path / "home"))


def plant(prefix: Path, name: str, text: str) -> None:
    """Put an activation script into an environment, as a package would have brought it."""
    path = prefix / "etc/conda/activate.d" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def set_variables(prefix: Path, **variables: str) -> None:
    """Set variables as ``conda env config vars set`` does."""
    state = json.loads((prefix / "conda-meta/state").read_text())
    state["env_vars"] |= variables
    (prefix / "conda-meta/state").write_text(json.dumps(state))


def test_the_environments_own_python_runs(registered: Client) -> None:
    """An absolute interpreter: PATH of the client decides nothing (row 51)."""
    registered.environ["PATH"] = "/usr/bin:/bin"
    with no_process_left(registered.prefix):
        seen = registered.evaluate("own", prefix="__import__('sys').prefix", executable="__import__('sys').executable")
    assert seen["prefix"] == str(registered.prefix)
    assert seen["executable"] == f"{registered.prefix}/bin/python"


def test_activation_is_in_force_as_it_is_now(registered: Client) -> None:
    """Scripts and variables that came after the kernel was registered, byte for byte, and PATH anew (row 52)."""
    plant(registered.prefix, "x.sh", f'export A={shlex.quote(HOSTILE)}; export C="$B:$1"\n')
    set_variables(registered.prefix, B="from the person")
    registered.environ |= {"PATH": f"/opt/now/bin:{registered.environ['PATH']}", "SHELL_SECRET": "s3cr3t"}
    environ = "dict(__import__('os').environ)"
    seen = registered.evaluate("own", it=environ, cwd="__import__('os').getcwd()")["it"]
    assert seen["A"] == HOSTILE
    assert (seen["B"], seen["C"]) == ("from the person", "from the person:activate")
    assert seen["PATH"].split(os.pathsep)[:2] == [f"{registered.prefix}/bin", "/opt/now/bin"]
    assert (seen["CONDA_PREFIX"], seen["CONDA_SHLVL"]) == (str(registered.prefix), "1")
    assert seen["PYTHONNOUSERSITE"] == "1"


def test_nothing_of_the_registering_shell_is_kept(llmenv: Program, own_kernel_env: Path, tmp_path: Path) -> None:
    """Neither its PATH nor a secret gets into the kernelspec (rows 36 and 52)."""
    added = llmenv("kernel", "add", "-p", own_kernel_env, "--name", "own", HF_TOKEN="hf_" + "a" * 30, MARKED="s3cr3t")
    assert added.code == 0, added.text
    folder = tmp_path / "home/.local/share/jupyter/kernels/own"
    text = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file()).decode("latin-1")
    spec = json.loads((folder / "kernel.json").read_text())
    assert spec["env"] == {"PYTHONNOUSERSITE": "1"}
    assert not [word for word in ("s3cr3t", "hf_aaa", "/usr/local/bin", "MARKED") if word in text]


def test_the_user_site_is_not_seen(registered: Client, tmp_path: Path) -> None:
    """A torch in ``PYTHONUSERBASE`` shadows nothing (row 54)."""
    version = next((registered.prefix / "lib").glob("python3.*")).name
    fake = tmp_path / "base/lib" / version / "site-packages/torch"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("raise RuntimeError('shadowed')\n")
    registered.environ["PYTHONUSERBASE"] = str(tmp_path / "base")
    find = "__import__('importlib.util').util.find_spec('torch') is None"
    seen = registered.evaluate("own", none=find, path="__import__('sys').path")
    assert seen["none"] is True
    assert not [entry for entry in seen["path"] if str(tmp_path / "base") in entry]


def test_the_current_folder_can_be_imported_from(registered: Client, tmp_path: Path) -> None:
    """As with any other kernel: the launcher is isolated, what it becomes is not."""
    (tmp_path / "mine.py").write_text("value = 7\n")
    (tmp_path / "json.py").write_text("raise RuntimeError('a file of mine broke the start')\n")
    code = TESTED.replace("start_kernel()", f"start_kernel(cwd={str(tmp_path)!r})") + (
        "reply = client.execute_interactive('import mine; assert mine.value == 7')['content']\n"
        "client.stop_channels(); manager.shutdown_kernel(now=True); print(json.dumps({'status': reply['status']}))\n"
    )
    assert registered.script(code)["status"] == "ok"


def test_a_script_that_fails_is_told_and_the_kernel_starts(registered: Client) -> None:
    """What it exported until then is in force; the reason is in the client's log."""
    plant(registered.prefix, "a.sh", "export A=1\necho 'no licence server' >&2\nreturn 3\n")
    plant(registered.prefix, "b.sh", "export B=2\n")
    seen = registered.evaluate("own", a="__import__('os').environ.get('A')", b="__import__('os').environ.get('B')")
    assert (seen["a"], seen["b"]) == ("1", "2")
    assert "a.sh ended with status 3: no licence server" in seen["stderr"]


def test_a_script_that_hangs_is_left_out(registered: Client) -> None:
    """The kernel starts without it and with the others, and what it started is ended."""
    plant(registered.prefix, "a.sh", "export A=1\n")
    plant(registered.prefix, "b.sh", "sleep 61.5\n")
    seen = registered.evaluate("own", a="__import__('os').environ.get('A')")
    assert seen["a"] == "1"
    assert "b.sh did not end within 10 s; the kernel starts without it" in seen["stderr"]
    assert not sleeping("61.5")


def test_broken_variables_do_not_keep_it_from_starting(registered: Client) -> None:
    """``conda activate`` would fail there; the environment's commands are on PATH all the same."""
    (registered.prefix / "conda-meta/state").write_text("{")
    seen = registered.evaluate("own", path="__import__('os').environ['PATH']")
    assert seen["path"].startswith(f"{registered.prefix}/bin:")
    assert "could not be activated" in seen["stderr"]


@pytest.mark.parametrize("active", ["conda", "venv"])
def test_the_clients_environment_is_left(registered: Client, tmp_path: Path, active: str) -> None:
    """A Jupyter that runs in an activated environment hands on neither its ``bin`` nor its ``PYTHONHOME``."""
    other = tmp_path / "jupyter"
    (other / "conda-meta").mkdir(parents=True)
    registered.environ |= {"PATH": f"{other}/bin:{registered.environ['PATH']}"}
    if active == "conda":
        registered.environ |= {"CONDA_PREFIX": str(other), "CONDA_SHLVL": "1"}
    else:
        registered.environ |= {"VIRTUAL_ENV": str(other)}
    seen = registered.evaluate("own", environ="dict(__import__('os').environ)")["environ"]
    assert seen["CONDA_PREFIX"] == str(registered.prefix)
    assert (str(other / "bin") in seen["PATH"].split(os.pathsep)) == (active == "venv")
    assert seen["PATH"].startswith(f"{registered.prefix}/bin:")


def test_an_interrupt_reaches_the_kernel_itself(registered: Client) -> None:
    """The pid that the client knows is the kernel's: the launcher has become it."""
    code = TESTED + (
        "asked = client.execute('import os, time\\nwhile True: time.sleep(0.01)')\n"
        "while client.get_iopub_msg(timeout=30)['content'].get('execution_state') != 'busy': pass\n"
        "time.sleep(0.5); started = time.monotonic(); manager.interrupt_kernel()\n"
        "while (reply := client.get_shell_msg(timeout=20))['parent_header'].get('msg_id') != asked: pass\n"
        "seconds = time.monotonic() - started\n"
        "pid = client.execute('', user_expressions={'pid': '__import__(\"os\").getpid()'})\n"
        "while (own := client.get_shell_msg(timeout=20))['parent_header'].get('msg_id') != pid: pass\n"
        "own = int(own['content']['user_expressions']['pid']['data']['text/plain'])\n"
        "client.stop_channels(); manager.shutdown_kernel()\n"
        "print(json.dumps({'ename': reply['content']['ename'], 'seconds': seconds, 'own': own,"
        " 'known': manager.provisioner.pid}))\n"
    )
    with no_process_left(registered.prefix):
        seen = registered.script(code)
    assert seen["ename"] == "KeyboardInterrupt"
    assert seen["seconds"] < 5
    assert seen["own"] == seen["known"]


def test_a_termination_ends_the_kernel_itself(registered: Client) -> None:
    """SIGTERM to the process that was started is SIGTERM to the kernel."""
    code = TESTED + (
        "import signal\nmanager.signal_kernel(signal.SIGTERM)\n"
        "end = time.monotonic() + 20\n"
        "while manager.is_alive() and time.monotonic() < end: time.sleep(0.05)\n"
        "alive = manager.is_alive(); client.stop_channels(); manager.shutdown_kernel(now=True)\n"
        "print(json.dumps({'alive': alive}))\n"
    )
    with no_process_left(registered.prefix):
        assert registered.script(code)["alive"] is False


def test_a_kill_while_a_script_hangs_leaves_nothing(registered: Client) -> None:
    """The shell is in the kernel's process group, which clients end as a whole."""
    begun = registered.prefix / "begun"
    plant(registered.prefix, "b.sh", f"touch {shlex.quote(str(begun))}; sleep 62.5\n")
    code = (
        "import json, pathlib, sys, time\nfrom jupyter_client.manager import KernelManager\n"
        "begun, end = pathlib.Path(sys.argv[1]), time.monotonic() + 20\n"
        "manager = KernelManager(kernel_name='own'); manager.start_kernel()\n"
        "while not begun.exists() and time.monotonic() < end: time.sleep(0.05)\n"
        "time.sleep(0.2)\n"
        "manager.shutdown_kernel(now=True); print(json.dumps({}))\n"
    )
    with no_process_left(registered.prefix):
        registered.script(code, str(begun))
    assert begun.exists()
    assert not sleeping("62.5")


def test_nbclient_executes_a_notebook(registered: Client, tmp_path: Path) -> None:
    """The cell's output is the environment's prefix."""
    code = (
        "import json, nbformat, sys\nfrom nbclient import NotebookClient\n"
        "book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell('import sys; print(sys.prefix)')])\n"
        "NotebookClient(book, kernel_name='own', timeout=60).execute()\n"
        "print(json.dumps({'text': book.cells[0].outputs[0].text}))\n"
    )
    with no_process_left(registered.prefix):
        assert registered.script(code)["text"].strip() == str(registered.prefix)


def sleeping(seconds: str) -> list[str]:
    """Return the processes that sleep for just so long."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", seconds.encode()]:
            found.append(path.parent.name)
    return found
