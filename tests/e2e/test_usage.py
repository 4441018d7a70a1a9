"""Mistakes of every kind get one clear message, the right exit code, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program import Program

MISTAKES = [
    pytest.param(["create", "-n", "x"], "nothing to create", id="nothing asked for"),
    pytest.param(["create", "six"], "-n", id="no place"),
    pytest.param(["create", "-n", "base", "six"], "conda's own environment", id="base"),
    pytest.param(["create", "-n", "../up", "six"], "path separator", id="a path as a name"),
    pytest.param(["create", "-n", "x" * 300, "six"], "not allowed", id="a name of 300 letters"),
    pytest.param(["create", "-n", "a b", "six"], "not allowed", id="a name with a blank"),
    pytest.param(["create", "-n", "$(touch pwned)", "six"], "not allowed", id="a command as a name"),
    pytest.param(["create", "-n", "naïve", "six"], "not allowed", id="a name that is not ASCII"),
    pytest.param(["create", "-n", "x\n", "six"], "not allowed", id="a name with a line end"),
    pytest.param(["create", "-n", "x", "--tier", "a1000"], "a100", id="a misspelled tier"),
    pytest.param(["create", "-n", "x", "--recipe", "stf"], "sft", id="a misspelled recipe"),
    pytest.param(["create", "-n", "x", "--tier", "../../etc/passwd"], "tier", id="a path as a tier"),
    pytest.param(["create", "-n", "x", "-f", "missing.yml"], "missing.yml", id="a missing file"),
    pytest.param(["create", "-n", "x", "six =>1"], "six =>1", id="a spec that is none"),
    pytest.param(["create", "-n", "x", "--engine", "warp", "six"], "warp", id="an unknown engine"),
    pytest.param(
        ["create", "-n", "x", "--strict-channel-priority", "--no-channel-priority", "six"],
        "--no-channel-priority",
        id="two priorities",
    ),
    pytest.param(["create", "-p", "/dev/null", "six"], "/dev/null is a file", id="a device as a prefix"),
    pytest.param(["create", "-p", "/dev/null/env", "six"], "a part of /dev/null is a file", id="a prefix below a file"),
    pytest.param(["create", "-p", "/usr", "six"], "not an environment", id="a folder that holds other things"),
    pytest.param(["creat"], "'create'", id="a misspelled command"),
    pytest.param(["create", "--no-such-option"], "--no-such-option", id="an unknown option"),
    pytest.param(["remove", "-n", "nowhere", "-y"], "nowhere", id="removing what is not there"),
    pytest.param(["info", "-n", "nowhere"], "nowhere", id="asking for what is not there"),
]


@pytest.mark.parametrize(("arguments", "told"), MISTAKES)
def test_a_mistake_is_told_and_leaves_no_trace(llmenv: Program, arguments: list[str], told: str) -> None:
    """The message names the mistake, the exit code is 2, no traceback is shown, and the home stays empty."""
    ended = llmenv(*arguments)
    assert ended.code == 2, ended.text
    assert told in ended.stderr
    assert ended.stderr.startswith("error: ")
    assert "Traceback" not in ended.text
    assert ended.stdout == ""
    assert list(Path(llmenv.environ["HOME"]).iterdir()) == []
    assert list(llmenv.cwd.iterdir()) == []


@pytest.mark.parametrize(("arguments", "told"), MISTAKES)
def test_a_mistake_is_one_json_document(llmenv: Program, arguments: list[str], told: str) -> None:
    """With ``--json`` the same facts are one document on stdout, and stderr has no prose to parse."""
    ended = llmenv(*arguments, "--json")
    payload = ended.json()
    assert ended.code == 2
    assert payload["ok"] is False
    assert told in str(payload["error"])


def test_help_answers_everywhere(llmenv: Program) -> None:
    """Every command has help that starts with what it does."""
    listed = llmenv("--help")
    assert listed.code == 0
    for command in ("create", "compose", "tiers", "recipes", "list", "info", "remove", "completion"):
        assert command in listed.stdout
        assert llmenv(command, "--help").code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(llmenv: Program, shell: str) -> None:
    """The script of each shell can be evaluated as it is printed."""
    ended = llmenv("completion", shell)
    assert ended.code == 0
    assert "_LLMENV_COMPLETE" in ended.stdout


@pytest.mark.script
def test_tiers_and_recipes_complete(llmenv: Program) -> None:
    """The shell offers the names a person can type next."""
    ended = llmenv(_LLMENV_COMPLETE="bash_complete", COMP_WORDS="llmenv create --tier a1", COMP_CWORD="3")
    assert {"plain,a100", "plain,a100-40g"} <= set(ended.stdout.split())
    assert ended.stderr == ""


@pytest.mark.script
def test_environments_complete(llmenv: Program, tmp_path: Path) -> None:
    """``-n`` offers what is in the folders of named environments, and nothing that is no environment."""
    for name in ("sft", "sft-old", "eval"):
        (tmp_path / "envs" / name / "conda-meta").mkdir(parents=True)
        (tmp_path / "envs" / name / "conda-meta" / "history").touch()
    (tmp_path / "envs" / "sft-notes").mkdir()
    for command in ("create", "list", "info", "remove"):
        ended = llmenv(
            _LLMENV_COMPLETE="bash_complete",
            COMP_WORDS=f"llmenv {command} -n sf",
            COMP_CWORD="3",
            CONDA_ENVS_DIRS=str(tmp_path / "envs"),
        )
        assert ended.stdout.split() == ["plain,sft", "plain,sft-old"]
        assert ended.stderr == ""


def test_no_colour_in_a_pipe(llmenv: Program) -> None:
    """What goes into a file holds no escape codes."""
    ended = llmenv("create", "-n", "base", "six")
    assert "\x1b" not in ended.text


def test_a_packaged_fragment_is_added_by_name(llmenv: Program) -> None:
    """``-f deepspeed`` stacks the packaged fragment; a file of that name would come first."""
    layers = llmenv("compose", "--json", "-f", "deepspeed").result()["layers"]
    assert "envs/deepspeed.yml" in {layer["file"].removeprefix("./") for layer in layers}
    llmenv.write("deepspeed", "dependencies: [six]\n")
    assert "six" in llmenv("compose", "-f", "deepspeed").stdout
    assert "deepspeed" in llmenv("compose", "-f", "deepsped").stderr


def test_no_command_is_answered_with_help(llmenv: Program) -> None:
    """A bare ``llmenv`` shows what there is, and that is no mistake."""
    ended = llmenv()
    assert ended.code == 0
    assert "Commands:" in ended.stdout
    assert ended.stderr == ""
