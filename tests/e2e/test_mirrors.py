"""Configurations in which every channel is a mirror: each command works, and no request leaves for any other host.

The styles are those that universities (``default_channels`` with ``custom_channels``), conda's own documentation
(``channel_alias``) and repository servers of companies (a login, addresses only) tell their users to copy.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.mirrored import ALIAS, STYLES, UNIVERSITY, Trap, configure, lay_out, set_trap
from tests.http_channel import ChannelServer, serve
from tests.program import Program

LOGIN = "me:s3cr3t-canary"


@pytest.fixture
def trap() -> Iterator[Trap]:
    """What a request to another host runs into."""
    with set_trap() as caught:
        yield caught


@pytest.fixture(scope="module")
def layout(offline_channel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the mirror."""
    return lay_out(offline_channel, tmp_path_factory.mktemp("mirror"))


@pytest.fixture
def mirror(layout: Path) -> Iterator[ChannelServer]:
    """Serve the mirror."""
    with serve(layout) as server:
        yield server


@pytest.fixture
def mirrored(llmenv: Program, mirror: ChannelServer, trap: Trap, tmp_path: Path) -> Program:
    """The program of a person who has nothing but a mirror."""
    del llmenv.environ["CONDA_CHANNEL_ALIAS"]
    llmenv.environ |= {"CONDA_PKGS_DIRS": str(tmp_path / "pkgs"), **trap.environ}
    llmenv.write("bare.yml", "llmenv: {remove: [python, pip]}\n")
    return llmenv


def home_of(program: Program) -> Path:
    """Return the home folder a program runs in."""
    return Path(program.environ["HOME"])


@pytest.mark.parametrize("style", STYLES)
def test_an_environment_is_made_of_the_mirror_alone(
    style: str, mirrored: Program, mirror: ChannelServer, trap: Trap, prefix: Path
) -> None:
    """From fragments as everybody writes them, for the public names."""
    configure(home_of(mirrored), mirror, STYLES[style])
    mirrored.write("team.yml", "channels: [conda-forge]\ndependencies: [gate-c, data-generic]\n")
    ended = mirrored("create", "-f", "bare.yml", "-f", "team.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    assert (prefix / "conda-meta" / "gate-c-2.0-0.json").is_file()
    assert mirror.asked_for("anaconda/cloud/conda-forge/*.conda")
    assert trap.connections == []


FRAGMENTS = {
    "a channel in the spec": "channels: [conda-forge, pytorch]\ndependencies: ['pytorch::only-other']\n",
    "only in the spec": "channels: [conda-forge]\ndependencies: ['nvidia::only-other']\n",
    "a label in the spec": "channels: [conda-forge]\ndependencies: ['nvidia/label/cuda-12.1.0::only-other']\n",
    "a label": "channels: [nvidia/label/cuda-12.1.0]\ndependencies: [only-other]\n",
    "defaults": "channels: [defaults]\ndependencies: [only-other, gate-c]\n",
    "defaults in the spec": "channels: [conda-forge, defaults]\ndependencies: ['defaults::only-other']\n",
    "nodefaults": "channels: [conda-forge, nodefaults]\ndependencies: [gate-c]\n",
    "a member of defaults": "channels: [anaconda/pkgs/main]\ndependencies: [only-other]\n",
    "no channel": "dependencies: [gate-c]\n",
}


@pytest.mark.parametrize("style", ["university", "alias"])
@pytest.mark.parametrize("kind", FRAGMENTS)
def test_every_way_to_name_a_channel_leads_to_the_mirror(
    kind: str, style: str, mirrored: Program, mirror: ChannelServer, trap: Trap
) -> None:
    """Names, labels, ``channel::package``, ``defaults``, ``nodefaults``, as fragments and recipes have them."""
    configure(home_of(mirrored), mirror, STYLES[style])
    mirrored.write("team.yml", FRAGMENTS[kind])
    ended = mirrored("create", "-f", "bare.yml", "-f", "team.yml", "--dry-run", "--json")
    assert ended.code == 0, ended.text
    addresses = {package["channel"] for package in ended.result()["packages"]}
    assert mirror.requests
    assert all("anaconda/" in address for address in addresses), addresses
    assert not mirror.asked_for("*nodefaults*")
    assert trap.connections == []


MOVED = (
    "channels: ['https://conda.anaconda.org/conda-forge', 'https://repo.anaconda.com/pkgs/main']\n"
    "dependencies: [gate-c, only-other]\n"
)


def test_addresses_of_the_original_lead_to_the_mirror_where_configured(
    mirrored: Program, mirror: ChannelServer, trap: Trap
) -> None:
    """``migrated_channel_aliases``: files that name the public address are no way around the mirror."""
    configure(home_of(mirrored), mirror, STYLES["alias, moved"])
    mirrored.write("team.yml", MOVED)
    ended = mirrored("create", "-f", "bare.yml", "-f", "team.yml", "--dry-run")
    assert ended.code == 0, ended.text
    assert trap.connections == []
    configure(home_of(mirrored), mirror, STYLES["alias"])
    ended = mirrored("create", "-f", "bare.yml", "-f", "team.yml", "--dry-run", CONDA_REMOTE_MAX_RETRIES="0")
    assert ended.code == 1, "without it the address counts as written"
    assert trap.connections


def test_a_repository_server_with_a_login(
    llmenv: Program, mirrored: Program, layout: Path, trap: Trap, prefix: Path
) -> None:
    """A company's server: the login stands in .condarc alone, and is nowhere afterwards."""
    with serve(layout, login=LOGIN) as server:
        configure(home_of(mirrored), server, f"{ALIAS}channels: [conda-forge]\n")
        mirrored.write(
            "team.yml", "channels: [conda-forge, defaults]\ndependencies: [gate-c, 'defaults::only-other']\n"
        )
        ended = mirrored("create", "-f", "bare.yml", "-f", "team.yml", "-p", prefix)
        assert ended.code == 0, ended.text
        assert mirrored("compose", "-f", "team.yml").code == 0
    assert "s3cr3t" not in ended.text
    for folder in (prefix, Path(mirrored.environ["CONDA_PKGS_DIRS"])):
        assert [path for path in folder.rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()] == []
    assert trap.connections == []


@pytest.mark.parametrize(
    "line", ["tiers", "tiers detect", "recipes", "list", "info", "compose -f team.yml", "compose --explain -f team.yml"]
)
def test_other_commands_ask_nobody(line: str, mirrored: Program, mirror: ChannelServer, trap: Trap) -> None:
    """What needs no channel makes no request at all."""
    configure(home_of(mirrored), mirror, UNIVERSITY)
    mirrored.write("team.yml", "channels: [conda-forge]\ndependencies: [gate-c]\n")
    ended = mirrored(*line.split())
    assert ended.code == 0, ended.text
    assert mirror.requests == []
    assert trap.connections == []


def test_what_the_mirror_lacks_is_said_with_its_line(
    mirrored: Program, mirror: ChannelServer, trap: Trap, prefix: Path
) -> None:
    """acezero#28: no ``nvidia`` on a mirror; where conda would look, which line says so, and no way around it."""
    configure(home_of(mirrored), mirror, ALIAS)
    mirrored.write("team.yml", "channels: [conda-forge, bioconda]\ndependencies: [gate-c]\n")
    ended = mirrored("create", "-f", "bare.yml", "-f", "team.yml", "-p", prefix)
    assert ended.code == 1
    for told in (
        "channel bioconda does not exist",
        "team.yml:1",
        "channel_alias (~/.condarc:1)",
        "/anaconda/cloud/bioc",
    ):
        assert told in ended.stderr
    assert trap.connections == []


def test_a_mirror_that_sends_people_elsewhere_is_told(
    mirrored: Program, layout: Path, trap: Trap, prefix: Path, tmp_path: Path
) -> None:
    """A copy of repodata whose ``base_url`` names the original: packages come from there, and a person is told."""
    root = Path(shutil.copytree(layout, tmp_path / "copy", copy_function=shutil.copy2))
    with serve(root) as server:
        for path in (root / "anaconda/cloud/conda-forge").glob("*/repodata.json"):
            data = json.loads(path.read_text())
            data["info"]["base_url"] = f"http://localhost:{server.port}/anaconda/cloud/conda-forge/{path.parent.name}/"
            path.write_text(json.dumps(data))
        configure(home_of(mirrored), server, ALIAS)
        mirrored.write("team.yml", "channels: [conda-forge]\ndependencies: [gate-c]\n")
        mirrored.environ["NO_PROXY"] += ",localhost"
        ended = mirrored("create", "-f", "bare.yml", "-f", "team.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    told = f"come from http://localhost:{server.port}"
    assert told in ended.stderr, ended.text
    assert trap.connections == []
