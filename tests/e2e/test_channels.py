"""Channels as a person meets them: one that is gone, a label no mirror has, ``nodefaults``, and who wins a name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.http_channel import ChannelServer, Fault
from tests.index import artifacts
from tests.index.fixtures import installed
from tests.index.server import serve as serve_index
from tests.program import Ended, Program

CLOSED = "https://127.0.0.1:9/anaconda/pkgs/main"
"""A mirror on the discard port: nothing answers there."""


def refused(ended: Ended, prefix: Path, *told: str) -> None:
    """A failure that says all of that, is no traceback, and leaves no environment."""
    assert ended.code == 1, ended.text
    for text in told:
        assert text in ended.stderr
    assert "Traceback" not in ended.text
    assert not prefix.parent.exists()


def test_a_mirror_that_is_gone_is_named_with_its_line(llmenv: Program, prefix: Path) -> None:
    """CrisHY1995/headnerf#22: channel, address, the file that brought it and a next step; no half-made environment."""
    llmenv.write("team.yml", f"channels:\n- conda-forge\n- {CLOSED}\ndependencies:\n- six\n")
    refused(llmenv("create", "-f", "team.yml", "-p", prefix), prefix, f"channel {CLOSED} ", "team.yml:3", "hint: ")


@pytest.mark.parametrize(("status", "said"), [(403, "refuses access"), (404, "does not exist")])
def test_a_channel_its_server_refuses_is_named_with_its_line(
    llmenv: Program, prefix: Path, http_channel: ChannelServer, status: int, said: str
) -> None:
    """conda#9965 (``anaconda`` 403) and acezero#28 (no ``nvidia`` on a mirror): the answer, the address, the line."""
    http_channel.faults = [Fault("other/*", status=status)]
    llmenv.write("team.yml", "channels:\n- conda-forge\n- other\ndependencies:\n- six\n")
    ended = llmenv("create", "-f", "team.yml", "-p", prefix, CONDA_CHANNEL_ALIAS=http_channel.host)
    refused(ended, prefix, f"channel other {said}", http_channel.url("other"), "team.yml:3", "CONDA_CHANNEL_ALIAS")


def test_the_setting_that_moved_a_channel_is_named(llmenv: Program, prefix: Path, tmp_path: Path) -> None:
    """headnerf#22: the name is right and the alias in .condarc is what is gone, so its line is in the message."""
    condarc = tmp_path / "condarc.yml"
    condarc.write_text("# a mirror of old\nchannel_alias: https://127.0.0.1:9/anaconda/cloud\n")
    del llmenv.environ["CONDA_CHANNEL_ALIAS"]
    ended = llmenv("create", "-p", prefix, "six", CONDARC=str(condarc))
    refused(ended, prefix, "channel conda-forge ", "https://127.0.0.1:9/anaconda/cloud/conda-forge")
    assert "channel_alias (" in ended.stderr
    assert "condarc.yml:2)" in ended.stderr


def test_a_label_on_a_mirror_offers_the_original(llmenv: Program, prefix: Path, http_channel: ChannelServer) -> None:
    """tuna/issues#2219: mirrors do not carry labels; the line is named and the address that has it is offered."""
    llmenv.write("team.yml", "channels:\n- nvidia/label/cuda-12.1.0\n- conda-forge\ndependencies:\n- six\n")
    ended = llmenv("create", "-f", "team.yml", "-p", prefix, CONDA_CHANNEL_ALIAS=http_channel.host)
    refused(ended, prefix, "team.yml:2", "labels", "https://conda.anaconda.org/nvidia/label/cuda-12.1.0")


def test_the_line_of_a_channel_is_in_the_payload(llmenv: Program, prefix: Path) -> None:
    """headnerf#22, for a program that reads us: the same line as an origin of the error."""
    llmenv.write("team.yml", f"channels:\n- {CLOSED}\ndependencies:\n- six\n")
    error = llmenv("create", "-f", "team.yml", "-p", prefix, "--json").json()["error"]
    assert error["code"] == "channel-unavailable"
    assert [(origin["file"], origin["line"]) for origin in error["origins"]] == [("team.yml", 2)]


def test_nodefaults_is_never_asked_for(
    llmenv: Program, prefix: Path, http_channel: ChannelServer, tmp_path: Path
) -> None:
    """Conda 26.7, conda-lock#192, mamba's install.cpp: the word keeps ``defaults`` out and is no channel itself."""
    condarc = tmp_path / "condarc.yml"
    condarc.write_text(
        f"channels: [defaults]\nchannel_alias: {http_channel.host}\ndefault_channels: [{http_channel.url('other')}]\n"
    )
    del llmenv.environ["CONDA_CHANNEL_ALIAS"]
    llmenv.write("team.yml", "channels: [conda-forge, nodefaults]\ndependencies: [six]\n")
    ended = llmenv("create", "-f", "team.yml", "-p", prefix, CONDARC=str(condarc))
    assert ended.code == 0, ended.text
    assert {request.path.split("/")[1] for request in http_channel.requests} == {"conda-forge"}
    composed = llmenv("compose", "-f", "team.yml", CONDARC=str(condarc)).stdout
    assert "nodefaults" not in composed, "conda would ask for it as a channel"
    kept = json.loads((prefix / "conda-meta" / "llmenv" / "spec.json").read_text())
    assert "nodefaults" in json.dumps(kept["asked"]), "our own record keeps what was asked"


@pytest.mark.parametrize("order", [("a.yml", "b.yml"), ("b.yml", "a.yml")])
def test_two_files_give_the_order_the_plan_prints(llmenv: Program, order: tuple[str, str]) -> None:
    """Conda and mamba give two ``-f`` files opposite priorities; here one list is printed and is what was solved."""
    llmenv.write("a.yml", "channels: [other]\ndependencies: [confused]\n")
    llmenv.write("b.yml", "channels: [conda-forge]\ndependencies: [confused]\n")
    first, second = order
    ended = llmenv("create", "--dry-run", "-f", first, "-f", second)
    assert ended.code == 0, ended.text
    line = next(line for line in ended.stdout.splitlines() if line.startswith("channels"))
    result = llmenv("create", "--dry-run", "--json", "-f", first, "-f", second).result()
    confused = next(package for package in result["packages"] if package["name"] == "confused")
    winner = line.split()[1].rstrip(",")
    assert confused["version"] == {"other": "9.0", "conda-forge": "1.0"}[winner]


def test_channel_order_of_layers_is_told_and_contradictions_named(llmenv: Program) -> None:
    """conda-devenv#117, conda-merge PR#1, conda-lock#42: every list keeps its order, whichever file comes first."""
    llmenv.write("base.yml", "channels: [conda-forge]\n")
    llmenv.write("cuda.yml", "channels: [nvidia, conda-forge]\n")
    llmenv.write("work.yml", "channels: [pytorch, nvidia]\n")
    llmenv.write("back.yml", "channels: [conda-forge, nvidia]\n")
    for files in (("base.yml", "cuda.yml", "work.yml"), ("work.yml", "cuda.yml", "base.yml")):
        composed = llmenv("compose", *(word for file in files for word in ("-f", file)))
        listed = composed.stdout.partition("dependencies:")[0]
        assert listed == "channels:\n  - pytorch\n  - nvidia\n  - conda-forge\n", composed.text
    ended = llmenv("compose", "-f", "cuda.yml", "-f", "back.yml")
    assert ended.code == 2
    for told in ("cuda.yml:1", "back.yml:1", "nvidia", "conda-forge"):
        assert told in ended.stderr


def test_a_higher_version_in_a_later_channel_does_not_win(llmenv: Program, prefix: Path) -> None:
    """Fault 41, dependency confusion: the name belongs to the first channel that has it, for dependencies too."""
    llmenv.write("team.yml", "channels: [conda-forge, other]\ndependencies: [only-other]\n")
    result = llmenv("create", "-f", "team.yml", "-p", prefix, "--json").result()
    chosen = {package["name"]: (package["version"], package["channel"]) for package in result["packages"]}
    assert chosen["confused"][0] == "1.0"
    assert "conda-forge" in chosen["confused"][1]
    assert (prefix / "share" / "confused" / "about.txt").read_text().startswith("confused 1.0 ")


def test_a_higher_version_on_the_public_index_does_not_win(llmenv: Program, prefix: Path) -> None:
    """Fault 41, dependency confusion: pip takes the highest of all indexes, we the private one that somebody named."""
    ours, theirs = artifacts.wheel("house-tools", "1.0"), artifacts.wheel("house-tools", "99.0")
    with serve_index([ours]) as private, serve_index([theirs, artifacts.wheel("tinydist", "2.0")]) as public:
        llmenv.write(
            "team.yml",
            "dependencies:\n- python\n- pip\n- pip:\n"
            f"  - --extra-index-url {private.url}\n  - house-tools\n  - tinydist\n",
        )
        del llmenv.environ["PIP_NO_INDEX"]
        ended = llmenv("create", "-f", "team.yml", "-p", prefix, PIP_INDEX_URL=public.url)
    assert ended.code == 0, ended.text
    found = installed(prefix)
    assert (found["house_tools"], found["tinydist"]) == ("1.0", "2.0")
