"""What is wrong with a step of several ranks, told by its cause and its rank."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.checks.ranks_steps import ddp, fsdp
from conda_llmenv.model import Finding, Status
from tests.checks import ranks_scenes
from tests.checks.ranks_scenes import NAMES, Change, Told, gradients, launch, scene, steps

F32, F64 = ("float32",), ("float64",)


def judged(changes: Told, size: int = 4) -> Finding:
    return ddp(scene("ddp-step", launch(ranks_scenes.ddp, size, changes)))


def everywhere(change: Change, size: int = 4) -> dict[int, Change]:
    return dict.fromkeys(range(size), change)


def shard(*numbers: int) -> Change:
    return lambda told: told.update(shard=list(numbers))


def test_agreeing_steps_pass_with_the_worst_errors_told() -> None:
    """Of all ranks and world sizes."""
    two, four = launch(ranks_scenes.ddp, 2), launch(ranks_scenes.ddp, 4, {2: steps(F32, error=1.9e-7)})
    finding = ddp(scene("ddp-step", two, four))
    assert finding.status is Status.PASS
    assert finding.measured == "float32 1.9e-07, float64 2.3e-16"
    assert finding.expected == "float32 ≤ 1e-05, float64 ≤ 1e-12"
    assert "2 and 4 ranks (gloo)" in finding.summary


def off(error: float, **more: Any) -> Change:
    """Return gradients in float32 that are off by so much, in no way that explains it."""
    return steps(F32, **gradients(error=error, rest=error, **more))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (steps(F32, **gradients(error=3.0, factor=4.0, rest=3e-7)), "4 times those of a single process"),
        (steps(F32, **gradients(error=3.0, factor=4.0, rest=3e-7)), "missing 1/n"),
        (steps(F32, **gradients(error=0.75, factor=0.25, rest=1e-7)), "divided by the world size twice"),
        (steps(F32, **gradients(error=0.5, factor=1.5, rest=1e-7)), "are 1.5 times those"),
        (off(1.7e-3, precision="bfloat16"), "rounded to bfloat16 where float32 is expected"),
        (off(2e-4, precision="float16"), "rounded to float16 where float32 is expected"),
        (off(1.7e-3), "arithmetic in bfloat16"),
        (off(1e-4), "arithmetic in float16 or TF32"),
        (off(0.43), "are not those of a single process"),
        (off(0.43, own=1e-7), "of its own shard: they were never averaged"),
        (off(float("nan")), "are not finite"),
        (steps(F64, **gradients(error=1e-7, rest=1e-7, precision="float32")), "rounded to float32 where float64"),
        (steps(F64, **gradients(error=1e-7, rest=1e-7, precision="float64")), "arithmetic in float32"),
    ],
)
def test_cause_of_wrong_gradients_is_told(change: Change, said: str) -> None:
    """From the factor, the precision of the values and the size of the error."""
    finding = judged(everywhere(change))
    assert finding.status is Status.FAIL
    assert said in finding.summary
    assert "gradients under DDP on each of 4 ranks" in finding.summary


def test_hook_without_division_has_its_own_fix() -> None:
    """The one cause that is mostly a person's own code."""
    change = steps(F32, **gradients(error=3.0, factor=4.0, rest=3e-7))
    assert "divide in the hook" in judged(everywhere(change)).fix
    assert "--integrity" in judged(everywhere(off(0.43))).fix


def test_rank_whose_own_part_is_wrong_is_named() -> None:
    """Averages are wrong everywhere; what a rank had before tells where it began."""
    changes = {**everywhere(off(1e-3)), 2: off(1e-3, local=4e-3)}
    assert judged(changes).summary.endswith("; it begins on rank 2 of 4")


def test_gradients_that_differ_between_ranks_fail() -> None:
    """Each within the limit, but not the same bytes."""
    finding = judged({3: steps(F32, gradient="b0")})
    assert finding.summary == "float32 gradients under DDP are not the same bytes on rank 3 of 4 as on the rest"


def test_another_seed_is_told_from_its_consequences() -> None:
    """The odd rank compares with a model of its own, so its gradients say nothing."""
    changes = {1: steps(initial="a0", **gradients(error=1.2, rest=1.1))}
    finding = judged(changes)
    assert finding.summary == (
        "rank 1 of 4 makes other parameters than the rest from the same seed: another seed or generator"
    )
    assert finding.detail == ()


def test_another_seed_on_rank_0_is_that_of_rank_0() -> None:
    """DDP goes on with what rank 0 has, so the others' single processes say nothing."""
    odd = steps(**gradients(error=1.2, rest=1.1))
    changes: Told = {0: steps(initial="a0", wrapped="aa"), 1: odd, 2: odd, 3: odd}
    assert judged(changes).summary.startswith("rank 0 of 4 makes other parameters")


def test_parameters_that_are_not_handed_out_are_told_once() -> None:
    """Both dtypes see it, and what follows from it is left out."""
    change = steps(wrapped="a0", gradient="b0", parameters=dict.fromkeys(NAMES, "c0"))
    finding = judged({2: change})
    assert finding.summary == "DDP does not hand the parameters of rank 0 to rank 2 of 4"
    assert finding.detail == ()


def test_uneven_shard_hides_what_follows_from_it() -> None:
    """Gradients of other samples differ, of course."""
    changes = {**everywhere(off(0.43)), 1: shard(1, 5)}
    finding = judged(changes)
    assert finding.summary == "DistributedSampler gives rank 1 of 4 an uneven shard: 8, 2, 8, 8 of 32 samples"
    assert finding.detail == ()


def test_overlapping_shards_are_another_shuffle() -> None:
    """Even, but four samples are drawn twice."""
    finding = judged({1: shard(1, 5, 9, 13, 0, 4, 8, 12)})
    assert "4 of 32 samples are left out, so a rank shuffles with another seed" in finding.summary


def test_stale_parameter_is_named_with_its_rank() -> None:
    """Unchanged since the start on one rank."""
    finding = judged({1: steps(unchanged=["0.weight"], parameters={"0.weight": "aa", "2.bias": "cc"})})
    assert finding.summary == "a stale parameter: 0.weight did not change in 3 AdamW steps on rank 1 of 4"


def test_parameter_that_missed_a_step_is_named_with_its_rank() -> None:
    """Changed, but not to what the others hold."""
    finding = judged({2: steps(parameters={"0.weight": "cc", "2.bias": "c0"})})
    assert finding.summary == (
        "after 3 AdamW steps with equal gradients rank 2 of 4 holds other values of 2.bias: stale parameters"
    )
    assert judged({2: steps(parameters=dict.fromkeys(NAMES, "c0"))}).summary.endswith(
        "holds other values of every parameter: stale parameters"
    )


def test_with_two_ranks_the_odd_one_is_that_which_differs_from_rank_0() -> None:
    """There is no majority of two."""
    finding = judged({1: steps(parameters={"0.weight": "cc", "2.bias": "c0"})}, size=2)
    assert "rank 1 of 2 holds other values" in finding.summary


def test_loss_that_is_not_finite_fails() -> None:
    """Even where gradients happen to agree."""
    finding = judged({3: steps(F32, finite=False, losses=[1.5, float("inf"), float("nan")])})
    assert finding.summary == "the loss is not finite on rank 3 of 4 (float32)"
    assert finding.measured == "1.5, inf, nan"


def test_single_rank_agrees_with_itself() -> None:
    """One card: its shard is the whole batch, and that is no missing average."""
    change = steps(**gradients(error=0.0, rest=0.0, own=0.0))
    finding = judged({0: change}, size=1)
    assert finding.status is Status.PASS
    assert "1 rank (gloo)" in finding.summary


def sharded(changes: Told, size: int = 2) -> Finding:
    return fsdp(scene("fsdp-step", launch(ranks_scenes.fsdp, size, changes)))


def test_sharded_step_passes() -> None:
    """With the error told."""
    finding = sharded({})
    assert finding.status is Status.PASS
    assert finding.measured == "float32 1.5e-07"


def test_torch_without_fsdp2_is_skipped() -> None:
    """Not a pass: nothing was seen."""
    absent = ranks_scenes.of(0, 2, absent="torch 2.3.1 has no fully_shard")
    finding = fsdp(scene("fsdp-step", [absent, absent]))
    assert finding.status is Status.SKIP
    assert finding.summary == "torch 2.3.1 has no fully_shard, which came with torch 2.4"


def test_wrong_sharded_gradients_fail() -> None:
    """By the same limit and with the same causes as under DDP."""
    change: Change = lambda told: told.update(error=1.0, factor=2.0, rest=1e-7)  # noqa: E731 - as every other change
    finding = sharded({0: change, 1: change})
    assert "float32 gradients under FSDP on each of 2 ranks are 2 times" in finding.summary


def test_parameters_that_stay_whole_fail() -> None:
    """Sharding that does not shard runs out of memory later."""
    finding = sharded({1: lambda told: told.update(share=1.0)})
    assert finding.summary == "fully_shard leaves the parameters whole on rank 1 of 2"
    assert (finding.measured, finding.expected) == ("100%", "about 50%")


def test_one_rank_keeps_everything() -> None:
    """There is nobody to share with."""
    assert sharded({}, size=1).status is Status.PASS
