"""Installing what a lock pins with the real uv and pip: exactly that, by its hashes, or nothing at all."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from msgspec import structs
from packaging.version import Version

from conda_llmenv.compose import merge
from conda_llmenv.errors import InputError, PipFailed
from conda_llmenv.locks import pylock, requirements
from conda_llmenv.locks.as_layer import as_layer
from conda_llmenv.locks.pip_plan import locked_plan
from conda_llmenv.model import Lock, LockedPlatform, PipPackage, PipPlan, PipSection
from conda_llmenv.ports import PipInstaller
from conda_llmenv.pypi.config import parse_config
from conda_llmenv.pypi.pip import PipPipInstaller
from conda_llmenv.pypi.uv import UvInstaller
from tests.index.artifacts import sdist, source_files, wheel
from tests.index.fixtures import MakePrefix, MakeRequest, Recorder, installed, python, section
from tests.index.server import Index, serve

MakeInstaller = Callable[[Index], PipInstaller]


@pytest.fixture(params=["uv", "pip"])
def make_installer(request: pytest.FixtureRequest, environ: dict[str, str]) -> MakeInstaller:
    """Either installer, its index from pip's configuration."""
    variables = {**environ, "PIP_CACHE_DIR": f"{environ['XDG_CACHE_HOME']}/pip"}

    def make(index: Index) -> PipInstaller:
        given = {**variables, "PIP_INDEX_URL": index.url}
        config = parse_config([], {"PIP_INDEX_URL": index.url})
        return UvInstaller(config, variables) if request.param == "uv" else PipPipInstaller(config, given)

    return make


def locked(packages: tuple[PipPackage, ...], form: str = "pylock") -> tuple[PipSection, PipPlan]:
    """Return what packages are after they were written to a lock and read again: the lines asked, and the plan."""
    module = pylock if form == "pylock" else requirements
    lock = module.read(module.write(Lock((LockedPlatform("linux-64", (), packages),))), "env.lock")
    plan = locked_plan(lock.platforms[0])
    assert plan is not None
    return merge((as_layer(lock, lock.platforms[0], "env.lock", pinned=True),)).pip, plan


@pytest.mark.parametrize("form", ["pylock", "requirements"])
def test_exactly_the_lock_is_installed_by_its_hashes(
    environ: dict[str, str],
    make_installer: MakeInstaller,
    make_request: MakeRequest,
    make_prefix: MakePrefix,
    recorder: Recorder,
    *,
    form: str,
) -> None:
    """The index has newer versions by now; the lock's are installed, hashes required, without a resolution."""
    with serve([wheel("top", "1.0", ["base"]), wheel("base", "2.0")]) as index:
        uv = UvInstaller(parse_config([], {"PIP_INDEX_URL": index.url}), environ)
        packages = uv.resolve(make_request(section("top")), recorder).packages
        index.artifacts += [wheel("base", "3.0"), wheel("top", "2.0")]
        asked, plan = locked(packages, form)
        request = structs.replace(make_request(asked), require_hashes=True)
        prefix = make_prefix(pip=True)
        result = make_installer(index).install(plan, request, prefix, recorder)
    assert installed(prefix) == {"base": "2.0", "top": "1.0"}
    assert {one.name: one.hashes for one in result.packages} == {one.name: one.hashes for one in packages}


def test_changed_hash_stops_before_anything_is_installed(
    environ: dict[str, str],
    make_installer: MakeInstaller,
    make_request: MakeRequest,
    make_prefix: MakePrefix,
    recorder: Recorder,
) -> None:
    """Fault 40: an edited hash is refused; the message names the package and its line, and the prefix stays empty."""
    prefix = make_prefix(pip=True)
    with serve([wheel("top", "1.0", ["base"]), wheel("base", "2.0")]) as index:
        uv = UvInstaller(parse_config([], {"PIP_INDEX_URL": index.url}), environ)
        base, top = uv.resolve(make_request(section("top")), recorder).packages
        wrong = f"sha256:{'0' * 64}"
        edited = structs.replace(
            base, hashes=(wrong,), artifacts=tuple(structs.replace(one, hashes=(wrong,)) for one in base.artifacts)
        )
        asked, plan = locked((edited, top))
        with pytest.raises(PipFailed) as caught:
            make_installer(index).install(plan, make_request(asked), prefix, recorder)
    assert caught.value.message.startswith("env.lock:")
    assert caught.value.message.endswith(": base could not be installed")
    assert "not the one that was recorded" in caught.value.hint
    assert installed(prefix) == {}


def test_package_without_a_hash_is_refused_where_hashes_are_required(
    make_installer: MakeInstaller, make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """``require_hashes``: everything without one is named at once, and nothing is installed."""
    prefix = make_prefix(pip=True)
    commit = PipPackage("src", "3.0", f"src @ git+https://h.example/src@{'a' * 40}", built=True, direct=True)
    with serve([wheel("top", "1.0")]) as index:
        plan = PipPlan("lock", (PipPackage("top", "1.0", "top==1.0"),), (commit.requirement,), pinned_late=(commit,))
        request = structs.replace(make_request(section("top==1.0")), require_hashes=True)
        with pytest.raises(InputError) as caught:
            make_installer(index).install(plan, request, prefix, recorder)
        assert index.requests == []
    assert caught.value.message == "hashes are required, and parts of the pip section have none"
    assert caught.value.details == ("top   env.yml:5", "src")
    assert installed(prefix) == {}


def test_hashes_hold_beside_a_package_that_has_none(
    make_installer: MakeInstaller, make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """One distribution without a hash does not take the check from the others."""
    prefix = make_prefix(pip=True)
    good, other = wheel("good", "1.0"), wheel("other", "1.0")
    with serve([good, other]) as index:
        wrong = PipPackage("good", "1.0", "good==1.0", (f"sha256:{'0' * 64}",))
        bare = PipPackage("other", "1.0", "other==1.0")
        request = make_request(section("good==1.0", "other==1.0"))
        with pytest.raises(PipFailed, match="good could not be installed"):
            make_installer(index).install(PipPlan("lock", (wrong, bare)), request, prefix, recorder)
        assert "good" not in installed(prefix)
        right = structs.replace(wrong, hashes=(f"sha256:{good.sha256}",))
        make_installer(index).install(PipPlan("lock", (right, bare)), request, prefix, recorder)
    assert installed(prefix) == {"good": "1.0", "other": "1.0"}


def locked_extension(index: Index, sha256: str = "") -> tuple[PipSection, PipPlan]:
    """Return a lock of torch and of sources that import it to build; ``sha256`` replaces the sources' own."""
    before = "import torch\nBUILT = torch.__version__"
    source = sdist("flash-attn", "1.0", source_files("flash-attn", "1.0", ["unwanted"], before=before))
    torch = wheel("torch", "2.6.0")
    index.artifacts += [source, torch, wheel("unwanted", "1.0")]
    files = index.url.replace("/simple", "/files")
    packages = (
        PipPackage(
            "flash-attn",
            "1.0",
            "flash-attn==1.0",
            (f"sha256:{sha256 or source.sha256}",),
            built=True,
            url=f"{files}/{source.file_name}",
        ),
        PipPackage("torch", "2.6.0", "torch==2.6.0", (f"sha256:{torch.sha256}",), url=f"{files}/{torch.file_name}"),
    )
    return locked(packages)


def test_locked_sources_are_built_second(
    make_installer: MakeInstaller, make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """48: flash-attn from its sources comes after torch, without isolation, and without what the lock does not have."""
    prefix = make_prefix(pip=True)
    with serve([]) as index:
        asked, plan = locked_extension(index)
        request = structs.replace(make_request(asked), require_hashes=True)
        result = make_installer(index).install(plan, request, prefix, recorder)
    assert [one.name for one in plan.pinned_late] == ["flash-attn"]
    assert {one.name: one.version for one in result.packages} == {"torch": "2.6.0", "flash-attn": "1.0"}
    assert python(prefix, "import flash_attn; print(flash_attn.BUILT)") == "2.6.0"
    assert "unwanted" not in installed(prefix)


def test_changed_sources_are_refused_before_they_run(
    make_installer: MakeInstaller, make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """Fault 40 in the second stage: an archive that is not the locked one is never built."""
    prefix = make_prefix(pip=True)
    with serve([]) as index:
        asked, plan = locked_extension(index, "0" * 64)
        with pytest.raises(PipFailed, match="flash-attn could not be built"):
            make_installer(index).install(plan, make_request(asked), prefix, recorder)
    assert installed(prefix) == {"torch": "2.6.0"}


def test_locked_commit_is_installed_as_it_is(
    request: pytest.FixtureRequest,
    make_installer: MakeInstaller,
    make_request: MakeRequest,
    make_prefix: MakePrefix,
    recorder: Recorder,
    *,
    tmp_path: Path,
) -> None:
    """A commit of a repository comes second, without its dependencies: those are in the lock themselves."""
    if "pip" in request.node.callspec.id and Version(metadata.version("pip")) < Version("24.1"):
        pytest.skip("this pip does not read `NAME @ git+file://`")
    folder = tmp_path / "src"
    folder.mkdir()
    for name, text in source_files("srcpkg", "3.0", ["unwanted"]).items():
        (folder / name).write_text(text)
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@h.example"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    line = f"srcpkg @ git+{folder.as_uri()}@{commit}"
    with serve([wheel("top", "1.0")]) as index:
        top = index.artifacts[0]
        url = f"{index.url.replace('/simple', '/files')}/{top.file_name}"
        packages = (
            PipPackage("srcpkg", "3.0", line, built=True, direct=True),
            PipPackage("top", "1.0", "top==1.0", (f"sha256:{top.sha256}",), url=url),
        )
        asked, plan = locked(packages)
        prefix = make_prefix(pip=True)
        make_installer(index).install(plan, make_request(asked), prefix, recorder)
    assert installed(prefix) == {"srcpkg": "3.0", "top": "1.0"}
