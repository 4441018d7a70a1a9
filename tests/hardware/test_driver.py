"""The driver: minor-version compatibility as a table, and its verdicts."""

from __future__ import annotations

import pytest
from packaging.version import Version

from conda_llmenv.hardware import check_after, check_before
from conda_llmenv.hardware.cuda import fit_driver
from conda_llmenv.hardware.tables import load_tables
from conda_llmenv.hardware.target import target_of
from conda_llmenv.model import Status, Verdict, VirtualPackage
from tests.hardware.building import A100_CARD, LOGIN_NODE, composed, host, offered, record, solution

CUDAS = ("11.8", "12.1", "12.4", "12.8", "13.0", "13.2")

MATRIX = {
    ("470.256.02", "11.4"): "WFFFFF",
    ("525.147.05", "12.0"): "PWWWFF",
    ("535.104.05", "12.2"): "PPWWFF",
    ("550.54.15", "12.4"): "PPPWFF",
    ("570.124.06", "12.8"): "PPPPFF",
    ("580.65.06", "13.0"): "PPPPPW",
    ("595.45.04", "13.2"): "PPPPPP",
}
"""Driver and its newest CUDA → the verdict for each of :data:`CUDAS`: Fail, Warn (minor-version compatibility), Pass.

NVIDIA's CUDA Compatibility (floors per major) and CUDA release notes, table 3 (toolkit drivers).
"""

LETTERS = {"F": Status.FAIL, "W": Status.WARN, "P": Status.PASS}


@pytest.mark.parametrize(("machine", "row"), MATRIX.items(), ids=[driver for driver, _ in MATRIX])
def test_driver_by_cuda(machine: tuple[str, str], row: str) -> None:
    """Every driver branch against every CUDA people use (reliability: driver < floor fails, < toolkit driver warns)."""
    driver, cuda = machine
    tables = load_tables()
    assert tables.cuda_of_driver(Version(driver)) == Version(cuda)
    spec, facts = composed("dependencies: [python]\n"), host(driver, cuda, A100_CARD)
    target = target_of(spec, facts, offered(facts, spec), tables)
    found = [fit_driver(Version(wanted), target, tables).status for wanted in CUDAS]
    assert found == [LETTERS[letter] for letter in row]


@pytest.mark.parametrize(("machine", "row"), MATRIX.items(), ids=[driver for driver, _ in MATRIX])
def test_the_same_rule_where_only_a_cuda_version_is_known(machine: tuple[str, str], row: str) -> None:
    """An override or a tier's assumption is judged like the driver it stands for."""
    spec, tables = composed("dependencies: [python]\n"), load_tables()
    target = target_of(spec, LOGIN_NODE, (VirtualPackage("__cuda", machine[1]),), tables)
    found = [fit_driver(Version(wanted), target, tables).status for wanted in CUDAS]
    assert found == [LETTERS[letter] for letter in row]


def verdicts(text: str, driver: str, cuda: str) -> list[Verdict]:
    """Return what is found before the solve on an A100 with a driver, without the passes."""
    spec, facts = composed(text), host(driver, cuda, A100_CARD)
    return [verdict for verdict in check_before(spec, facts, offered(facts, spec)) if verdict.status is not Status.PASS]


def test_a_driver_below_the_floor_is_refused() -> None:
    """Driver of CUDA 11.4, environment for 12.4: the newest CUDA and the smallest driver are named (42)."""
    (verdict,) = verdicts("dependencies:\n  - cuda-version=12.4\n", "470.82.01", "11.4")
    assert verdict.status is Status.FAIL
    assert "driver 470.82.01 (CUDA up to 11.4)" in verdict.summary
    assert "driver 525.60.13 or newer" in verdict.why
    assert verdict.origins[0].where == "environment.yml:2"
    assert [change.new[0] for change in verdict.changes] == ["cuda-version >=11.0,<12"]


def test_a_newer_minor_of_the_same_major_is_a_warning_on_what_was_chosen() -> None:
    """CUDA 12.9 on a 12.4 driver runs, without PTX JIT (42: minor-version compatibility)."""
    spec, facts = composed("dependencies: [pytorch-gpu]\n"), host("550.54.15", "12.4", A100_CARD)
    plan = solution(record("pytorch", "2.12.0", "cuda129_mkl_py311_h49b8cc7_300", depends=("__cuda",)))
    found = check_after(spec, plan, facts, offered(facts, spec))
    limited = next(verdict for verdict in found if verdict.check == "driver-minor")
    assert limited.status is Status.WARN
    assert "no PTX JIT" in limited.summary
    assert "575.51.03" in limited.why
    assert not [verdict for verdict in found if verdict.status is Status.FAIL]


@pytest.mark.parametrize(
    ("tier", "least"), [("a100", "525.60.13"), ("t4", "525.60.13"), ("v100", "525.60.13"), ("rtx-50", "570.26")]
)
def test_a_driver_that_a_tier_only_assumes_is_no_reason_to_warn(tier: str, least: str) -> None:
    """Nothing was measured: the facts are told, and the first driver of the card counts where that is newer."""
    spec = composed("dependencies: [pytorch-gpu]\n", tier)
    plan = solution(record("pytorch", "2.12.0", "cuda129_mkl_py311_h49b8cc7_300", depends=("__cuda",)))
    found = check_after(spec, plan, LOGIN_NODE, offered(LOGIN_NODE, spec))
    (verdict,) = [verdict for verdict in found if verdict.link == "driver"]
    assert (verdict.status, verdict.check) == (Status.PASS, "driver-floor")
    assert verdict.summary == f"CUDA 12.9 needs driver {least} or newer; 575.51.03 for everything"


def test_an_override_of_an_older_minor_still_warns() -> None:
    """A person said which driver it is, so that its limits matter."""
    spec = composed("dependencies: [pytorch-gpu]\n")
    plan = solution(record("pytorch", "2.12.0", "cuda129_mkl_py311_h49b8cc7_300", depends=("__cuda",)))
    virtual = offered(LOGIN_NODE, spec, {"CONDA_OVERRIDE_CUDA": "12.4"})
    found = check_after(spec, plan, LOGIN_NODE, virtual)
    (verdict,) = [verdict for verdict in found if verdict.link == "driver"]
    assert (verdict.status, verdict.check) == (Status.WARN, "driver-minor")
    assert "on __cuda=12.4 (CONDA_OVERRIDE_CUDA) by minor-version compatibility only" in verdict.summary


FRAMEWORK = "dependencies:\n  - {0}\n  - cuda-version >=12.8,<13\n  - python >=3.11,<3.14\n"


@pytest.mark.parametrize("pytorch", ["pytorch >=2.8", "pytorch 2.10.*"])
def test_no_older_cuda_is_proposed_that_the_framework_was_never_built_for(pytorch: str) -> None:
    """A driver of CUDA 11 and a pytorch of CUDA 12: a newer driver or an older pytorch, never cuda-version <12."""
    (verdict,) = verdicts(FRAMEWORK.format(pytorch), "470.82.01", "11.4")
    (change,) = verdict.changes
    assert change.kind == "host"
    assert change.new[0].startswith("install driver 525.60.13 or newer, or ask for pytorch 2.7 or older")
    assert f"{pytorch} (environment.yml:2) is built for CUDA 12 and newer only" in verdict.why


def test_an_older_cuda_is_proposed_where_the_framework_has_it() -> None:
    """Pytorch 2.7 had builds for CUDA 11, so that the spec of CUDA is what to change."""
    (verdict,) = verdicts(FRAMEWORK.format("pytorch >=2.6"), "470.82.01", "11.4")
    assert [change.new[0] for change in verdict.changes] == ["cuda-version >=11.0,<12"]
    assert "newer only" not in verdict.why


def test_the_python_asked_for_takes_part_in_what_the_framework_has() -> None:
    """No pytorch of CUDA 11 runs on Python 3.14, so that only a newer driver is left."""
    text = "dependencies:\n  - pytorch\n  - cuda-version=12.8\n  - python=3.14\n"
    (verdict,) = verdicts(text, "470.82.01", "11.4")
    assert [change.new[0] for change in verdict.changes] == ["install driver 525.60.13 or newer"]


def test_a_change_of_cuda_agrees_with_the_other_specs_of_cuda() -> None:
    """CUDA 13 is wanted by one line and a 12.6 runtime by another: the first is brought to the second."""
    text = "dependencies:\n  - cuda-version=13.0\n  - cuda-cudart=12.6\n"
    (verdict,) = verdicts(text, "550.54.15", "12.4")
    assert [(change.name, change.new[0]) for change in verdict.changes] == [("cuda-version", "cuda-version >=12.6,<13")]


def test_a_newer_major_that_a_solver_let_through_is_refused() -> None:
    """An engine that ignores ``constrains: __cuda`` chose CUDA 13: our own comparison stops it (42)."""
    spec, facts = composed("dependencies:\n  - pytorch-gpu\n"), host("535.104.05", "12.2", A100_CARD)
    plan = solution(
        record("pytorch", "2.12.0", "cuda130_mkl_py311_h1_300", depends=("__cuda",)),
        record("cuda-version", "13.0", "h_3"),
    )
    found = [
        verdict for verdict in check_after(spec, plan, facts, offered(facts, spec)) if verdict.status is Status.FAIL
    ]
    assert [verdict.check for verdict in found] == ["driver-floor"]
    assert "pytorch 2.12.0 cuda130" in found[0].summary
    assert "driver 580 or newer" in found[0].why
    assert found[0].origins[0].where == "environment.yml:2"
    assert found[0].changes[0].new == ("cuda-version >=12.0,<13",)


def test_the_tiers_own_driver_line() -> None:
    """A tier that asks for a driver refuses an older one, at its own line."""
    from conda_llmenv.compose.merging import merge
    from tests.hardware.building import fragment, tier

    text = 'llmenv:\n  gpu: {match: ["A100"], compute_capability: "8.0"}\n  driver: ">=525.60.13"\n'
    spec = merge([tier("a100", text), fragment("dependencies: [python]\n")])
    facts = host("470.82.01", "11.4", A100_CARD)
    failed = [verdict for verdict in check_before(spec, facts, offered(facts, spec)) if verdict.status is Status.FAIL]
    assert "asks for driver >=525.60.13, and this machine has 470.82.01" in failed[0].summary
    assert failed[0].origins[0].where == "envs/tiers/a100.yml:3"
    good = host("535.104.05", "12.2", A100_CARD)
    assert not [found for found in check_before(spec, good, offered(good, spec)) if found.status is Status.FAIL]


def test_an_override_speaks_for_another_machine() -> None:
    """With ``CONDA_OVERRIDE_CUDA`` the driver here does not count any more."""
    spec, facts = composed("dependencies: [cuda-version=12.4]\n"), host("470.82.01", "11.4", A100_CARD)
    virtual = offered(facts, spec, {"CONDA_OVERRIDE_CUDA": "12.4"})
    assert not [verdict for verdict in check_before(spec, facts, virtual) if verdict.status is Status.FAIL]


def test_no_driver_known_is_a_skip() -> None:
    """Nothing to compare with: skipped, not passed."""
    spec = composed("dependencies: [pytorch]\n", None)
    plan = solution(record("pytorch", "2.0.1", "py3.9_cuda11.8_cudnn8.7.0_0", "pytorch"))
    found = check_after(spec, plan, LOGIN_NODE, offered(LOGIN_NODE, spec))
    assert ("driver-floor", Status.SKIP) in [(verdict.check, verdict.status) for verdict in found]
