"""What the person's own ``python`` would import, seen with all their variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from conda_llmenv.model import Finding, Observation, ProbeRun, Status
from tests.probes.prefixes import Prefix, judge, look, make, seen, shared_library, shell

PATHS = ProbeRun("paths", ("user-site", "search-paths"), isolated=False)

Seen = dict[str, tuple[Observation, ...]]


@pytest.fixture
def conda_like(tmp_path: Path) -> Prefix:
    """Return an environment with a NumPy, that does not leave the user site out."""
    prefix = make(tmp_path / "env", user_site=True)
    prefix.package("numpy", "2.3.1", {"numpy/__init__.py": "__version__ = '2.3.1'\n", "plain.py": "\n"})
    return prefix


def user_base(tmp_path: Path, prefix: Prefix, *modules: str) -> str:
    """Make a user base with these files in its ``site-packages`` and return it."""
    base = tmp_path / "userbase"
    folder = base / prefix.site.relative_to(prefix.path)
    for module in modules:
        (folder / module).parent.mkdir(parents=True, exist_ok=True)
        (folder / module).write_text("__version__ = '1.0'\n", encoding="utf-8")
    return str(base)


def paths(prefix: Prefix, environ: Mapping[str, str] | None = None) -> Seen:
    """Return what the probe sees."""
    return seen(look(prefix.path, PATHS, environ))


def found(
    check: str, prefix: Prefix, environ: Mapping[str, str], variables: Mapping[str, str] | None = None
) -> Finding:
    """Look and judge."""
    return judge(check, prefix.path, paths(prefix, environ), variables)


def test_a_numpy_in_the_user_site_is_named(conda_like: Prefix, tmp_path: Path) -> None:
    """It would be imported first: not protected it fails, protected by activation it warns (54: conda#394, #7173)."""
    base = user_base(tmp_path, conda_like, "numpy/__init__.py", "own/__init__.py")
    shadowing = f"{base}/{conda_like.site.relative_to(conda_like.path)}/numpy"
    fails = found("user-site", conda_like, shell(PYTHONUSERBASE=base))
    assert fails.status is Status.FAIL
    assert fails.summary == f"{shadowing} is imported in place of {conda_like.site.resolve()}/numpy"
    activated = {"PYTHONNOUSERSITE": "1"}
    warns = found("user-site", conda_like, shell(PYTHONUSERBASE=base, **activated), activated)
    assert warns.status is Status.WARN
    assert warns.summary.startswith(f"{shadowing} shadows numpy")


def test_a_plain_module_and_a_compiled_one_shadow_too(conda_like: Prefix, tmp_path: Path) -> None:
    """A package is shadowed by whatever is importable under its name."""
    base = user_base(tmp_path, conda_like, "plain.py", "numpy.cpython-311-x86_64-linux-gnu.so", "other.txt")
    values = paths(conda_like, shell(PYTHONUSERBASE=base))["user-site"][0].values
    assert [one["name"] for one in values["shadowed"]] == ["numpy", "plain"]


def test_a_folder_without_init_shadows_nothing(conda_like: Prefix, tmp_path: Path) -> None:
    """Namespace packages are looked for last, and so are leftovers of uninstalled packages."""
    base = user_base(tmp_path, conda_like, "numpy/data.txt", "__pycache__/plain.cpython-311.pyc")
    assert found("user-site", conda_like, shell(PYTHONUSERBASE=base)).status is Status.PASS


def test_a_virtual_environment_is_immune(tmp_path: Path) -> None:
    """It leaves the user site out by itself."""
    prefix = make(tmp_path / "env")
    prefix.package("numpy", "2.3.1", {"numpy/__init__.py": "\n"})
    base = user_base(tmp_path, prefix, "numpy/__init__.py")
    assert found("user-site", prefix, shell(PYTHONUSERBASE=base)).status is Status.PASS


def test_a_home_without_a_user_site_passes(conda_like: Prefix) -> None:
    """Nothing there is nothing to warn about."""
    assert found("user-site", conda_like, shell()).status is Status.PASS


def test_a_clean_shell_has_clean_paths(conda_like: Prefix) -> None:
    """Neither this program's own modules nor the folder it is started from are on the path."""
    observations = paths(conda_like)
    assert judge("search-paths", conda_like.path, observations).status is Status.PASS
    values = observations["search-paths"][0].values
    assert not [entry for entry in values["sys_path"] if entry.endswith("inside")]
    assert values["own"]


def test_a_pythonpath_that_shadows_is_named(conda_like: Prefix, tmp_path: Path) -> None:
    """Of two entries the one with a NumPy in it is the fault."""
    for name in ("project/mine.py", "old/numpy/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("\n", encoding="utf-8")
    leak = os.pathsep.join([str(tmp_path / "project"), str(tmp_path / "old"), str(tmp_path / "absent")])
    fails = found("search-paths", conda_like, shell(PYTHONPATH=leak))
    assert fails.status is Status.FAIL
    assert fails.summary == f"PYTHONPATH puts {tmp_path}/old/numpy before numpy of the environment"
    harmless = found("search-paths", conda_like, shell(PYTHONPATH=str(tmp_path / "project")))
    assert harmless.status is Status.WARN


def test_an_empty_entry_of_pythonpath_is_the_person_s_folder(conda_like: Prefix, tmp_path: Path) -> None:
    """``PYTHONPATH=$PYTHONPATH:/x`` in a shell without the variable adds the current folder to everything."""
    (tmp_path / "random.py").write_text("\n", encoding="utf-8")
    fails = found("search-paths", conda_like, shell(PYTHONPATH=":/nowhere", PWD=str(tmp_path)))
    assert fails.status is Status.FAIL
    assert "random of the standard library" in fails.summary


def test_an_editable_project_is_told_without_alarm(conda_like: Prefix, tmp_path: Path) -> None:
    """A ``.pth`` line leads out; comments, code and folders that are gone do not."""
    (tmp_path / "src" / "mine").mkdir(parents=True)
    (tmp_path / "src" / "mine" / "__init__.py").write_text("\n", encoding="utf-8")
    lines = f"# a comment\nimport os\n{tmp_path}/src\n/gone/away\n"
    (conda_like.site / "mine.pth").write_text(lines, encoding="utf-8")
    passes = found("search-paths", conda_like, shell())
    assert passes.status is Status.PASS
    assert [line for line in passes.detail if line.endswith(f"adds {tmp_path}/src")]


def test_a_second_copy_behind_a_pth_file_warns(conda_like: Prefix, tmp_path: Path) -> None:
    """The folder has a NumPy of its own."""
    (tmp_path / "src" / "numpy").mkdir(parents=True)
    (tmp_path / "src" / "numpy" / "__init__.py").write_text("\n", encoding="utf-8")
    (conda_like.site / "mine.pth").write_text(f"{tmp_path}/src\n", encoding="utf-8")
    assert found("search-paths", conda_like, shell()).status is Status.WARN


def test_a_preloaded_library_is_told(conda_like: Prefix, tmp_path: Path) -> None:
    """It is in every process before the environment's own."""
    library = shared_library(tmp_path / "libfake.so")
    warns = found("search-paths", conda_like, shell(LD_PRELOAD=str(library)))
    assert warns.status is Status.WARN
    assert warns.fix == "unset LD_PRELOAD"


def test_a_copied_environment_is_found_out(conda_like: Prefix, tmp_path: Path) -> None:
    """A link to the environment is the environment; another prefix is not."""
    link = tmp_path / "link"
    link.symlink_to(conda_like.path)
    assert paths(Prefix(link))["search-paths"][0].values["own"]
    other = make(tmp_path / "other")
    (other.path / "bin" / "python").unlink()
    (other.path / "bin" / "python").symlink_to(conda_like.path / "bin" / "python")
    (other.path / "pyvenv.cfg").unlink()
    (conda_like.path / "pyvenv.cfg").rename(conda_like.path / "bin" / "pyvenv.cfg")
    assert not paths(other)["search-paths"][0].values["own"]
