"""Which operation is wrong on which rank, and where the values came from."""

from __future__ import annotations

import pytest

from conda_llmenv.checks.ranks_collectives import exact
from conda_llmenv.model import Finding, Status
from tests.checks.ranks_scenes import Told, collectives, launch, scene, wrong


def judged(changes: Told, size: int = 2) -> Finding:
    return exact(scene("collectives", launch(collectives, size, changes)))


def test_exact_values_pass_and_name_the_world_sizes() -> None:
    """Both launches are told."""
    finding = exact(scene("collectives", launch(collectives, 4), launch(collectives, 2)))
    assert finding.status is Status.PASS
    assert finding.summary == "6 operations and a barrier are exact with 2 and 4 ranks (gloo)"


def test_one_odd_rank_is_named() -> None:
    """A rank whose own result is wrong while the others' are right."""
    finding = judged({1: wrong("all_reduce SUM")}, size=4)
    assert finding.status is Status.FAIL
    assert finding.summary == "all_reduce SUM is wrong on rank 1 of 4, and right on the others"
    assert "43" in finding.measured
    assert "3 of 2002 values wrong on rank 1, the first at 1500" in finding.measured
    assert finding.expected == "42"


def test_all_seeing_the_same_wrong_sum_blames_what_goes_in() -> None:
    """Nobody's own result differs, so the operation cannot tell whose part it was."""
    finding = judged({0: wrong("all_reduce SUM"), 1: wrong("all_reduce SUM")})
    assert finding.summary == (
        "all_reduce SUM is wrong on each of 2 ranks: all see the same, so one of them puts a wrong value in"
    )


@pytest.mark.parametrize(
    ("changes", "source"),
    [
        ({0: wrong("all_gather"), 1: wrong("all_gather")}, "in what rank 1 of 2 sent"),
        ({0: wrong("all_to_all")}, "in what rank 1 of 2 sent"),
        ({0: wrong("send and receive", index=5)}, "in what rank 1 sent"),
    ],
)
def test_sender_of_wrong_values_is_named_where_the_place_tells(changes: Told, source: str) -> None:
    """Position 1500 of blocks of 1001 is in that of rank 1; in a ring, a rank gets from the one before."""
    assert judged(changes).summary.endswith(source)


def test_several_wrong_operations_are_counted_and_listed() -> None:
    """The first decides the sentence, the rest stand in the detail."""

    def change(told: dict[str, object]) -> None:
        wrong("broadcast")(told)
        wrong("all_to_all", index=2)(told)

    finding = judged({1: change})
    assert finding.summary.endswith("(and 1 more)")
    assert finding.summary.startswith("broadcast is wrong on rank 1 of 2")
    assert finding.detail == ("all_to_all is wrong on rank 1 of 2, and right on the others, in what rank 0 of 2 sent",)


def test_barrier_that_does_not_wait_fails() -> None:
    """Rank 0 left 30 ms before rank 3 came."""
    finding = judged({0: lambda told: told["barrier"].update(left=100.0)}, size=4)
    assert finding.summary == "the barrier let rank 0 of 4 through before rank 3 had come"
    assert finding.measured == "30 ms too early"


def test_operation_that_a_backend_lacks_is_no_fault() -> None:
    """As gloo, which had no reduce_scatter for years."""
    absent = {"absent": "ProcessGroupGloo does not support all_to_all"}
    changes = dict.fromkeys((0, 1), lambda told: told["ops"].update(all_to_all=absent))
    finding = judged(changes)
    assert finding.status is Status.PASS
    assert finding.summary.startswith("5 operations")
    assert finding.detail == ("all_to_all is not offered by gloo",)


def test_fix_for_cards_tries_without_peer_access() -> None:
    """The command can be pasted although the prefix has a space."""
    told = launch(collectives, 2, {1: wrong("broadcast")})
    for one in told:
        one["backend"] = "nccl"
    finding = exact(scene("collectives", told))
    assert "`NCCL_P2P_DISABLE=1 llmenv verify -p '/envs/my env' --only collectives`" in finding.fix
