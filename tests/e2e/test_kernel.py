"""``llmenv kernel``: what a person sees, what is on the disk then, and what is never touched."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_terminal import converse
from tests.kernelenv import no_process_left, processes_of
from tests.program import Program

FOREIGN = {"argv": ["/usr/bin/env", "python3", "-f", "{connection_file}"], "display_name": "R", "language": "R"}


@pytest.fixture
def kernels(llmenv: Program) -> Path:
    """The account's own folder of kernelspecs."""
    return Path(llmenv.environ["HOME"], ".local/share/jupyter/kernels")


def foreign(folder: Path, **more: Any) -> bytes:
    """Write a kernelspec as another tool would, and return what is in it."""
    folder.mkdir(parents=True)
    content = json.dumps({**FOREIGN, **more}).encode()
    (folder / "kernel.json").write_bytes(content)
    return content


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder with their content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_kernel_from_add_to_remove(llmenv: Program, kernel_env: Path, kernels: Path) -> None:
    """Registered under a name and a title made from the environment, listed, tried, and removed without a rest."""
    added = llmenv("kernel", "add", "-p", kernel_env, "--json").result()
    assert added["name"] == "kernels"  # `env` says less than the folder it is in
    assert added["display_name"] == "kernels (cpu)"
    spec = json.loads((kernels / "kernels/kernel.json").read_text())
    assert spec["argv"][0] == f"{kernel_env}/bin/python"
    assert spec["metadata"]["llmenv"]["tier"] == "cpu"
    assert len(spec["metadata"]["llmenv"]["digest"]) == 64
    assert (kernels / "kernels/logo-64x64.png").is_file()
    listed = llmenv("kernel", "list").stdout
    assert [line.split()[:3] for line in listed.splitlines() if "llmenv" in line] == [["kernels", "llmenv", "alive"]]
    with no_process_left(kernel_env):
        tested = llmenv("kernel", "test", "kernels")
    assert tested.code == 0, tested.text
    assert tested.stdout.splitlines()[-1] == "kernels works"
    assert [line for line in tested.stdout.splitlines() if "✓ import six" in line]
    removed = llmenv("kernel", "remove", "kernels")
    assert removed.code == 0, removed.text
    assert list(kernels.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    ["..", ".", "a\n", "-x", "x" * 300, "naïve", "a/b", "/etc/x", "", " ", "A", "a b", "$(x)", "python3", "python3.12"],
)
def test_a_hostile_name_is_refused_before_anything_is_written(
    llmenv: Program, kernel_env: Path, kernels: Path, name: str
) -> None:
    """The rule is in the message; nothing is made, not even the folder of kernelspecs."""
    ended = llmenv("kernel", "add", "-p", kernel_env, f"--name={name}")
    assert ended.code == 2, ended.text
    assert not kernels.exists()
    for command in ("remove", "test", "repair"):
        ended = llmenv("kernel", command, "--", name)
        assert ended.code == 2, ended.text
    assert not kernels.exists()


@pytest.mark.parametrize("title", ["a\nb", "\x1b[31mred", "x" * 201, "\u202egnp"])
def test_a_title_is_one_printable_line(llmenv: Program, kernel_env: Path, kernels: Path, title: str) -> None:
    """Clients show it in a row of others."""
    ended = llmenv("kernel", "add", "-p", kernel_env, "--display-name", title)
    assert ended.code == 2
    assert "--display-name" in ended.stderr
    assert not kernels.exists()


def test_somebody_elses_kernelspec_is_never_touched(llmenv: Program, kernel_env: Path, kernels: Path) -> None:
    """Neither replaced, with -y or without, nor repaired or removed; the message says whose it is."""
    foreign(kernels / "mine")
    before = tree(kernels)
    for arguments in (["add", "-p", str(kernel_env), "--name", "mine", "-y"], ["remove", "mine"], ["repair", "mine"]):
        ended = llmenv("kernel", *arguments)
        assert ended.code == 2, ended.text
        assert str(kernels / "mine") in ended.stderr
        assert "/usr/bin/env" in ended.stderr
    assert tree(kernels) == before
    assert [path.name for path in kernels.iterdir()] == ["mine"]


def test_links_are_not_followed(llmenv: Program, kernel_env: Path, kernels: Path, tmp_path: Path) -> None:
    """A name that is a link is refused, even where it leads to a kernelspec of ours, or nowhere."""
    assert llmenv("kernel", "add", "-p", kernel_env, "--prefix", tmp_path / "own", "--name", "k").code == 0
    own = tmp_path / "own/share/jupyter/kernels/k"
    kernels.mkdir(parents=True)
    (kernels / "link").symlink_to(own)
    (kernels / "dangling").symlink_to(tmp_path / "nowhere")
    before = tree(own)
    for name in ("link", "dangling"):
        for arguments in (["add", "-p", str(kernel_env), "--name", name, "-y"], ["remove", name], ["repair", name]):
            ended = llmenv("kernel", *arguments)
            assert ended.code == 2, ended.text
    assert tree(own) == before
    assert not (tmp_path / "nowhere").exists()
    assert sorted(path.name for path in kernels.iterdir()) == ["dangling", "link"]


def test_one_refusal_removes_nothing(llmenv: Program, kernel_env: Path, kernels: Path) -> None:
    """All of the kernels that are named go, or none."""
    assert llmenv("kernel", "add", "-p", kernel_env, "--name", "ours").code == 0
    foreign(kernels / "theirs")
    before = tree(kernels)
    assert llmenv("kernel", "remove", "ours", "theirs").code == 2
    assert llmenv("kernel", "remove", "ours", "nowhere").code == 2
    assert tree(kernels) == before


def test_a_name_of_ours_passes_on_only_after_a_yes(
    llmenv: Program, kernel_env: Path, own_kernel_env: Path, kernels: Path
) -> None:
    """Registering an environment again replaces its kernelspec; that of another environment needs -y."""
    assert llmenv("kernel", "add", "-p", kernel_env, "--name", "k", "--display-name", "One").code == 0
    assert llmenv("kernel", "add", "-p", kernel_env, "--name", "k").code == 0
    refused = llmenv("kernel", "add", "-p", own_kernel_env, "--name", "k")
    assert refused.code == 2
    assert str(kernel_env) in refused.stderr
    assert llmenv("kernel", "add", "-p", own_kernel_env, "--name", "k", "-y").code == 0
    spec = json.loads((kernels / "k/kernel.json").read_text())
    assert spec["metadata"]["llmenv"]["prefix"] == str(own_kernel_env)


def test_without_ipykernel_a_person_is_told_what_installs_it(llmenv: Program, tmp_path: Path, kernels: Path) -> None:
    """For a virtual environment the command that works; without a terminal nothing is installed."""
    venv = tmp_path / "a venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    ended = llmenv("kernel", "add", "-p", venv)
    assert ended.code == 2
    assert f"'{venv}/bin/python' -m pip install ipykernel" in ended.stderr
    assert llmenv("kernel", "add", "-p", venv, "--json").json()["error"]["code"] == "no-ipykernel"
    assert not kernels.exists()


def test_a_virtual_environment_is_registered_too(llmenv: Program, kernel_env: Path, tmp_path: Path) -> None:
    """One that sees the packages of another, by its folder or active in the shell; its name is the project's."""
    venv = tmp_path / "project" / ".venv"
    subprocess.run([f"{kernel_env}/bin/python", "-m", "venv", "--without-pip", str(venv)], check=True)
    site, shared = (next(place.glob("lib/python3.*/site-packages")) for place in (venv, kernel_env))
    (site / "shared.pth").write_text(f"{shared}\n")
    shutil.copytree(next(shared.glob("ipykernel-*.dist-info")), site / next(shared.glob("ipykernel-*.dist-info")).name)
    added = llmenv("kernel", "add", VIRTUAL_ENV=str(venv))
    assert added.code == 0, added.text
    assert "registered project: project (Python" in added.stderr
    tested = llmenv("kernel", "test", "project")
    assert tested.code == 0, tested.text
    assert f"sys.prefix is {venv}" in tested.stdout


def test_places(llmenv: Program, own_kernel_env: Path, tmp_path: Path) -> None:
    """In the environment, below another folder, and where JUPYTER_DATA_DIR says; one at a time."""
    inside, beside = own_kernel_env / "share/jupyter/kernels/k", tmp_path / "other/share/jupyter/kernels/k"
    data = tmp_path / "data"
    for options in (["--sys-prefix"], ["--prefix", str(tmp_path / "other")], ["--user"]):
        ended = llmenv("kernel", "add", "-p", own_kernel_env, "--name", "k", *options, JUPYTER_DATA_DIR=str(data))
        assert ended.code == 0, ended.text
    for folder in (inside, beside, data / "kernels/k"):
        assert json.loads((folder / "kernel.json").read_text())["argv"][3] == str(folder / "launch.py")
    assert llmenv("kernel", "add", "-p", own_kernel_env, "--user", "--sys-prefix").code == 2
    assert llmenv("kernel", "remove", beside).code == 0
    assert [folder.exists() for folder in (inside, beside)] == [True, False]


def test_the_list_has_everybodys(llmenv: Program, kernel_env: Path, kernels: Path, tmp_path: Path) -> None:
    """Ours and others, alive and gone, broken ones too, with why."""
    assert llmenv("kernel", "add", "-p", kernel_env, "--name", "ours").code == 0
    foreign(kernels / "dead", argv=["/nowhere/bin/python", "-m", "ipykernel_launcher"])
    foreign(kernels / "frozen", argv=[f"{kernel_env}/bin/python", "-m", "x"], env={"CONDA_PREFIX": "/x", "PATH": "/y"})
    foreign(kernels / "onpath", argv=["python3", "-m", "ipykernel_launcher"])
    foreign(kernels / "notjson").decode()
    (kernels / "notjson/kernel.json").write_text("{")
    foreign(tmp_path / "more/kernels/ours")
    (kernels / "nothing").mkdir()
    found = llmenv("kernel", "list", "--json", JUPYTER_PATH=str(tmp_path / "more")).result()
    seen = {(one["name"], one["place"]): one for one in found}
    states = {key: (one["ours"], one["state"], one["activation"]) for key, one in seen.items() if key[1] != "system"}
    assert states[("ours", "user")] == (True, "alive", "at start")
    assert states[("dead", "user")] == (False, "gone", "none")
    assert states[("frozen", "user")] == (False, "alive", "frozen")
    assert states[("onpath", "user")][1] == "elsewhere"
    assert states[("notjson", "user")][1] == "broken"
    assert ("nothing", "user") not in states
    assert seen["ours", "JUPYTER_PATH"]["shadowed"] is False
    assert seen["ours", "user"]["shadowed"] is True
    assert seen["ours", "user"]["python"].startswith("3.")


def test_a_foreign_kernel_is_tried_too(llmenv: Program, kernel_env: Path, kernels: Path) -> None:
    """Ipykernel's own kernelspec works, and it is said that activation is not in force; that is no failure."""
    foreign(
        kernels / "plain",
        argv=[f"{kernel_env}/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        language="python",
    )
    with no_process_left(kernel_env):
        ended = llmenv("kernel", "test", "plain")
    assert ended.code == 0, ended.text
    assert "warned: activation" in ended.stdout


def test_one_that_clients_do_not_find_is_told(llmenv: Program, kernel_env: Path, tmp_path: Path) -> None:
    """Another of the same name comes first on JUPYTER_PATH; by that variable no name of ours could be taken anew."""
    assert llmenv("kernel", "add", "-p", kernel_env, "--name", "k").code == 0
    foreign(tmp_path / "more/kernels/k")
    path = str(tmp_path / "more")
    ended = llmenv("kernel", "test", "k", JUPYTER_PATH=path)
    assert ended.code == 0, ended.text
    assert f"warned: found: clients find {path}/kernels/k under this name" in ended.stdout
    assert llmenv("kernel", "add", "-p", kernel_env, "--name", "k", JUPYTER_PATH=path).code == 2


def test_what_cannot_start_says_why(llmenv: Program, own_kernel_env: Path) -> None:
    """The last words of the kernel are shown, the exit code is 1, and nothing is left."""
    assert llmenv("kernel", "add", "-p", own_kernel_env, "--name", "k").code == 0
    site = next(own_kernel_env.glob("lib/python3.*/site-packages"))
    (site / "ipykernel_launcher.py").unlink()
    (site / "ipykernel_launcher.py").write_text("raise SystemExit('no debugpy here')\n")
    with no_process_left(own_kernel_env):
        ended = llmenv("kernel", "test", "k")
    assert ended.code == 1, ended.text
    assert "no debugpy here" in ended.stdout
    assert ended.stdout.splitlines()[-1].startswith("k does not work: it does not start")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_trial_that_is_ended_leaves_nothing(
    llmenv: Program, own_kernel_env: Path, number: signal.Signals, code: int
) -> None:
    """Neither client nor kernel, nor a script that its activation hangs in."""
    script = own_kernel_env / "etc/conda/activate.d/a.sh"
    assert llmenv("kernel", "add", "-p", own_kernel_env, "--name", "k").code == 0
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("sleep 4.25\n")
    running = llmenv.start("kernel", "test", "k")
    waited_for(lambda: [line for line in processes_of(own_kernel_env) if "launch.py" in line])
    os.kill(running.pid, number)
    running.communicate(timeout=60)
    assert running.returncode == code
    # After a SIGKILL nobody is left to end the kernel but itself; it looks for its parent every second.
    waited_for(lambda: not processes_of(own_kernel_env))


def waited_for(condition: Callable[[], Any], seconds: float = 30) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_repair(llmenv: Program, own_kernel_env: Path, kernels: Path, tmp_path: Path) -> None:
    """A changed environment is registered anew; a moved one after a yes, where it is known; a removed one goes."""
    llmenv.environ["CONDA_ENVS_DIRS"] = str(tmp_path / "envs")
    (tmp_path / "envs").mkdir()
    assert llmenv("kernel", "repair").stderr.strip() == "nothing to repair"
    assert llmenv("kernel", "add", "-p", own_kernel_env, "--name", "k", "--display-name", "My own").code == 0
    site = next(own_kernel_env.glob("lib/python3.*/site-packages"))
    shutil.copytree(next(site.glob("six-*.dist-info")), site / "other-1.0.dist-info")
    assert [one["state"] for one in llmenv("kernel", "list", "--json").result() if one["ours"]] == ["changed"]
    assert llmenv("kernel", "repair").code == 0
    assert [one["state"] for one in llmenv("kernel", "list", "--json").result() if one["ours"]] == ["alive"]

    moved = tmp_path / "envs/moved"
    own_kernel_env.rename(moved)
    refused = llmenv("kernel", "repair")
    assert refused.code == 1
    assert str(moved) in refused.stderr
    assert json.loads((kernels / "k/kernel.json").read_text())["metadata"]["llmenv"]["prefix"] == str(own_kernel_env)
    assert llmenv("kernel", "repair", "-y").code == 0
    spec = json.loads((kernels / "k/kernel.json").read_text())
    assert (spec["argv"][0], spec["display_name"]) == (f"{moved}/bin/python", "My own")

    shutil.rmtree(moved)
    assert llmenv("kernel", "repair").code == 1
    assert (kernels / "k").is_dir()
    repaired = llmenv("kernel", "repair", "-y", "--json").result()
    assert [(one["name"], one["step"], one["done"]) for one in repaired] == [("k", "remove", True)]
    assert list(kernels.iterdir()) == []


def test_a_removed_environment_takes_its_kernels_along(
    llmenv: Program, own_kernel_env: Path, kernel_env: Path, kernels: Path
) -> None:
    """All of its own, and none of another's."""
    for name, place in (("a", own_kernel_env), ("b", own_kernel_env), ("c", kernel_env)):
        assert llmenv("kernel", "add", "-p", place, "--name", name).code == 0
    ended = llmenv("remove", "-p", own_kernel_env, "-y", "--json").result()
    assert ended["kernels"] == ["a", "b"]
    assert [path.name for path in kernels.iterdir()] == ["c"]


def test_create_registers_what_has_ipykernel(llmenv: Program, kernel_env: Path, kernels: Path, prefix: Path) -> None:
    """The kernel is there without another command, and in the payload; without ipykernel there is none."""
    created = json.loads((kernel_env.parent / "created.json").read_text())["result"]["kernel"]
    folder = kernel_env.parent / "home/.local/share/jupyter/kernels/kernels"
    assert (created["name"], created["folder"], created["prefix"]) == ("kernels", str(folder), str(kernel_env))
    assert json.loads((folder / "kernel.json").read_text())["metadata"]["llmenv"]["prefix"] == str(kernel_env)
    assert llmenv("create", "six", "-p", prefix, "-y", "--json").result()["kernel"] is None
    assert not kernels.exists()


def test_an_unwritable_place_is_told(llmenv: Program, kernel_env: Path, tmp_path: Path) -> None:
    """A file in the way of the folder: one message, and nothing half made."""
    (tmp_path / "file").write_text("")
    ended = llmenv("kernel", "add", "-p", kernel_env, "--prefix", tmp_path / "file")
    assert ended.code == 1
    assert str(tmp_path / "file") in ended.stderr


@pytest.mark.skipif(os.environ.get("CONDA_PYTHON") is None, reason="CONDA_PYTHON names no Python with conda")
def test_an_environment_that_conda_made(llmenv: Program, offline_channel: Path, tmp_path: Path) -> None:
    """``conda create`` makes it; without ipykernel it is said how conda installs it."""
    argv = [os.environ["CONDA_PYTHON"], "-m", "conda", "create", "-y", "-q", "-p", str(tmp_path / "theirs"), "python"]
    environ = {**llmenv.environ, "PYTHONPATH": ""}
    where = ["--override-channels", "-c", (offline_channel / "conda-forge").as_uri()]
    subprocess.run([*argv, *where], check=True, capture_output=True, env=environ)
    ended = llmenv("kernel", "add", "-p", tmp_path / "theirs")
    assert ended.code == 2
    assert f"conda install -p {tmp_path / 'theirs'} ipykernel" in ended.stderr


@pytest.mark.parametrize("command", [["kernel", "add", "-p"], ["kernel", "add", "--display-name", "x", "-p"]])
def test_a_no_installs_nothing(llmenv: Program, tmp_path: Path, kernels: Path, command: list[str]) -> None:
    """On a terminal a person is asked whether ipykernel may come; after a no, nothing has changed."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    before = tree(venv)
    code, shown = converse(llmenv, {b"Install it": b"n\n"}, *command, str(venv))
    assert code == 2, shown
    assert "There is no ipykernel in" in shown
    assert tree(venv) == before
    assert not kernels.exists()


def test_texts_that_no_path_can_hold_are_one_broken_row(llmenv: Program, kernels: Path) -> None:
    """A NUL or half a surrogate pair in somebody's kernel.json takes the list of the others away from nobody."""
    for name, text in (("nul", r"/tmp/a\u0000b"), ("half", r"\ud800")):
        (kernels / name).mkdir(parents=True)
        (kernels / name / "kernel.json").write_text(
            f'{{"argv": ["{text}"], "display_name": "{text}", "language": "x"}}'
        )
    rows = llmenv("kernel", "list", "--json").result()
    assert {row["name"]: row["state"] for row in rows if row["name"] in {"nul", "half"}} == {
        "nul": "broken",
        "half": "broken",
    }


def test_a_script_that_fails_is_told_by_the_test(llmenv: Program, own_kernel_env: Path, kernels: Path) -> None:
    """The kernel starts without it, and whoever tests the kernel hears of it."""
    script = own_kernel_env / "etc/conda/activate.d/a-bad.sh"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("export FOO=1\nif then\n")
    assert llmenv("kernel", "add", "-p", own_kernel_env, "--name", "bad").code == 0
    assert kernels.is_dir()
    ended = llmenv("kernel", "test", "bad")
    assert ended.code == 0, ended.text
    assert "a-bad.sh" in ended.text
