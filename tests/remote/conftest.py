"""Real ssh servers and a real environment with ipykernel, made once for all tests of remote kernels."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from conda_llmenv.kernels.registering import launcher_files
from tests.remote.servers import SSH, SSHD, Servers
from tests.remote.world import World


@pytest.fixture(scope="session")
def remote_env(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with ipykernel: a venv whose packages are those of the Python that runs this."""
    return make_environment(tmp_path_factory.mktemp("hosts") / "envs" / "sft")


def make_environment(prefix: Path) -> Path:
    """Make an environment with ipykernel."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
    packages = next(prefix.glob("lib/python3.*/site-packages"))
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return prefix


@pytest.fixture(scope="session")
def hosts(tmp_path_factory: pytest.TempPathFactory, remote_env: Path) -> Iterator[World]:
    """Return a laptop and three hosts: ``gpu01`` with the kernel ``there``, and ``compute`` behind ``login``."""
    if SSHD is None or SSH is None:
        pytest.skip("OpenSSH's server is not installed (apt-get install openssh-server)")
    if any(find_spec(name) is None for name in ("ipykernel", "jupyter_client", "nbclient")):
        pytest.skip("ipykernel, jupyter_client and nbclient are not installed")
    folder = remote_env.parent.parent
    home = folder / "home"
    home.mkdir()
    environ = {"HOME": str(home), "IPYTHONDIR": str(home / "ipython"), "JUPYTER_RUNTIME_DIR": str(home / "run")}
    servers = Servers(folder / "ssh", environ)
    try:
        servers.start("gpu01")
        servers.start("login")
        servers.start("compute", client=["ProxyJump login"])
        world = World(folder, servers, remote_env)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", world.environ["PATH"])
            world.register("gpu01", name="there", launcher=launcher_files())
        yield world
    finally:
        servers.close()


@pytest.fixture
def world(hosts: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Return the laptop and the hosts, with ssh on PATH that knows these; nothing of a test before runs any more."""
    monkeypatch.setenv("PATH", hosts.environ["PATH"])
    yield hosts
    for client in hosts.clients:
        client.close()
    hosts.clients.clear()
    hosts.wait_until_gone(seconds=30)
