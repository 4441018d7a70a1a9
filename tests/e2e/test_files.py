"""Odd files that people really have: how they were saved, what they name on disk, and what they set."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.index import artifacts
from tests.index.fixtures import installed
from tests.index.server import write_flat
from tests.program import Program

PLAIN = "channels:\n- conda-forge\ndependencies:\n- confused  # naïve\nvariables:\n  GREETING: grüß\n"

SAVED = {
    "UTF-8 with a byte order mark": PLAIN.encode("utf-8-sig"),
    "CRLF": PLAIN.replace("\n", "\r\n").encode(),
    "PowerShell's UTF-16, little endian": PLAIN.encode("utf-16"),
    "UTF-16, big endian": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "all of it": PLAIN.replace("\n", "\r\n").encode("utf-16"),
}


@pytest.mark.parametrize("content", SAVED.values(), ids=SAVED)
def test_however_a_file_was_saved(llmenv: Program, content: bytes) -> None:
    """conda#9749, #13882, #11623: what the editor did to the bytes changes nothing; output is UTF-8 with LF."""
    (llmenv.cwd / "plain.yml").write_bytes(PLAIN.encode())
    (llmenv.cwd / "saved.yml").write_bytes(content)
    done = subprocess.run(
        [*llmenv.argv, "compose", "-f", "saved.yml"],
        cwd=llmenv.cwd,
        env=llmenv.environ,
        capture_output=True,
        check=True,
    )
    assert b"\r" not in done.stdout
    assert not done.stdout.startswith(b"\xef\xbb\xbf")
    assert done.stdout.decode("utf-8") == llmenv("compose", "-f", "plain.yml").stdout
    assert "grüß" in done.stdout.decode("utf-8")


def test_a_saved_file_is_installed(llmenv: Program, prefix: Path) -> None:
    """conda#13882: not only read; the environment of a UTF-16 file with CRLF is made and keeps its variable."""
    (llmenv.cwd / "saved.yml").write_bytes(SAVED["all of it"])
    assert llmenv("create", "-f", "saved.yml", "-p", prefix, "--no-verify").code == 0
    assert json.loads((prefix / "conda-meta" / "state").read_text("utf-8"))["env_vars"]["GREETING"] == "grüß"


def test_a_tab_is_told_with_line_and_column(llmenv: Program, prefix: Path) -> None:
    """conda#7821: a tab as indentation; file, line and column, and nothing was made."""
    llmenv.write("tab.yml", "dependencies:\n- python\n\t- six\n")
    ended = llmenv("create", "-f", "tab.yml", "-p", prefix)
    assert ended.code == 2
    assert ended.stderr.startswith("error: tab.yml:3:1: ")
    assert "tab" in ended.stderr
    assert not prefix.parent.exists()


def test_variables_reach_activation(llmenv: Program, prefix: Path) -> None:
    """conda#11485, #10448, #10830, #11055: text, later wins and is told, null unsets and is nowhere handed on."""
    llmenv.write("a.yml", "dependencies: [confused]\nvariables: {NCCL_DEBUG: INFO, N: 8, X: null, Y: keep}\n")
    llmenv.write("b.yml", "variables: {NCCL_DEBUG: WARN, Y: null}\n")
    ended = llmenv("create", "-f", "a.yml", "-f", "b.yml", "-p", prefix, "--no-verify")
    assert ended.code == 0, ended.text
    assert "variable NCCL_DEBUG is WARN (b.yml:1), overriding INFO (a.yml:2)" in ended.stderr
    state = json.loads((prefix / "conda-meta" / "state").read_text())["env_vars"]
    assert state == {"PYTHONNOUSERSITE": "1", "NCCL_DEBUG": "WARN", "N": "8"}
    composed = llmenv("compose", "-f", "a.yml", "-f", "b.yml").stdout
    assert "X" not in composed
    assert "null" not in composed
    assert 'N: "8"' in composed


def test_variables_are_set_although_pip_failed(llmenv: Program, prefix: Path) -> None:
    """conda#10448 and #9042: conda drops them when pip fails; in an environment that was kept they are there."""
    llmenv.write(
        "broken.yml", "dependencies:\n- python\n- pip\n- pip: [no-such-package==0]\nvariables: {NCCL_DEBUG: INFO}\n"
    )
    assert llmenv("create", "-f", "broken.yml", "-p", prefix, "--keep").code == 1
    assert json.loads((prefix / "conda-meta" / "state").read_text())["env_vars"]["NCCL_DEBUG"] == "INFO"


@pytest.mark.parametrize(("name", "told"), [("bad-name", "bad-name"), ("nccl_debug", "NCCL_DEBUG"), ("1ST", "1ST")])
def test_a_bad_variable_name_is_refused(llmenv: Program, prefix: Path, name: str, told: str) -> None:
    """conda-store#413 and mamba's upper-casing: the line, the name, and for a lower-case one how to write it."""
    llmenv.write("team.yml", f'dependencies: [confused]\nvariables:\n  "{name}": x\n')
    ended = llmenv("create", "-f", "team.yml", "-p", prefix)
    assert ended.code == 2
    assert "team.yml:3" in ended.stderr
    assert told in ended.stderr
    assert not prefix.parent.exists()


@pytest.fixture
def wheels(tmp_path: Path) -> dict[str, str]:
    """Variables by which pip finds its packages in a folder and nowhere else."""
    folder = write_flat(tmp_path / "wheels", [artifacts.wheel("tinydist", "1.0"), artifacts.wheel("other-dist", "2.0")])
    return {"PIP_FIND_LINKS": str(folder), "PIP_NO_INDEX": "1"}


def test_requirements_files_lie_beside_the_file_that_names_them(
    llmenv: Program, prefix: Path, wheels: dict[str, str]
) -> None:
    """mlfoundations/open_flamingo: ``-r`` in ``-r``, ``-e .``; all from the fragment's folder, wherever one stands."""
    llmenv.write("frags/team.yml", "dependencies:\n- python\n- pip\n- pip:\n  - -r requirements.txt\n  - -e .\n")
    llmenv.write("frags/requirements.txt", "-r more.txt\ntinydist==1.0\n")
    llmenv.write("frags/more.txt", "other-dist\n")
    for name, text in artifacts.source_files("flamingo", "0.1").items():
        llmenv.write(f"frags/{name}", text)
    ended = llmenv("create", "-f", "frags/team.yml", "-p", prefix, **wheels)
    assert ended.code == 0, ended.text
    found = installed(prefix)
    assert {name: found.get(name) for name in ("tinydist", "other_dist", "flamingo")} == {
        "tinydist": "1.0",
        "other_dist": "2.0",
        "flamingo": "0.1",
    }


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("-r requirements.txt", "requirements.txt"),
        ("submodules/x", "git submodule"),
        ("-e ../x/", "../x/"),
        ("./wheels/gone-1.0-py3-none-any.whl", "gone-1.0"),
    ],
)
def test_what_is_not_on_disk_is_refused_before_anything(llmenv: Program, prefix: Path, line: str, told: str) -> None:
    """open_flamingo, graphdeco-inria/gaussian-splatting: the line that asks for it, before a solve or a download."""
    llmenv.write("frags/team.yml", f"dependencies:\n- python\n- pip\n- pip:\n  - {line}\n")
    ended = llmenv("create", "-f", "frags/team.yml", "-p", prefix)
    assert ended.code == 2
    assert ended.stderr.startswith("error: frags/team.yml:5")
    assert told in ended.stderr
    assert "solve: " not in ended.stderr
    assert not prefix.parent.exists()


def test_a_submodule_that_is_there_is_installed(llmenv: Program, prefix: Path) -> None:
    """graphdeco-inria/gaussian-splatting: bare local paths, once checked out, are built after the rest."""
    for name, text in artifacts.source_files("simple-knn", "1.0").items():
        llmenv.write(f"submodules/simple-knn/{name}", text)
    llmenv.write("team.yml", "dependencies:\n- python\n- pip\n- pip:\n  - submodules/simple-knn\n")
    ended = llmenv("create", "-f", "team.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    assert installed(prefix)["simple_knn"] == "1.0"


def test_editable_and_git_lines_of_a_real_file(llmenv: Program, prefix: Path, wheels: dict[str, str]) -> None:
    """CompVis/stable-diffusion: order kept, ``-e .`` in the fragment's folder, a git line, an old pip pointed out."""
    repository = llmenv.cwd / "upstream"
    for name, text in artifacts.source_files("foo", "3.0").items():
        llmenv.write(f"upstream/{name}", text)
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *command], cwd=repository, check=True)
    for name, text in artifacts.source_files("ldm", "0.0.1").items():
        llmenv.write(f"env/{name}", text)
    llmenv.write(
        "env/environment.yaml",
        "dependencies:\n- python\n- pip>=20.3\n- pip:\n  - tinydist==1.0\n"
        f"  - -e git+{repository.as_uri()}@main#egg=foo\n  - -e .\n",
    )
    composed = llmenv("compose", "-f", "env/environment.yaml").stdout
    places = [composed.index(text) for text in ("tinydist==1.0", "egg=foo", str(llmenv.cwd / "env"))]
    assert places == sorted(places)
    ended = llmenv("create", "-f", "env/environment.yaml", "-p", prefix, **wheels)
    assert ended.code == 0, ended.text
    assert {"tinydist", "foo", "ldm"} <= set(installed(prefix))
    assert "env/environment.yaml:6: -e git+" in ended.stderr, "uv keeps no checkout to edit, and says so"
    llmenv.write("old.yml", "dependencies: [pip=20.3]\n")
    assert "older than pip 23.1" in llmenv("compose", "-f", "old.yml").stderr


def test_what_real_exports_get_wrong_is_pointed_out(llmenv: Program) -> None:
    """princeton-nlp/SimPO, stanford-crfm/mistral, Vision-CAIR/MiniGPT-4: each slip is one warning with its lines."""
    llmenv.write(
        "team.yml",
        "channels: [conda-forge]\nprefix: /scratch/someone\ndependencies:\n- python=3.10.8=h7a1cb2a_2\n- scipy\n"
        "- cudatoolkit\n- cuda-version=12.4\n- pytorch-mutex=1.0=cuda\n- pip:\n  - pip==22.3.1\n"
        "  - nvidia-nvjitlink-cu12==12.4.99\n  - nvidia-cublas-cu12==12.1.3.1\n",
    )
    ended = llmenv("compose", "-f", "team.yml")
    assert ended.code == 0, ended.text
    for told in (
        "cudatoolkit (team.yml:6)",
        "cuda-version=12.4 (team.yml:7)",
        "pip==22.3.1 (team.yml:10)",
        "nvjitlink",
    ):
        assert told in ended.stderr
    assert "pytorch-mutex ==1.0 cuda" in ended.stdout
    assert "\n  - pip\n" in ended.stdout, "pip is added: without it another Python's would be used"
    assert "/scratch/someone" not in ended.stdout


def test_a_pip_package_over_condas_is_told_in_the_plan(
    llmenv: Program, prefix: Path, wheels: dict[str, str], tmp_path: Path
) -> None:
    """stanford-crfm/mistral: pip overwrites what a conda package pulled in (there numpy): a warning at its line."""
    write_flat(tmp_path / "wheels", [artifacts.wheel("wheel", "0.1")])
    llmenv.write("team.yml", "dependencies:\n- python\n- pip\n- pip:\n  - wheel==0.1\n")
    ended = llmenv("create", "-f", "team.yml", "-p", prefix, "--dry-run", **wheels)
    assert ended.code == 0, ended.text
    assert "team.yml:5" in ended.stderr
    assert "overwrites conda's wheel" in ended.stderr


def test_an_index_between_two_packages_serves_both(llmenv: Program, prefix: Path, tmp_path: Path) -> None:
    """facebookresearch/dinov2: an option amid the list holds for the whole file; it is emitted once, at the top."""
    write_flat(tmp_path / "links", [artifacts.wheel("tinydist", "1.0"), artifacts.wheel("other-dist", "2.0")])
    llmenv.write(
        "team.yml",
        "dependencies:\n- python\n- pip\n- pip:\n  - tinydist==1.0\n"
        f"  - --find-links {tmp_path / 'links'}\n  - other-dist==2.0\n",
    )
    composed = llmenv("compose", "-f", "team.yml").stdout
    assert composed.count("--find-links") == 1
    assert composed.index("--find-links") < composed.index("tinydist") < composed.index("other-dist")
    ended = llmenv("create", "-f", "team.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    assert {"tinydist", "other_dist"} <= set(installed(prefix))


def test_two_pip_sections_are_both_installed(llmenv: Program, prefix: Path, wheels: dict[str, str]) -> None:
    """conda#11113, #8815: of two ``pip:`` maps in one list the last won without a word."""
    llmenv.write("team.yml", "dependencies:\n- python\n- pip\n- pip: [tinydist]\n- pip: [other-dist]\n")
    ended = llmenv("create", "-f", "team.yml", "-p", prefix, **wheels)
    assert ended.code == 0, ended.text
    assert {"tinydist", "other_dist"} <= set(installed(prefix))


def test_odd_one_liners(llmenv: Program) -> None:
    """Seen in the wild: a label in a spec, ``name: base``, ``==11.3.*`` beside ``=11.3``, a build that is a wish."""
    llmenv.write(
        "team.yml",
        "channels: [conda-forge]\ndependencies:\n    - nvidia/label/cuda-12.1.0::cuda-nvcc\n"
        "    - conda-forge::cudatoolkit==11.3.*\n    - cudatoolkit=11.3\n    - jaxlib=0.3.15=*cuda*\n"
        "    - pytorch-cpu\n",
    )
    ended = llmenv("compose", "-f", "team.yml")
    assert ended.code == 0, ended.text
    for text in ("nvidia/label/cuda-12.1.0::cuda-nvcc", "conda-forge::cudatoolkit 11.3.*", "jaxlib ==0.3.15 *cuda*"):
        assert text in ended.stdout
    assert ended.stdout.count("cudatoolkit") == 1
    llmenv.write("base.yml", "name: base\ndependencies: [confused]\n")
    refused = llmenv("create", "-f", "base.yml", "-p", llmenv.cwd / "env")
    assert refused.code == 2
    assert "base.yml:1" in refused.stderr


def test_all_contradictions_of_two_real_files(llmenv: Program) -> None:
    """lllyasviel/ControlNet, hpcaitech/ColossalAI, OpenChatKit: one report with every name and line, and no solve."""
    llmenv.write(
        "control.yml",
        "channels: [pytorch, defaults]\ndependencies:\n- python=3.8.5\n- pip=20.3\n- pytorch=1.12.1\n"
        "- torchvision=0.13.1\n- numpy=1.23.1\n- nccl=2.12.12.1\n- pip:\n  - test-tube>=0.7.5\n"
        "  - transformers==4.19.2\n  - einops==0.3.0\n  - kornia==0.6\n  - omegaconf==2.1.1\n",
    )
    llmenv.write(
        "colossal.yml",
        "channels: [pytorch, defaults]\ndependencies:\n- python=3.9.12\n- pip=20.3\n- pytorch=1.11.0\n"
        "- torchvision=0.12.0\n- numpy=1.19.2\n- nccl>=2.18\n- pip:\n  - test-tube>=0.7.5\n"
        "  - transformers==4.19.4\n  - einops==0.4.1\n  - kornia==0.5\n  - omegaconf==2.1.2\n",
    )
    ended = llmenv("create", "-n", "x", "-f", "control.yml", "-f", "colossal.yml")
    assert ended.code == 2
    for line in (3, 5, 6, 7, 8, 11, 12, 13, 14):
        assert f"control.yml:{line}" in ended.stderr
        assert f"colossal.yml:{line}" in ended.stderr
    assert "test-tube" not in ended.stderr
    assert "solve: " not in ended.stderr
