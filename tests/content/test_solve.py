"""Every tier with every recipe, solved on recorded conda-forge metadata: the right kind of build, or a named hole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from conda_llmenv.compose import ComposeRequest, compose
from conda_llmenv.engines.rattler.engine import RattlerEngine
from conda_llmenv.errors import Unsatisfiable
from conda_llmenv.hardware import check_after, check_before, virtual_packages
from conda_llmenv.model import Channel, EnvSpec, HostFacts, Notice, Solution, SolveRequest, Status
from tests.content.packaged import FRAGMENTS, RECIPES, ROOT, TIERS, PackagedLibrary
from tests.content.test_compose import TUTORIAL, composed, with_fragment

CHANNELS = ROOT.parent / "shared" / "channels"
pytestmark = [
    pytest.mark.channels,
    pytest.mark.skipif(not CHANNELS.is_dir(), reason=f"no recorded conda metadata at {CHANNELS}"),
]

LOGIN_NODE = HostFacts(subdir="linux-64", glibc="2.35", kernel="6.8", cpu_level="x86_64_v3")
"""A machine without a card, where environments are built: the tier's assumptions decide."""

TIER_NAMES = [path.stem for path in TIERS]
RECIPE_NAMES = [path.stem for path in RECIPES]


@dataclass(frozen=True)
class Missing:
    """A package that the recorded metadata lacks."""

    package: str
    recipes: tuple[str, ...]
    fragments: tuple[str, ...]
    hole: str


def missing_records() -> tuple[Missing, ...]:
    """Return the table of holes."""
    rows = YAML(typ="safe", pure=True).load(Path(__file__).with_name("missing_records.yml"))
    return tuple(Missing(row["package"], tuple(row["recipes"]), tuple(row["fragments"]), row["hole"]) for row in rows)


def holes_of(recipe: str = "", fragment: str = "") -> tuple[str, ...]:
    """Return the packages without a record that a recipe or fragment asks for."""
    return tuple(row.package for row in missing_records() if recipe in row.recipes or fragment in row.fragments)


class Silent:
    """Reports nothing."""

    def start(self, stage: str, total: int | None = None, detail: str = "") -> None:
        """Ignore the start of a stage."""

    def advance(self, stage: str, done: int, total: int | None = None) -> None:
        """Ignore progress."""

    def finish(self, stage: str, detail: str = "") -> None:
        """Ignore the end of a stage."""

    def line(self, stage: str, text: str) -> None:
        """Ignore a line of output."""

    def notice(self, notice: Notice) -> None:
        """Ignore a warning."""


Solve = Callable[[EnvSpec, tuple[str, ...]], Solution]


@pytest.fixture(scope="module")
def solve(tmp_path_factory: pytest.TempPathFactory) -> Solve:
    """Return the plan's own solve: virtual packages by the tier, strict priority; equal requests are solved once."""
    repodata = tmp_path_factory.mktemp("repodata")
    engine = RattlerEngine()

    @cache
    def solved(request: SolveRequest) -> Solution | Unsatisfiable:
        try:
            return engine.solve(request, Silent())
        except Unsatisfiable as error:
            return error

    def run(spec: EnvSpec, without: tuple[str, ...] = ()) -> Solution:
        virtual, _ = virtual_packages(LOGIN_NODE, spec, {})
        result = solved(
            SolveRequest(
                specs=tuple(text for merged in spec.specs if merged.name not in without for text in merged.texts),
                channels=tuple(Channel(one.name, (CHANNELS / one.name).as_uri()) for one in spec.channels),
                subdirs=("linux-64", "noarch"),
                virtual_packages=virtual,
                channel_priority=spec.channel_priority,
                repodata_cache=repodata,
            )
        )
        if isinstance(result, Unsatisfiable):
            raise result
        return result

    return run


def expect_hole(solve: Solve, spec: EnvSpec, package: str) -> None:
    """Check that the solve fails, and that the failure names the package without a record."""
    with pytest.raises(Unsatisfiable) as caught:
        solve(spec, ())
    told = " ".join((caught.value.message, *caught.value.packages, *caught.value.details))
    assert package in told


@pytest.mark.parametrize("tier", TIER_NAMES)
@pytest.mark.parametrize("recipe", RECIPE_NAMES)
def test_every_tier_and_recipe_solves_with_the_right_build(tier: str, recipe: str, solve: Solve) -> None:
    """A GPU tier gets a CUDA build with code for its cards, the CPU tier a CPU build; no plan check refuses."""
    spec = composed(tier, recipe)
    holes = holes_of(recipe=recipe)
    for package in holes:
        expect_hole(solve, spec, package)
    solution = solve(spec, holes)
    virtual, _ = virtual_packages(LOGIN_NODE, spec, {})
    verdicts = (*check_before(spec, LOGIN_NODE, virtual), *check_after(spec, solution, LOGIN_NODE, virtual))
    assert [verdict.summary for verdict in verdicts if verdict.status is Status.FAIL] == []
    pytorch, cuda = solution.record("pytorch"), solution.record("cuda-version")
    if recipe == "minimal":
        assert pytorch is None
        return
    assert pytorch is not None
    if tier == "cpu":
        assert pytorch.build.startswith("cpu")
        assert cuda is None
    else:
        # The CUDA 12.9 builds are the ones with code for every card from Volta to Blackwell.
        assert pytorch.build.startswith("cuda129")
        assert cuda is not None
        assert cuda.version.startswith("12.")


@pytest.mark.parametrize("fragment", [path.stem for path in FRAGMENTS])
def test_every_fragment_solves_beside_a_gpu_tier(fragment: str, solve: Solve) -> None:
    """`--tier a100 -f FRAGMENT` has a solution; where pytorch is part of it, a CUDA build."""
    spec = with_fragment("a100", fragment)
    holes = holes_of(fragment=fragment)
    for package in holes:
        expect_hole(solve, spec, package)
    pytorch = solve(spec, holes).record("pytorch")
    assert pytorch is None or pytorch.build.startswith("cuda12")


@pytest.mark.parametrize("fragment", ["pytorch", "huggingface", "peft"])
def test_a_fragment_beside_the_cpu_tier_gives_a_cpu_build(fragment: str, solve: Solve) -> None:
    """`--tier cpu` with a file that extends a framework, on whichever side of the tier it is stacked."""
    pytorch = solve(with_fragment("cpu", fragment), ()).record("pytorch")
    assert pytorch is not None
    assert pytorch.build.startswith("cpu")


def test_the_tutorial_environment_solves_beside_the_tier_of_its_card(solve: Solve, tmp_path: Path) -> None:
    """Its CPU build comes to light because nothing of ours makes it unsatisfiable first."""
    file = tmp_path / "environment.yml"
    file.write_text(TUTORIAL)
    spec = compose(ComposeRequest(tier="a100", files=(file,)), PackagedLibrary())
    assert str(solve(spec, ()).record("pytorch")) == "pytorch 2.0.1 py3.9_cpu_0"


def test_every_listed_hole_is_used() -> None:
    """The table of missing records names recipes and fragments that are there."""
    for row in missing_records():
        assert row.hole
        assert set(row.recipes) <= set(RECIPE_NAMES)
        assert row.fragments
        assert set(row.fragments) <= {path.stem for path in FRAGMENTS}
