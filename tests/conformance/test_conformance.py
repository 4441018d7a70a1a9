"""Case by case, engine by engine: the records or the failure that the case says, and the same from all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest

from tests.conformance.asking import REVERSED, reversible
from tests.conformance.batch import CONDA_PYTHON
from tests.conformance.cases import BASE, ENGINES, SOLVERS, Asked, everything
from tests.conformance.conftest import Batches, Places
from tests.conformance.verdicts import difference_faults, faults, unequal_records

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]


def pairs(cases: Iterable[Asked]) -> list[object]:
    """Return every case with every solver that may be here, a solver's cases on one worker: they share one process."""
    solvers = SOLVERS if os.environ.get(CONDA_PYTHON) else (BASE,)
    return [_pair(asked, solver) for asked in cases for solver in solvers if asked.is_for(solver)]


def _pair(asked: Asked, solver: str) -> object:
    marks = [pytest.mark.xdist_group(f"conformance-{solver}")]
    marks += [pytest.mark.conda] if solver != BASE else []
    marks += [pytest.mark.channels] if asked.world == "recorded" else []
    return pytest.param(asked, solver, marks=marks, id=f"{asked.id}-{solver}")


@pytest.mark.parametrize(("asked", "solver"), pairs(everything()))
def test_the_answer_is_what_the_case_says(asked: Asked, solver: str, batches: Batches, places: Places) -> None:
    """The listed records, or the failure with the right names; the full records are the base engine's in every field.

    And they are what the channels' own repodata says. Where the case lists a difference, that is there instead.
    """
    case, place = asked.case, places[asked.world]()
    answer, base = batches.answer(solver, asked.id), batches.answer(BASE, asked.id)
    told = solver in ENGINES  # the words of conda's other solvers are their own
    if difference := case.difference(solver):
        assert list(difference_faults(case, difference, place, answer, base, told=told)) == []
    else:
        assert list(faults(case, place, answer, told=told)) == []
        assert case.difference(BASE) or unequal_records(answer, base) == []


@pytest.mark.parametrize(("asked", "solver"), pairs(asked for asked in everything() if reversible(asked)))
def test_the_order_of_the_specs_does_not_matter(asked: Asked, solver: str, batches: Batches) -> None:
    """The same specs the other way round have the same records, or fail as well."""
    forwards, backwards = (batches.answer(solver, asked.id + end) for end in ("", REVERSED))
    assert unequal_records(forwards, backwards) == []
    assert (forwards.failure and forwards.failure.code) == (backwards.failure and backwards.failure.code)


@pytest.mark.parametrize(
    "solver", [pytest.param(name, marks=pytest.mark.xdist_group(f"conformance-{name}")) for name in SOLVERS]
)
def test_an_engine_prints_nothing(solver: str, batches: Batches) -> None:
    """What a person sees is the program's to say: `--json` has one document on stdout."""
    assert batches.of(solver).printed == ""
