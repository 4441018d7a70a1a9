"""The fallback: the environment's own pip against a real index."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conda_llmenv.errors import PipFailed
from conda_llmenv.pypi.config import parse_config
from conda_llmenv.pypi.pip import PipPipInstaller
from tests.index.artifacts import sdist, source_files, wheel
from tests.index.fixtures import CANARY, ArgvWatch, MakePrefix, MakeRequest, Recorder, installed, python, section
from tests.index.server import Index, serve
from tests.pypi.test_uv_resolve import versions


@pytest.fixture
def pip_environ(environ: dict[str, str]) -> dict[str, str]:
    """Surroundings that point pip's cache into the test's folder."""
    return {**environ, "PIP_CACHE_DIR": f"{environ['XDG_CACHE_HOME']}/pip"}


def pip(environ: dict[str, str], index: Index) -> PipPipInstaller:
    """Return pip with an index from its environment."""
    given = {**environ, "PIP_INDEX_URL": index.url_with_credentials}
    return PipPipInstaller(parse_config([], given), given)


def test_wheels_are_pinned_and_installed_by_hash(
    pip_environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """Where wheels fit everything the plan is as exact as uv's, and what conda provides is left out of it."""
    prefix = make_prefix(pip=True)
    top, base = wheel("top", "1.0", ["base", "numpy>=1"]), wheel("base", "2.0")
    with serve([top, base, wheel("numpy", "9.0")]) as index:
        request = make_request(section("top"), provided={"numpy": "1.26.4"})
        installer = pip(pip_environ, index)
        plan = installer.resolve(request, recorder)
        assert versions(plan) == {"top": "1.0", "base": "2.0"}
        assert {one.name: one.hashes for one in plan.packages}["top"] == (f"sha256:{top.sha256}",)
        result = installer.install(plan, request, prefix, recorder)
    assert installed(prefix) == {"top": "1.0", "base": "2.0"}
    assert {one.name: one.hashes for one in result.packages}["base"] == (f"sha256:{base.sha256}",)
    assert any("Successfully installed" in line for line in recorder.lines)


def test_sources_leave_the_plan_open_and_say_so(
    pip_environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """Nobody can look into sources for a Python that is not there: no version is invented, and install pins it."""
    prefix = make_prefix(pip=True)
    with serve([sdist("pure", "1.0", source_files("pure", "1.0"))]) as index:
        request, installer = make_request(section("pure")), pip(pip_environ, index)
        plan = installer.resolve(request, recorder)
        assert versions(plan) == {"pure": None}
        assert [notice.code for notice in recorder.notices] == ["pip-plan-open"]
        result = installer.install(plan, request, prefix, recorder)
    assert [(one.name, one.version, one.built) for one in result.packages] == [("pure", "1.0", True)]
    assert result.packages[0].hashes


def test_second_stage_sees_the_first(
    pip_environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """48: with pip too, what imports torch is built without isolation after torch is there."""
    prefix = make_prefix(pip=True)
    sources = source_files("flash-attn", "1.0", before="import torch\nBUILT = torch.__version__")
    with serve([wheel("torch", "2.6.0"), sdist("flash-attn", "1.0", sources)]) as index:
        request, installer = make_request(section("flash-attn", "torch")), pip(pip_environ, index)
        plan = installer.resolve(request, recorder)
        installer.install(plan, request, prefix, recorder)
    assert python(prefix, "import flash_attn; print(flash_attn.BUILT)") == "2.6.0"


def test_no_such_package_ends_with_pips_last_lines(
    pip_environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """55 (conda#8537): the failing line is named and pip's own words were shown live."""
    prefix = make_prefix(pip=True)
    with serve([wheel("other", "1.0")]) as index:
        request, installer = make_request(section("no-such-pkg==0")), pip(pip_environ, index)
        plan = installer.resolve(request, recorder)
        with pytest.raises(PipFailed) as caught:
            installer.install(plan, request, prefix, recorder)
    assert caught.value.message == "env.yml:5: no-such-pkg could not be installed"
    assert any("No matching distribution found for no-such-pkg==0" in line for line in caught.value.details)
    assert any("No matching distribution found for no-such-pkg==0" in line for line in recorder.lines)


def test_prefix_without_pip_says_what_to_add(
    pip_environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """A missing pip is one sentence with the fix."""
    with serve([wheel("lib", "1.0")]) as index:
        request, installer = make_request(section("lib")), pip(pip_environ, index)
        plan = installer.resolve(request, recorder)
        with pytest.raises(PipFailed) as caught:
            installer.install(plan, request, make_prefix(), recorder)
    assert "has no pip" in caught.value.message
    assert caught.value.hint == "add `pip` to the conda dependencies"


def test_changed_file_is_refused_with_both_hashes(
    pip_environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """Pip checks the plan's hashes."""
    prefix = make_prefix(pip=True)
    with serve([wheel("lib", "1.0")]) as index:
        request, installer = make_request(section("lib")), pip(pip_environ, index)
        plan = installer.resolve(request, recorder)
        changed = wheel("lib", "1.0", files={"lib/__init__.py": "evil = True\n"})
        index.artifacts[:] = [changed]
        with pytest.raises(PipFailed) as caught:
            installer.install(plan, request, prefix, recorder)
    assert caught.value.message == "env.yml:5: lib could not be installed"
    assert changed.sha256 in "\n".join(caught.value.details)
    assert installed(prefix) == {}


def test_variables_that_would_send_it_elsewhere_are_dropped(
    pip_environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder, tmp_path: Path
) -> None:
    """PIP_TARGET, PIP_USER and PYTHONPATH of the user do not move the installation out of the prefix."""
    prefix, elsewhere = make_prefix(pip=True), tmp_path / "elsewhere"
    environ = {**pip_environ, "PIP_TARGET": str(elsewhere), "PIP_USER": "1", "PYTHONPATH": str(elsewhere)}
    with serve([wheel("lib", "1.0")]) as index:
        request, installer = make_request(section("lib")), pip(environ, index)
        installer.install(installer.resolve(request, recorder), request, prefix, recorder)
    assert installed(prefix) == {"lib": "1.0"}
    assert not elsewhere.exists()


def test_credentials_stay_out_of_argv_lines_and_plan(
    pip_environ: dict[str, str],
    make_request: MakeRequest,
    make_prefix: MakePrefix,
    recorder: Recorder,
    argv_watch: ArgvWatch,
) -> None:
    """With pip as well, an index's password is in no command line, output or plan."""
    prefix = make_prefix(pip=True)
    with serve([wheel("lib", "1.0")], user="u", password=CANARY) as index:
        wanted = section("lib", options=[("--extra-index-url", index.url_with_credentials)])
        request, installer = make_request(wanted), pip(pip_environ, index)
        plan = installer.resolve(request, recorder)
        installer.install(plan, request, prefix, recorder)
    assert installed(prefix) == {"lib": "1.0"}
    assert any("-m pip install" in line for line in argv_watch.seen)
    assert not [line for line in argv_watch.seen if CANARY in line]
    assert CANARY not in "\n".join([*recorder.lines, *(str(one) for one in plan.packages)])


def test_other_python_than_the_running_one_is_planned_for(
    pip_environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """The plan follows the environment's Python, not the one that runs llmenv."""
    other = f"{sys.version_info.major}.{sys.version_info.minor + 1}.0"
    tag = "".join(other.split(".")[:2])
    machine = "manylinux_2_17_x86_64"
    there = wheel("lib", "1.0", tag=f"cp{tag}-cp{tag}-{machine}")
    with serve([there, wheel("lib", "2.0", tag="cp39-cp39-" + machine)]) as index:
        plan = pip(pip_environ, index).resolve(make_request(section("lib"), python=other), recorder)
    assert versions(plan) == {"lib": "1.0"}
