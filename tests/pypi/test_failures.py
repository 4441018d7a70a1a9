"""A tool's output as one sentence with a next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.model import Origin, PipKind, PipRequest
from conda_llmenv.pypi.blame import AskedFile
from conda_llmenv.pypi.failures import KEPT_LINES, culprit, failed
from tests.index.fixtures import CANARY, requirement, section

SECOND = Origin("env.yml", 6)


@pytest.mark.parametrize(
    ("output", "hint"),
    [
        ("error: Git executable not found. Ensure that Git is installed and available.", "add `git`"),
        ("ERROR: Cannot find command 'git' - do you have 'git' installed and in your PATH?", "add `git`"),
        ("error: command 'gcc' failed: No such file or directory", "cxx-compiler"),
        ("OSError: CUDA_HOME environment variable is not set", "cuda-nvcc"),
        ("cause: No space left on device (os error 28)", "disk is full"),
        ("cause: dns error", "cannot be reached"),
        ("HTTP status client error (403 Forbidden)", "credentials"),
        ("ModuleNotFoundError: No module named 'torch'", "no_build_isolation"),
    ],
)
def test_common_causes_have_a_next_step(output: str, hint: str) -> None:
    """Missing tools and full disks are recognised by the words that tools use for them."""
    assert hint in failed(PipRequest(section("lib"), "3.11.0"), output, "built").hint


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("  cause: Failed to download `Some_Pkg==1.0`", "some-pkg"),
        ("  x Failed to build `flash-attn==2.7.4`", "flash-attn"),
        ("Hash mismatch for `lib==1.0`", "lib"),
        ("ERROR: No matching distribution found for no-such-pkg==0", "no-such-pkg"),
        ("Because a.b was not found in the package registry and you require c", "a-b"),
        ("ERROR: Failed building wheel for apex", "apex"),
        ("something else went wrong", None),
    ],
)
def test_the_package_to_blame_is_found(output: str, name: str | None) -> None:
    """The words of uv and of pip both lead to the distribution."""
    assert culprit(output) == name


def test_only_the_last_lines_are_kept_and_masked() -> None:
    """A build of thousands of lines gives a short error, without the secrets it printed."""
    noise = "\n".join(f"line {number}" for number in range(5000))
    error = failed(PipRequest(section("lib"), "3.11.0"), f"{noise}\nhttps://u:{CANARY}@h/simple", "built")
    assert len(error.details) == KEPT_LINES
    assert error.details[-1] == "https://***@h/simple"
    assert error.message == "env.yml:5: lib could not be built"


@pytest.mark.parametrize(
    ("output", "where"),
    [
        ('error: Expected `--hash`, found `"--x"`: requirements.in:2:5', "env.yml:6"),
        ("error: Couldn't parse requirement in `requirements.in` at position 4", "env.yml:6"),
        ("error: Couldn't parse requirement in `/tmp/a/requirements.in` at position 3", "env.yml:5"),
        ("error: Unsupported editable requirement in `requirements.in` at line 2: `x`", "env.yml:6"),
        ("ERROR: Invalid requirement: 'a b' (from line 2 of /tmp/a/requirements.in)", "env.yml:6"),
    ],
)
def test_a_line_that_a_tool_cannot_read_is_the_fragments(output: str, where: str) -> None:
    """The file written for the tool is gone when a person reads the message; it is an input mistake."""
    wanted = section("six", "a===junk")
    asked = AskedFile("requirements.in", [one.text for one in wanted.requirements], [Origin("env.yml", 5), SECOND])
    error = failed(PipRequest(wanted, "3.11.0"), output, "resolved", asked)
    assert error.message.startswith(f"{where}: ")
    assert error.exit_code == 2
    assert "requirements.in" not in str(error.details)


@pytest.mark.parametrize(
    ("output", "subject"),
    [
        ("error: Git operation failed\n fetch 'https://h/owner/x'", "env.yml:6: git+https://***@h/owner/x@main"),
        ("error: Distribution not found at: file:///w/y-1.zip", "env.yml:7: ./y-1.zip"),
        ("error: something about six", "env.yml:5: six"),
        ("error: something else", "env.yml:5: the pip section"),
    ],
)
def test_an_address_leads_to_its_line(output: str, subject: str) -> None:
    """Where a tool names no distribution, what it does name is looked up; the section's place is the least."""
    wanted = section(
        "six",
        requirement(f"git+https://{CANARY}@h/owner/x@main", line=6, kind=PipKind.VCS),
        requirement("./y-1.zip", line=7, kind=PipKind.PATH, path=Path("/w/y-1.zip")),
    )
    error = failed(PipRequest(wanted, "3.11.0"), output, "resolved")
    assert error.message == f"{subject} could not be resolved"
    assert error.exit_code == 1
