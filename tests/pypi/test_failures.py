"""A tool's output as one sentence with a next step."""

from __future__ import annotations

import pytest

from conda_llmenv.model import PipRequest
from conda_llmenv.pypi.failures import KEPT_LINES, culprit, failed
from tests.index.fixtures import CANARY, section


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
    """reliability.md 42: missing tools and full disks are recognised by the words that tools use for them."""
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
    assert error.message == "the pip section could not be built"
