"""Which processes look for which checks, with which settings and limits."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.checks.registry import BY_ID, LADDER, selected, with_needed
from conda_llmenv.checks.runs import START_SECONDS, Course, runs_of, stages
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware import load_tables
from conda_llmenv.model import HostFacts, Level, Observation, ProbeRun

TABLES = load_tables()


def runs(probe: str, level: Level = Level.FULL, *, settings: Any = None, **course: Any) -> tuple[ProbeRun, ...]:
    """Return the processes for all checks of a probe, after packages were found to bring some modules."""
    seen = {
        "modules": (Observation("modules", {"modules": {"pyyaml": ["yaml"], "six": ["six"]}}),),
        "torch-import": (Observation("torch-import", {"cuda_available": True, "backends": ["nccl", "gloo"]}),),
    }
    scene = Scene("/env", HostFacts("linux-64"), TABLES, settings=settings or {}, seen=seen)
    return runs_of(probe, stages(LADDER)[probe], scene, Course(level, **course))


def test_ids_are_unique_and_everything_stands_on_what_comes_before() -> None:
    """A check whose needs come later would be tried although they fail."""
    done: set[str] = set()
    for check in LADDER:
        assert check.id not in done
        assert set(check.everything_needed) <= done, check.id
        done.add(check.id)


def test_a_level_has_the_checks_below_it() -> None:
    """Each higher level looks at more."""
    quick, full, deep = (set(selected(level)) for level in Level)
    assert quick < full < deep == set(LADDER)


def test_one_check_brings_what_it_stands_on() -> None:
    """Whatever its level, in the order of the ladder."""
    chosen = with_needed(selected(Level.QUICK, ["ddp-step"]))
    assert [check.id for check in chosen] == ["python", "torch-import", "collectives", "ddp-step"]


def test_packages_that_were_asked_for_are_looked_up() -> None:
    """What they bring is imported later, so the first probe has to know them."""
    (run,) = runs("python", packages=("pyyaml", "six"))
    assert run.asked["packages"] == ["pyyaml", "six"]


def test_each_module_is_imported_once_in_a_process_of_its_own() -> None:
    """What layers promise comes first; a limit in the layers is the limit of each."""
    found = runs("imports", modules=("torch", "six"), settings={"import_timeout": 7})
    assert [run.asked["module"] for run in found] == ["torch", "six", "yaml"]
    assert {run.timeout for run in found} == {7.0}


def test_ranks_are_launched_for_each_world_size() -> None:
    """With NCCL where torch can use it."""
    found = runs("ranks", worlds=(2, 4))
    assert [(run.ranks, run.asked["backend"]) for run in found] == [(2, "nccl"), (4, "nccl")]


def test_time_is_that_of_all_checks_and_counts_once_what_several_read() -> None:
    """Two checks of one observation take no longer than one."""
    (run,) = runs("machine")
    assert len(run.checks) == len(set(run.checks))
    assert run.timeout == START_SECONDS + sum(BY_ID[check].timeout for check in run.checks)


@pytest.mark.parametrize(("level", "small", "deep"), [(Level.QUICK, True, False), (Level.DEEP, False, True)])
def test_a_preflight_asks_for_little(level: Level, small: bool, deep: bool) -> None:  # noqa: FBT001 - a table
    """Products of a preflight are small, checkpoints of a deep run large."""
    (run,) = runs("compute", level)
    assert (run.asked["small"], run.asked["deep"]) == (small, deep)
