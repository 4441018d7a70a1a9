"""conda's process ends as it should after the embedded engine has been at work in it."""

from __future__ import annotations

from tests.conda.conftest import Conda

ROUNDS = 12
"""Without waiting for the library's threads about every third process was aborted."""


def test_a_failed_solve_ends_with_its_own_exit_code(conda: Conda) -> None:
    """A refusal is over in no time, so the library's threads are still busy when conda takes the interpreter down."""
    codes = [conda("llmenv", "create", "-n", "x", "python", "nosuchpackage", "-y").code for _ in range(ROUNDS)]
    assert codes == [1] * ROUNDS
