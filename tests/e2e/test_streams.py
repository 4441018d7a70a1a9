"""Streams that are closed, full or read by nobody, and text that plays tricks on a terminal."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.program import Program


def shell(llmenv: Program, line: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which ``LLMENV`` is the program."""
    return subprocess.run(
        ["bash", "-c", line.replace("LLMENV", " ".join(llmenv.argv))],
        cwd=llmenv.cwd,
        env=llmenv.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_head_ends_it_quietly(llmenv: Program) -> None:
    """``| head -1`` is no fault of anybody's."""
    done = shell(llmenv, "LLMENV tiers list --json | head -1; LLMENV compose --recipe sft --tier a100 | head -1")
    assert "Traceback" not in done.stderr
    assert "fault" not in done.stderr


def test_a_full_stdout_is_told(llmenv: Program) -> None:
    """What cannot be written is said in one sentence."""
    done = shell(llmenv, "LLMENV tiers list --json > /dev/full")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams_do_not_stop_the_work(llmenv: Program, prefix: Path, closed: str) -> None:
    """A daemon that starts us without one of the three streams gets its environment."""
    done = shell(llmenv, f"LLMENV create -y -q -p {prefix} six {closed}")
    assert "Traceback" not in done.stderr
    assert (prefix / "conda-meta" / "history").is_file(), done


def test_control_characters_stay_in_the_file(llmenv: Program) -> None:
    """What somebody else wrote cannot move the cursor, ring, or turn the writing round."""
    llmenv.write("odd.yml", 'dependencies: ["num\\e[2Jpy\\u202e"]\n')
    ended = llmenv("compose", "-f", "odd.yml")
    assert ended.code == 2
    assert "\x1b" not in ended.text
    assert "\u202e" not in ended.text


def test_a_folder_that_is_gone_is_told(llmenv: Program) -> None:
    """The current folder was deleted by somebody else."""
    done = shell(llmenv, "mkdir gone; cd gone; rmdir ../gone; LLMENV tiers list")
    assert "Traceback" not in done.stderr


def test_a_secret_variable_is_not_shown(llmenv: Program, prefix: Path) -> None:
    """A key somebody put into ``variables`` is not printed by ``info``."""
    llmenv.write("team.yml", "dependencies: [six]\nvariables: {WANDB_API_KEY: s3cr3t}\n")
    assert llmenv("create", "-f", "team.yml", "-p", prefix).code == 0
    assert "s3cr3t" not in llmenv("info", "-p", prefix, "--json").text
