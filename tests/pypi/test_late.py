"""Sources of every kind in the second stage, with the real uv and git."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from conda_llmenv.model import PipKind, PipRequirement
from conda_llmenv.pypi.late import build_environment
from tests.index.artifacts import Artifact, source_files, wheel
from tests.index.fixtures import (
    CANARY,
    ArgvWatch,
    MakePrefix,
    MakeRequest,
    Recorder,
    installed,
    python,
    requirement,
    section,
    site_packages,
)
from tests.index.server import serve
from tests.pypi.test_uv_resolve import uv

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    """Write files below a new folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def git_repository(folder: Path) -> Path:
    """Commit everything in a folder."""
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    return folder


def with_own_backend(name: str) -> tuple[dict[str, str], Artifact]:
    """Return sources whose build backend comes from an index, and the wheel of that backend."""
    files = source_files(name, "1.0")
    backend = wheel("nice-backend", "1.0", files={"nice_backend.py": files["backend.py"]})
    project = '[build-system]\nrequires = ["nice-backend"]\nbuild-backend = "nice_backend"\n'
    return {"pyproject.toml": project}, backend


@needs_git
def test_git_source_builds_against_the_first_stage_and_is_recorded_by_commit(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder, tmp_path: Path
) -> None:
    """48: a git source (as apex is) sees torch, and the result names the commit."""
    prefix = make_prefix()
    tree = write_tree(tmp_path / "repo", source_files("apex", "0.1", before="import torch\nBUILT = torch.__version__"))
    git_repository(tree)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tree, check=True, capture_output=True, text=True
    ).stdout.strip()
    text = f"git+file://{tree}@main"
    wanted = PipRequirement(text, PipKind.VCS, requirement("x").origin)
    with serve([wheel("torch", "2.6.0")]) as index:
        request, installer = make_request(section(wanted, "torch")), uv(environ, index_url=index.url)
        plan = installer.resolve(request, recorder)
        assert plan.late == (text,)
        result = installer.install(plan, request, prefix, recorder)
    assert python(prefix, "import apex; print(apex.BUILT)") == "2.6.0"
    apex = next(one for one in result.packages if one.name == "apex")
    assert (apex.version, apex.requirement) == ("0.1", f"apex @ git+file://{tree}@{commit}")


def test_editable_source_stays_where_it_is(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder, tmp_path: Path
) -> None:
    """17: ``-e ../x/`` is installed as editable, from its own folder."""
    prefix = make_prefix()
    tree = write_tree(tmp_path / "x", source_files("mine", "1.0"))
    wanted = PipRequirement("-e ../x/", PipKind.EDITABLE, requirement("x").origin, path=tree)
    with serve([]) as index:
        request, installer = make_request(section(wanted)), uv(environ, index_url=index.url)
        result = installer.install(installer.resolve(request, recorder), request, prefix, recorder)
    assert result.packages[0].requirement == f"-e {tree}"
    direct = next(site_packages(prefix).glob("mine-*.dist-info")) / "direct_url.json"
    assert '"editable":true' in direct.read_text().replace(" ", "")


def test_local_source_gets_the_build_tools_it_names_without_keeping_them(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder, tmp_path: Path
) -> None:
    """A build backend that pyproject.toml asks for serves the build and stays out of the environment."""
    prefix = make_prefix()
    files, backend = with_own_backend("mine")
    tree = write_tree(tmp_path / "mine", files)
    wanted = PipRequirement("./mine", PipKind.PATH, requirement("x").origin, path=tree)
    tools = [wheel(name, "1.0") for name in ("setuptools", "wheel", "packaging", "ninja")]
    with serve([backend, *tools]) as index:
        request, installer = make_request(section(wanted)), uv(environ, index_url=index.url)
        installer.install(installer.resolve(request, recorder), request, prefix, recorder)
    assert installed(prefix) == {"mine": "1.0"}


@needs_git
def test_git_source_with_another_backend_is_built_in_isolation(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder, tmp_path: Path
) -> None:
    """Sources that lack their build backend without isolation get it by isolation instead of failing."""
    prefix = make_prefix()
    files, backend = with_own_backend("mine")
    tree = git_repository(write_tree(tmp_path / "repo", files))
    wanted = PipRequirement(f"git+file://{tree}", PipKind.VCS, requirement("x").origin)
    with serve([backend]) as index:
        request, installer = make_request(section(wanted)), uv(environ, index_url=index.url)
        installer.install(installer.resolve(request, recorder), request, prefix, recorder)
    assert installed(prefix) == {"mine": "1.0"}


@needs_git
@pytest.mark.parametrize("login", [f"u:{CANARY}", CANARY], ids=["user and password", "token"])
def test_credentials_of_a_git_source_show_up_nowhere(
    environ: dict[str, str],
    make_request: MakeRequest,
    make_prefix: MakePrefix,
    argv_watch: ArgvWatch,
    login: str,
) -> None:
    """``git+https://token@`` works; no argv, line, plan or file of ours holds it."""
    recorder, scratch = Recorder(), make_request(section()).scratch
    prefix = make_prefix()
    tree = git_repository(write_tree(prefix.parent / "repo", source_files("mine", "1.0")))
    subprocess.run(["git", "update-server-info"], cwd=tree, check=True)
    user, _, password = login.partition(":")
    with serve([], user=user, password=password) as index:
        index.folder = tree
        address = f"git+{index.url.replace('/simple', '/tree/.git')}"
        wanted = PipRequirement(address.replace("://", "://${LOGIN}@"), PipKind.VCS, requirement("x").origin)
        literal = PipRequirement(address.replace("://", f"://{login}@"), PipKind.VCS, requirement("x").origin)
        installer = uv({**environ, "LOGIN": login}, no_index="1")
        for one in (wanted, literal):
            request = make_request(section(one))
            plan = installer.resolve(request, recorder)
            result = installer.install(plan, request, prefix, recorder)
            assert CANARY not in f"{plan} {result} {recorder.lines}"
    assert installed(prefix) == {"mine": "1.0"}
    assert any("git fetch" in line for line in argv_watch.seen)
    assert not [line for line in argv_watch.seen if CANARY in line and "pytest" not in line]
    hits = [path for path in prefix.parent.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert [path for path in hits if scratch not in path.parents] == []


def test_credentials_of_a_wheels_address_stay_out_of_the_prefix(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """``name @ https://u:p@host/x.whl`` logs in; ``direct_url.json`` and the plan hold no login."""
    prefix = make_prefix()
    lib = wheel("lib", "1.0")
    with serve([lib], user="u", password=CANARY) as index:
        url = index.url_with_credentials.replace("/simple", f"/files/{lib.file_name}")
        wanted = PipRequirement(f"lib @ {url}", PipKind.URL, requirement("x").origin, name="lib")
        request, installer = make_request(section(wanted)), uv(environ)
        plan = installer.resolve(request, recorder)
        installer.install(plan, request, prefix, recorder)
    assert installed(prefix) == {"lib": "1.0"}
    assert plan.packages[0].hashes == (f"sha256:{lib.sha256}",)
    assert CANARY not in str(plan)
    hits = [path for path in prefix.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert hits == []


def test_build_finds_the_environments_compilers_and_cuda(tmp_path: Path) -> None:
    """Programs of the prefix come first; conda's compilers and nvcc are named unless the user named others."""
    prefix, tools = tmp_path / "env", tmp_path / "tools"
    (prefix / "bin").mkdir(parents=True)
    machine = platform.machine()
    for name in ("nvcc", f"{machine}-conda-linux-gnu-cc", f"{machine}-conda-linux-gnu-c++"):
        (prefix / "bin" / name).touch()
    given = build_environment(prefix, {"PATH": "/usr/bin", "CXX": "my-c++"}, tools)
    assert given["PATH"].split(":") == [str(tools / "bin"), str(prefix / "bin"), "/usr/bin"]
    assert given["CUDA_HOME"] == str(prefix)
    assert given["CC"].endswith("-conda-linux-gnu-cc")
    assert "CXX" not in given
