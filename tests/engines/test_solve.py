"""Solving: what is chosen, and what is said when nothing fits."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import shutil
from pathlib import Path

import pytest

from conda_llmenv.errors import InputError, Unsatisfiable
from conda_llmenv.model import VirtualPackage
from tests.channel.interpreter import SHORT, TAG
from tests.engines.support import CUDA, HOST, SUBDIRS, Recorder, channel, chosen, engine, named, solve, solve_request


def test_the_whole_environment_comes_sorted_with_its_engine(offline_channel: Path) -> None:
    """A solution is every record in name order, with what is needed to fetch and verify it."""
    solution = solve("pip", channels=(channel(offline_channel),))
    names = [record.name for record in solution.records]
    assert names == sorted(names)
    assert {"pip", "python", "setuptools", "ca-certificates"} <= set(names)
    python = chosen(solution, "python")
    assert python.python_site_packages_path == f"lib/python{SHORT}/site-packages"
    assert (len(python.sha256 or ""), python.channel) == (64, channel(offline_channel).url)
    assert solution.engine == "rattler"


def test_python_does_not_bring_pip_by_itself(offline_channel: Path) -> None:
    """Whether pip is there is decided by the fragments, not by an old custom of conda."""
    assert "pip" not in named(solve("python", channels=(channel(offline_channel),)))


def test_the_order_of_specs_does_not_matter(offline_channel: Path) -> None:
    """The same question in any order has the same answer."""
    specs = ("pytorch", "numpy", "nccl", "gate-c")
    answers = {solve(*order, channels=(channel(offline_channel),)).records for order in itertools.permutations(specs)}
    assert len(answers) == 1


def test_a_gpu_build_needs_the_virtual_package(offline_channel: Path) -> None:
    """conda-libmamba-solver#646: with `__cuda` the CUDA build, without it the CPU build; nothing is detected."""
    channels = (channel(offline_channel),)
    assert chosen(solve("pytorch", channels=channels), "pytorch").build == f"cpu_generic_py{TAG}_h0_1"
    with_gpu = solve("pytorch", channels=channels, virtual_packages=CUDA)
    assert chosen(with_gpu, "pytorch").build == f"cuda126_generic_py{TAG}_h0_201"
    assert chosen(with_gpu, "pytorch-mutex").build == "cuda"


def test_a_constraint_on_a_virtual_package_holds(offline_channel: Path) -> None:
    """`cuda-version` 12 constrains `__cuda >=12`: an old driver gets 11.8, and a spec for 12 is refused."""
    channels, old = (channel(offline_channel),), (*HOST, VirtualPackage("__cuda", "11.8"))
    assert named(solve("cuda-version", channels=channels, virtual_packages=old))["cuda-version"] == "11.8"
    with pytest.raises(Unsatisfiable, match="cuda-version"):
        solve("cuda-version 12.*", channels=channels, virtual_packages=old)


def test_strict_priority_defeats_dependency_confusion(offline_channel: Path) -> None:
    """A higher version of a known name on a later channel is not taken, not even by a package of that channel."""
    channels = (channel(offline_channel), channel(offline_channel, "other"))
    solution = solve("only-other", channels=channels)
    assert named(solution) == {"only-other": "1.0", "confused": "1.0"}
    assert chosen(solution, "confused").channel == channels[0].url


def test_strict_priority_says_so_when_it_is_the_reason(offline_channel: Path) -> None:
    """A version that only a later channel has: the message names the rule that hides it."""
    channels = (channel(offline_channel), channel(offline_channel, "other"))
    with pytest.raises(Unsatisfiable) as caught:
        solve("confused >=9", channels=channels)
    assert caught.value.packages == ("confused",)
    assert "strict channel priority" in caught.value.hint


@pytest.mark.parametrize(("priority", "version"), [("strict", "1.0"), ("flexible", "1.0"), ("disabled", "9.0")])
def test_priorities_mean_what_they_mean_to_conda(offline_channel: Path, priority: str, version: str) -> None:
    """Strict and flexible prefer the first channel; disabled prefers the higher version."""
    channels = (channel(offline_channel), channel(offline_channel, "other"))
    assert named(solve("confused", channels=channels, channel_priority=priority)) == {"confused": version}


def test_flexible_reaches_behind_where_it_must(offline_channel: Path) -> None:
    """Conda's flexible: a later channel is used when the first one cannot satisfy the spec."""
    channels = (channel(offline_channel), channel(offline_channel, "other"))
    assert named(solve("confused >=9", channels=channels, channel_priority="flexible")) == {"confused": "9.0"}


def test_an_unknown_priority_is_refused(offline_channel: Path) -> None:
    """A typing mistake must not become strict silently."""
    with pytest.raises(InputError, match="'strickt'") as caught:
        solve("gate-c", channels=(channel(offline_channel),), channel_priority="strickt")
    assert "flexible" in caught.value.hint


def test_a_channel_can_be_named_in_a_spec(offline_channel: Path) -> None:
    """`other::confused` takes that channel's, although it is listed second."""
    channels = (channel(offline_channel), channel(offline_channel, "other"))
    assert named(solve("other::confused", channels=channels)) == {"confused": "9.0"}


def test_packages_newer_than_the_cutoff_are_ignored(offline_channel: Path) -> None:
    """`exclude_newer` gives what would have been chosen on that day, in any time zone."""
    channels, day = (channel(offline_channel),), dt.datetime(2025, 3, 1, tzinfo=dt.timezone.utc)
    assert named(solve("dated", channels=channels)) == {"dated": "2.0"}
    assert named(solve("dated", channels=channels, exclude_newer=day)) == {"dated": "1.0"}
    edge = dt.datetime(2025, 6, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert named(solve("dated", channels=channels, exclude_newer=edge)) == {"dated": "1.0"}


def test_a_package_without_a_date_is_not_old_enough(offline_channel: Path, tmp_path: Path) -> None:
    """Under a cutoff, what does not say when it was built is left out, with every version of the library."""
    channels = Path(shutil.copytree(offline_channel, tmp_path / "channels"))
    path = channels / "conda-forge" / SUBDIRS[0] / "repodata.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    for record in data["packages.conda"].values():
        record.pop("timestamp", None)
    path.write_text(json.dumps(data), encoding="utf-8")
    day = dt.datetime(2030, 1, 1, tzinfo=dt.timezone.utc)
    with pytest.raises(Unsatisfiable, match="dated"):
        solve("dated", channels=(channel(channels),), exclude_newer=day)


def test_locked_records_are_kept_where_they_fit(offline_channel: Path) -> None:
    """What is installed is not upgraded for nothing, and gives way where a spec asks for more."""
    channels = (channel(offline_channel),)
    old = solve("gate-c <2", channels=channels).records
    assert named(solve("gate-c", channels=channels, locked=old)) == {"gate-c": "1.0"}
    assert named(solve("gate-c >=2", channels=channels, locked=old)) == {"gate-c": "2.0"}


def test_constraints_install_nothing(offline_channel: Path) -> None:
    """A constraint holds if the package is there at all, and does not bring it."""
    channels = (channel(offline_channel),)
    assert named(solve("data-generic", channels=channels, constraints=("gate-c <2",))) == {"data-generic": "2.0"}
    assert named(solve("gate-c", channels=channels, constraints=("gate-c <2",))) == {"gate-c": "1.0"}


def test_a_conflict_names_every_package_of_it(offline_channel: Path) -> None:
    """Two packages that need different versions of a third: all three are named, and the text is readable."""
    with pytest.raises(Unsatisfiable) as caught:
        solve("gate-a", "gate-b", channels=(channel(offline_channel),))
    assert set(caught.value.packages) == {"gate-a", "gate-b", "gate-c"}
    text = "\n".join(caught.value.details)
    assert "gate-c >=2" in text or "gate-c <2" in text
    assert "Cannot solve the request" not in text


def test_a_missing_virtual_package_is_among_the_names(offline_channel: Path) -> None:
    """`pytorch-gpu` on a machine without a GPU: `__cuda` is named, which is what the person has to know."""
    with pytest.raises(Unsatisfiable) as caught:
        solve("pytorch-gpu", channels=(channel(offline_channel),))
    assert {"pytorch-gpu", "pytorch", "__cuda"} <= set(caught.value.packages)


def test_a_package_nobody_has_is_told_apart_from_a_conflict(offline_channel: Path) -> None:
    """A misspelt name: which one, and where it was looked for."""
    with pytest.raises(Unsatisfiable, match="no channel has pytroch") as caught:
        solve("pytroch", "numpy", channels=(channel(offline_channel),))
    assert caught.value.packages == ("pytroch",)
    assert "looked in  conda-forge" in caught.value.details


@pytest.mark.channels
def test_a_long_explanation_is_cut_and_says_so() -> None:
    """The solver repeats itself for each build; a person gets forty lines, and every name that takes part."""
    recorded = Path(__file__).parents[3] / "shared" / "channels"
    with pytest.raises(Unsatisfiable) as caught:
        solve("pytorch-gpu", "python 3.11.*", channels=(channel(recorded),), subdirs=("linux-64", "noarch"))
    assert len(caught.value.details) <= 41
    assert {"pytorch-gpu", "__cuda"} <= set(caught.value.packages)


def test_solving_is_reported_as_one_stage(offline_channel: Path) -> None:
    """A person sees that something is going on, and how much came of it."""
    recorder = Recorder()
    engine().solve(solve_request("gate-c", channels=(channel(offline_channel),)), recorder)
    assert [call[:2] for call in recorder.calls] == [("start", "solve"), ("finish", "solve")]
