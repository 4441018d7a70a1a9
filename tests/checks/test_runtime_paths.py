"""Where modules are found, judged from what a probe saw."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.model import Finding, Status
from tests.checks.runtime_scenes import PREFIX, SITE, judged, scene

USER = "/home/u/.local/lib/python3.11/site-packages"

NUMPY = {"name": "numpy", "path": f"{USER}/numpy", "own": f"{SITE}/numpy"}


def user(variables: dict[str, str] | None = None, **values: Any) -> Finding:
    """Judge a user site."""
    seen = {"folder": USER, "active": True, "flag": False, "immune": False, "names": 3, "shadowed": [NUMPY], **values}
    return judged("user-site", scene({"user-site": seen}, variables=variables or {}))


def test_a_shadowed_module_fails_and_is_named() -> None:
    """The report names the path that shadows (54: conda#394, #7173, axolotl#2652, python-feedstock#171)."""
    found = user()
    assert found.status is Status.FAIL
    assert found.summary == f"{USER}/numpy is imported in place of {SITE}/numpy"
    assert found.fix == "export PYTHONNOUSERSITE=1"


def test_what_activation_keeps_out_is_a_warning() -> None:
    """A job that calls the environment's python directly has no activation."""
    found = user({"PYTHONNOUSERSITE": "1"})
    assert found.status is Status.WARN
    assert found.summary == f"{USER}/numpy shadows numpy of the environment wherever it runs without activation"


def test_what_only_this_shell_keeps_out_is_a_warning_too() -> None:
    """The variable is set here, and nobody knows where else."""
    found = user(flag=True)
    assert found.status is Status.WARN
    assert found.summary.endswith("wherever it runs without PYTHONNOUSERSITE of this shell")


@pytest.mark.parametrize("values", [{"immune": True}, {"names": 0, "shadowed": []}])
def test_what_cannot_be_imported_is_no_alarm(values: dict[str, Any]) -> None:
    """A virtual environment leaves the user site out by itself; an empty folder is harmless."""
    assert user(**values).status is Status.PASS


@pytest.mark.parametrize(("variables", "status"), [({"PYTHONNOUSERSITE": "1"}, Status.PASS), ({}, Status.WARN)])
def test_modules_that_only_this_person_has(variables: dict[str, str], status: Status) -> None:
    """Nothing is shadowed, but a script that works here fails for a colleague."""
    assert user(variables, shadowed=[]).status is status


def test_a_long_list_is_cut() -> None:
    """A home full of packages fills no screen."""
    many = [{**NUMPY, "path": f"{USER}/m{number}"} for number in range(25)]
    found = user(shadowed=many)
    assert len(found.detail) == 11
    assert found.detail[-1] == "and 15 more"


def paths(variables: dict[str, str] | None = None, **values: Any) -> Finding:
    """Judge search paths; by default those of a clean shell."""
    clean = {"prefix": PREFIX, "own": True, "pythonhome": "", "pythonpath": [], "pth": [], "searched": []}
    return judged("search-paths", scene({"search-paths": {**clean, **values}}, variables=variables or {}))


def place(entry: str, *shadowed: dict[str, str], inside: bool = False) -> dict[str, Any]:
    """Return an entry of a search path."""
    return {"entry": entry, "inside": inside, "shadowed": list(shadowed)}


def test_a_clean_shell_passes() -> None:
    """Nothing to say."""
    assert paths().status is Status.PASS


def test_a_pythonpath_that_shadows_fails() -> None:
    """A NumPy of elsewhere is imported first."""
    found = paths(pythonpath=[place("/opt/old", {"name": "numpy", "path": "/opt/old/numpy", "own": f"{SITE}/numpy"})])
    assert found.status is Status.FAIL
    assert found.summary == "PYTHONPATH puts /opt/old/numpy before numpy of the environment"
    assert found.fix == "unset PYTHONPATH"


def test_a_file_that_hides_the_standard_library_fails() -> None:
    """``random.py`` in a folder of scripts breaks everything that is started from there."""
    found = paths(pythonpath=[place("/w", {"name": "random", "path": "/w/random.py", "own": "the standard library"})])
    assert found.summary == "PYTHONPATH puts /w/random.py before random of the standard library"


@pytest.mark.parametrize(
    ("variables", "entry", "status"),
    [
        ({}, place("/w/project"), Status.WARN),
        ({"PYTHONPATH": "/w/project"}, place("/w/project"), Status.PASS),
        ({}, place(f"{PREFIX}/share", inside=True), Status.PASS),
    ],
)
def test_a_pythonpath_of_one_s_own(variables: dict[str, str], entry: dict[str, Any], status: Status) -> None:
    """It works here; only what activation sets works everywhere."""
    assert paths(variables, pythonpath=[entry]).status is status


def test_pythonhome_is_the_headline() -> None:
    """With it nothing else can be right, and the rest is told with it."""
    found = paths(pythonhome="/usr", own=False, pythonpath=[place("/w")])
    assert found.status is Status.FAIL
    assert found.summary.startswith("PYTHONHOME=/usr")
    assert any("PYTHONPATH adds /w" in line for line in found.detail)


def test_a_copied_environment_is_found_out() -> None:
    """Its python takes packages from where it was copied from."""
    found = paths(own=False, prefix="/envs/original")
    assert found.status is Status.FAIL
    assert "takes its packages from /envs/original" in found.summary


def test_an_editable_project_is_no_alarm() -> None:
    """``pip install -e`` adds a folder with modules of its own: told, not warned about."""
    found = paths(pth=[{**place("/w/src"), "file": f"{SITE}/__editable__.mine.pth"}])
    assert found.status is Status.PASS
    assert found.detail == (f"{SITE}/__editable__.mine.pth adds /w/src",)


def test_an_added_folder_with_the_same_module_warns() -> None:
    """Two torch folders on one path: which one is imported is a matter of order."""
    both = {"name": "torch", "path": "/w/torch", "own": f"{SITE}/torch"}
    found = paths(pth=[{**place("/w", both), "file": f"{SITE}/mine.pth"}])
    assert found.status is Status.WARN
    assert "torch of the environment too" in found.summary


@pytest.mark.parametrize(
    ("entry", "status"), [("/opt/lib/libfake.so", Status.WARN), ("/usr/lib/libjemalloc.so.2", Status.PASS)]
)
def test_preloaded_libraries(entry: str, status: Status) -> None:
    """An allocator is preloaded on purpose; anything else comes before the environment's own libraries."""
    found = paths(searched=[{"variable": "LD_PRELOAD", "entry": entry, "libraries": []}])
    assert found.status is status
