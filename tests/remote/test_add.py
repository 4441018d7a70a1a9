"""``llmenv kernel add --host``: the program itself, and what a kernel it registered sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.conftest import make_environment
from tests.remote.world import World, started

pytestmark = [pytest.mark.ssh, pytest.mark.xdist_group("ssh")]

TORCH = "cuda: 'Optional[str]' = '12.8'\n"


@pytest.fixture(scope="module")
def activated_env(hosts: World) -> Path:
    """Return an environment like conda's, with torch by its metadata, variables and an activation script."""
    prefix = make_environment(hosts.folder / "envs" / "grpo run")
    packages = next(prefix.glob("lib/python3.*/site-packages"))
    (packages / "torch").mkdir()
    (packages / "torch" / "__init__.py").write_text("")
    (packages / "torch" / "version.py").write_text(TORCH)
    (packages / "torch-2.9.1.dist-info").mkdir()
    (packages / "torch-2.9.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\n")
    meta = prefix / "conda-meta"
    (meta / "llmenv").mkdir(parents=True)
    (meta / "llmenv" / "state.json").write_text(json.dumps({"version": 1, "tier": "a100", "recipe": "grpo"}))
    (meta / "state").write_text(json.dumps({"env_vars": {"B": "from variables"}}))
    scripts = prefix / "etc" / "conda" / "activate.d"
    scripts.mkdir(parents=True)
    (scripts / "x.sh").write_text("""export A="it's $HOME \\$5"\n""")
    return prefix


@pytest.fixture
def places(world: World, tmp_path: Path) -> Iterator[list[str]]:
    """Return options for a place of kernelspecs of this test, which Jupyter looks at."""
    before = world.environ["JUPYTER_PATH"]
    world.environ["JUPYTER_PATH"] = str(tmp_path / "share" / "jupyter")
    yield ["--prefix", str(tmp_path)]
    world.environ["JUPYTER_PATH"] = before


def test_a_registered_kernel_is_activated_there(world: World, activated_env: Path, places: list[str]) -> None:
    """What activation sets on the other host when the kernel starts is in force in it, and nothing of this one."""
    done = world.llmenv("kernel", "add", "--host", "gpu01", "-p", str(activated_env), *places, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["result"]
    assert told["name"] == "grpo-run-gpu01"
    assert told["display_name"] == "grpo run (torch 2.9, CUDA 12.8, a100, on gpu01)"
    assert (told["host"], told["tier"], told["recipe"]) == ("gpu01", "a100", "grpo")
    client = world.client()
    started(client, told["name"])
    home = world.folder / "home"
    assert client.text("import os; print(os.environ['A'])") == f"it's {home} $5"
    assert client.text("print(os.environ['B'], os.environ['CONDA_PREFIX'])") == f"from variables {activated_env}"
    assert client.text("print(os.environ['PATH'].split(os.pathsep)[0])") == str(activated_env / "bin")
    client.ask("begin", code="print('begun')\nwhile True: pass")
    client.ask("interrupt")
    assert client.ask("finish")["text"] == "begun\nKeyboardInterrupt"
    (activated_env / "conda-meta" / "state").write_text(json.dumps({"env_vars": {"B": "changed"}}))
    client.ask("restart", now=False)
    assert client.text("import os; print(os.environ['B'])") == "changed"
    client.ask("shutdown", now=False)
    world.wait_until_gone()


def test_what_is_written(world: World, places: list[str]) -> None:
    """The kernelspec is ipykernel's own, with its logos, the host, and the provisioner that starts it."""
    arguments = ["--host", "gpu01", "-p", str(world.prefix), "--name", "one", "--display-name", "The one", *places]
    done = world.llmenv("kernel", "add", *arguments)
    assert done.returncode == 0, done.stderr
    assert "registered one: The one" in done.stderr
    folder = Path(places[1], "share", "jupyter", "kernels", "one")
    spec = json.loads((folder / "kernel.json").read_text())
    assert spec["display_name"] == "The one"
    assert spec["language"] == "python"
    assert spec["metadata"]["debugger"] is True
    assert spec["env"] == {"PYTHONNOUSERSITE": "1"}
    assert spec["metadata"]["kernel_provisioner"] == {
        "provisioner_name": "llmenv-ssh",
        "config": {"host": "gpu01", "prefix": str(world.prefix)},
    }
    assert (folder / "logo-svg.svg").read_bytes().startswith(b"<")
    assert (folder / "logo-64x64.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "launch.py").is_file()
    assert not list(folder.parent.glob(".llmenv-*"))


def test_a_name_that_is_taken(world: World, activated_env: Path, places: list[str]) -> None:
    """A kernel of another environment makes room only for a yes, and one of somebody else never."""
    add = ["kernel", "add", "--host", "gpu01", "--name", "mine", *places, "-p"]
    kernels = Path(places[1], "share", "jupyter", "kernels")
    assert world.llmenv(*add, str(world.prefix)).returncode == 0
    assert world.llmenv(*add, str(world.prefix)).returncode == 0
    refused = world.llmenv(*add, str(activated_env))
    assert refused.returncode == 2
    assert f"the kernel name mine is that of {world.prefix} on gpu01" in refused.stderr
    assert world.llmenv(*add, str(activated_env), "-y").returncode == 0
    foreign = kernels / "mine" / "kernel.json"
    foreign.write_text(json.dumps({"argv": ["/usr/bin/python3"], "display_name": "x", "language": "python"}))
    before = foreign.read_bytes()
    refused = world.llmenv(*add, str(world.prefix), "-y")
    assert refused.returncode == 2
    assert "left alone" in refused.stderr
    assert foreign.read_bytes() == before


def test_list_and_remove(world: World, places: list[str]) -> None:
    """A kernel on another host is listed with it, and goes as others do."""
    arguments = ["--host", "gpu01", "-p", str(world.prefix), "--name", "one", *places]
    assert world.llmenv("kernel", "add", *arguments).returncode == 0
    (listed,) = [one for one in json.loads(world.llmenv("kernel", "list", "--json").stdout)["result"] if one["ours"]]
    assert (listed["name"], listed["host"]) == ("one", "gpu01")
    assert world.llmenv("kernel", "remove", "one").returncode == 0
    assert not Path(places[1], "share", "jupyter", "kernels", "one").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--host", "gpu01"], 2, "which environment on that host"),
        (["--host", "gpu01", "-n", "sft"], 2, "-n names environments of this host"),
        (["--host", "-oProxyCommand=x", "-p", "/envs/sft"], 2, "no SSH destination"),
        (["--host", "gpu01", "-p", "envs/sft"], 2, "no absolute path"),
        (["--host", "gpu01", "-p", "/envs/sft", "--name", "../x"], 2, "kernel name '../x' is not allowed"),
        (["--host", "gpu01", "-p", "/envs/sft", "--name", ""], 2, "the name of the kernel is empty"),
        (["--host", "gpu01", "-p", "/envs/sft", "--display-name", "a\nb"], 2, "printable line"),
        (["--host", "gpu01", "-p", "/envs/nothing"], 1, "/envs/nothing/bin/python is not there on gpu01"),
        (["--host", "nowhere.invalid", "-p", "/envs/sft"], 1, "nowhere.invalid cannot be found"),
    ],
)
def test_what_cannot_be(world: World, places: list[str], arguments: list[str], code: int, message: str) -> None:
    """One sentence, a next step, and nothing written."""
    done = world.llmenv("kernel", "add", *arguments, *places)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert not Path(places[1], "share").exists()
