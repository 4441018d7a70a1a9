"""Installing with the real uv from a real index into a prefix with its own Python."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec import structs, to_builtins

from conda_llmenv.errors import PipFailed
from conda_llmenv.model import PipKind
from conda_llmenv.pypi.buildcache import build_folder, read_key
from conda_llmenv.pypi.config import parse_config
from conda_llmenv.pypi.uv import UvInstaller
from tests.index.artifacts import Artifact, sdist, source_files, wheel
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
from tests.index.server import serve, write_flat
from tests.pypi.test_uv_resolve import uv, versions

TORCH_FILES = {
    "torch/__init__.py": "from torch.version import __version__\n",
    "torch/version.py": "__version__ = {version!r}\ncuda: str | None = {cuda!r}\n",
}


BUILT = "{globals().get('BUILT')!r}"
SETTING = "{dict(config_settings or []).get('flavour')!r}"


def torch(version: str, cuda: str = "12.4") -> Artifact:
    """Return a stand-in for torch: the two files that say what it is."""
    files = {path: text.format(version=version, cuda=cuda) for path, text in TORCH_FILES.items()}
    return wheel("torch", version, files=files)


def extension(version: str = "1.0") -> Artifact:
    """Return sources whose build imports torch and writes its version into the result, as flash-attn's binary does."""
    before = "import torch, time\nBUILT = f'{torch.__version__} at {time.time_ns()}'"
    return sdist("flash-attn", version, source_files("flash-attn", version, ["helper"], before=before))


def test_pinned_list_is_installed_with_uvs_own_records(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """The prefix gets exactly the plan; each line of uv is passed on live and progress reaches the total."""
    prefix = make_prefix()
    with serve([wheel("top", "1.0", ["base"]), wheel("base", "2.0")]) as index:
        installer, request = uv(environ, index_url=index.url), make_request(section("top"))
        plan = installer.resolve(request, recorder)
        result = installer.install(plan, request, prefix, recorder)
    assert installed(prefix) == {"top": "1.0", "base": "2.0"}
    assert {package.name: package.hashes for package in result.packages} == {
        one.name: one.hashes for one in plan.packages
    }
    assert (site_packages(prefix) / "top-1.0.dist-info" / "INSTALLER").read_text() == "uv"
    assert not (site_packages(prefix) / "top-1.0.dist-info" / "direct_url.json").exists()
    assert " + top==1.0" in recorder.lines
    assert recorder.progress[-1] == (2, 2)


def test_provided_distribution_is_left_alone(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """What conda linked stays as it is, in both stages, although the index has a newer one."""
    prefix = make_prefix()
    conda = site_packages(prefix) / "base-1.5.dist-info"
    conda.mkdir()
    (conda / "METADATA").write_text("Metadata-Version: 2.1\nName: base\nVersion: 1.5\nRequires-Dist: unwanted\n")
    (conda / "INSTALLER").write_text("conda")
    (conda / "RECORD").write_text("")
    late = sdist("late", "1.0", source_files("late", "1.0", ["base"]))
    with serve([wheel("top", "1.0", ["base"]), wheel("base", "2.0"), wheel("unwanted", "1.0"), late]) as index:
        installer = uv(environ, index_url=index.url)
        request = make_request(section("top", "late", no_build_isolation=["late"]), provided={"base": "1.5"})
        installer.install(installer.resolve(request, recorder), request, prefix, recorder)
    assert installed(prefix) == {"top": "1.0", "base": "1.5", "late": "1.0"}
    assert (conda / "INSTALLER").read_text() == "conda"


def test_prefetched_plan_installs_without_the_index(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """After a prefetch everything is cached: installing asks the index for nothing, a second prefetch is cheap."""
    prefix = make_prefix()
    with serve([wheel("top", "1.0", ["base"]), wheel("base", "2.0")]) as index:
        installer, request = uv(environ, index_url=index.url), make_request(section("top"))
        plan = installer.resolve(request, recorder)
        installer.prefetch(plan, request, recorder)
        assert installed(prefix) == {}
        asked = len(index.requests)
        started = time.perf_counter()
        installer.prefetch(plan, request, recorder)
        assert time.perf_counter() - started < 0.5  # about 0.03 s on an idle machine
        installer.install(plan, request, prefix, recorder)
        assert len(index.requests) == asked
    assert installed(prefix) == {"top": "1.0", "base": "2.0"}


def test_install_works_offline_from_the_cache(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """With a warm cache, ``offline`` needs no index at all."""
    with serve([wheel("top", "1.0")]) as index:
        installer, request = uv(environ, index_url=index.url), make_request(section("top"))
        installer.prefetch(installer.resolve(request, recorder), request, recorder)
    request = make_request(section("top"), offline=True)
    prefix = make_prefix()
    installer.install(installer.resolve(request, recorder), request, prefix, recorder)
    assert installed(prefix) == {"top": "1.0"}


def test_changed_file_is_refused(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """A file that is not the one of the plan is not installed, and both hashes are shown."""
    prefix = make_prefix()
    with serve([wheel("lib", "1.0")]) as index:
        installer, request = uv(environ, index_url=index.url), make_request(section("lib"))
        plan = installer.resolve(request, recorder)
        changed = wheel("lib", "1.0", files={"lib/__init__.py": "evil = True\n"})
        index.artifacts[:] = [changed]
        with pytest.raises(PipFailed) as caught:
            installer.install(plan, request, prefix, recorder)
    assert caught.value.message == "env.yml:5: lib could not be installed"
    text = "\n".join(caught.value.details)
    assert plan.packages[0].hashes[0] in text
    assert installed(prefix) == {}


def test_broken_wheel_is_named(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder, tmp_path: Path
) -> None:
    """A wheel that is no archive fails with its name and installs nothing of the plan."""
    prefix = make_prefix()
    with serve([wheel("good", "1.0"), wheel("lib", "1.0")]) as index:
        installer, request = uv(environ, index_url=index.url), make_request(section("good", "lib"))
        plan = installer.resolve(request, recorder)
        broken = wheel("lib", "1.0", broken=True)
        index.artifacts[:] = [wheel("good", "1.0"), broken]
        packages = tuple(
            structs.replace(one, hashes=(f"sha256:{broken.sha256}",)) if one.name == "lib" else one
            for one in plan.packages
        )
        with pytest.raises(PipFailed) as caught:
            installer.install(structs.replace(plan, packages=packages), request, prefix, recorder)
    assert caught.value.message == "env.yml:6: lib could not be installed"
    assert installed(prefix) == {}


def test_wheel_that_writes_outside_is_refused(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """A wheel with ``..`` in a path puts nothing outside site-packages, refused or not."""
    prefix = make_prefix()
    evil = wheel("lib", "1.0", files={"lib/__init__.py": "", "../../../../escaped.txt": "out"})
    with serve([evil]) as index:
        installer, request = uv(environ, index_url=index.url), make_request(section("lib"))
        with suppress(PipFailed):
            installer.install(installer.resolve(request, recorder), request, prefix, recorder)
    assert not list(prefix.parent.rglob("escaped.txt"))


def test_entry_point_that_leaves_the_prefix_is_refused(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """A console script named like a path creates no file outside ``bin``."""
    prefix = make_prefix()
    files = {
        "lib/__init__.py": "",
        "lib-1.0.dist-info/entry_points.txt": "[console_scripts]\n../../escaped = lib:main\n",
    }
    with serve([wheel("lib", "1.0", files=files)]) as index:
        installer, request = uv(environ, index_url=index.url), make_request(section("lib"))
        with pytest.raises(PipFailed):
            installer.install(installer.resolve(request, recorder), request, prefix, recorder)
    assert not list(prefix.parent.rglob("escaped"))


def test_second_stage_builds_against_the_first(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """48 and 5 (flash-attention#246, SimPO): what imports torch to build comes second and sees it."""
    prefix = make_prefix()
    with serve([torch("2.6.0"), extension(), wheel("helper", "1.0")]) as index:
        installer, request = uv(environ, index_url=index.url), make_request(section("flash-attn", "torch"))
        plan = installer.resolve(request, recorder)
        assert (versions(plan), plan.late) == ({"torch": "2.6.0"}, ("flash-attn",))
        result = installer.install(plan, request, prefix, recorder)
    assert python(prefix, "import flash_attn; print(flash_attn.BUILT)").startswith("2.6.0 at ")
    late = {package.name: package for package in result.packages if package.name != "torch"}
    assert late["flash-attn"].version == "1.0"
    assert late["flash-attn"].hashes
    assert late["flash-attn"].built
    assert late["helper"].version == "1.0"


def test_wheel_built_here_is_reused_only_for_the_same_torch(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """48: the same torch, CUDA and architectures reuse the build, even in another prefix; others rebuild."""
    with serve(
        [torch("2.6.0"), torch("2.7.0"), torch("2.8.0+cu118", "11.8"), extension(), wheel("helper", "1.0")]
    ) as index:

        def build(prefix_name: str, torch_version: str, **variables: str) -> str:
            installer = uv({**environ, **variables}, index_url=index.url)
            request = make_request(section(f"torch=={torch_version}", "flash-attn"))
            prefix = make_prefix(prefix_name)
            installer.install(installer.resolve(request, recorder), request, prefix, recorder)
            return python(prefix, "import flash_attn; print(flash_attn.BUILT)")

        first = build("one", "2.6.0")
        assert build("two", "2.6.0") == first
        others = [
            build("three", "2.7.0"),
            build("four", "2.8.0"),
            build("five", "2.6.0", TORCH_CUDA_ARCH_LIST="9.0"),
        ]
    assert [one.split(" at ")[0] for one in others] == ["2.7.0", "2.8.0+cu118", "2.6.0"]
    assert len({first, *others}) == 4


def test_build_key_reads_torch_without_importing_it(make_prefix: MakePrefix, environ: dict[str, str]) -> None:
    """48: version, CUDA, C++ ABI and conda build each give another cache folder."""
    prefix = make_prefix()
    version = ".".join(map(str, sys.version_info[:3]))
    folders = [build_folder(read_key(prefix, version, environ), environ)]
    packages = site_packages(prefix) / "torch"
    (packages / "share/cmake/Torch").mkdir(parents=True)
    (packages / "version.py").write_text("__version__ = '2.6.0'\ncuda = '12.4'\nraise SystemExit\n")
    folders.append(build_folder(read_key(prefix, version, environ), environ))
    for abi in "01":
        (packages / "share/cmake/Torch/TorchConfig.cmake").write_text(f'set(FLAGS "-D_GLIBCXX_USE_CXX11_ABI={abi}")\n')
        folders.append(build_folder(read_key(prefix, version, environ), environ))
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / "pytorch-2.6.0-cuda124_py311_0.json").write_text("{}")
    key = read_key(prefix, version, environ)
    folders.append(build_folder(key, environ))
    assert len(set(folders)) == len(folders)
    assert (key.torch, key.cuda, key.abi, key.build) == ("2.6.0", "12.4", "1", "2.6.0-cuda124_py311_0")


def test_local_sources_are_second_and_editable_ones_stay_editable(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder, tmp_path: Path
) -> None:
    """10 and 11 (open_flamingo, gaussian-splatting): a local folder is installed after the first stage."""
    prefix = make_prefix()
    folder = tmp_path / "submodules" / "x y"
    folder.mkdir(parents=True)
    for name, text in source_files("local-ext", "3.0", before="import base\nBUILT = base.__version__").items():
        (folder / name).write_text(text)
    local = requirement("submodules/x y", path=folder, kind=PipKind.PATH)
    with serve([wheel("base", "2.0")]) as index:
        installer, request = uv(environ, index_url=index.url), make_request(section(local, "base"))
        plan = installer.resolve(request, recorder)
        assert plan.late == ("submodules/x y",)
        result = installer.install(plan, request, prefix, recorder)
    assert python(prefix, "import local_ext; print(local_ext.BUILT)") == "2.0"
    assert [package.version for package in result.packages if package.name == "local-ext"] == ["3.0"]


def test_failed_build_names_the_package_and_ends_with_its_last_lines(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """55: what the build printed last was shown live and is in the error; secrets are masked in both."""
    prefix = make_prefix()
    noise = "import sys\nprint('url https://u:" + CANARY + "@h/x', file=sys.stderr)\nraise RuntimeError('no nvcc here')"
    with serve([sdist("flash-attn", "1.0", source_files("flash-attn", "1.0", before=noise))]) as index:
        installer, request = uv(environ, index_url=index.url), make_request(section("flash-attn"))
        with pytest.raises(PipFailed) as caught:
            installer.install(installer.resolve(request, recorder), request, prefix, recorder)
    assert caught.value.message == "env.yml:5: flash-attn could not be built"
    assert any("no nvcc here" in line for line in caught.value.details)
    assert any("no nvcc here" in line for line in recorder.lines)
    assert CANARY not in "\n".join([*caught.value.details, *recorder.lines])
    assert len(caught.value.details) <= 15


def test_credentials_of_an_index_show_up_nowhere(
    environ: dict[str, str],
    make_request: MakeRequest,
    make_prefix: MakePrefix,
    recorder: Recorder,
    argv_watch: ArgvWatch,
) -> None:
    """An index's password is in no argv, line, plan, prefix or cache."""
    prefix = make_prefix()
    late = sdist("flash-attn", "1.0", source_files("flash-attn", "1.0"))
    with serve([wheel("lib", "1.0"), late], user="u", password=CANARY) as index:
        installer, request = (
            uv(environ, extra_index_url=index.url_with_credentials, no_index=""),
            make_request(section("lib", "flash-attn", options=[("--index-url", index.url_with_credentials)])),
        )
        plan = installer.resolve(request, recorder)
        installer.prefetch(plan, request, recorder)
        result = installer.install(plan, request, prefix, recorder)
    assert installed(prefix) == {"lib": "1.0", "flash_attn": "1.0"}
    assert any("uv pip install" in line or "/uv pip install" in line for line in argv_watch.seen)
    assert not [line for line in argv_watch.seen if CANARY in line]
    shown = json.dumps([to_builtins(plan.packages[0]), to_builtins(result.packages[-1])]) + "\n".join(recorder.lines)
    assert CANARY not in shown
    hits = [path for path in prefix.parent.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert [path.name for path in hits if request.scratch not in path.parents] == []
    assert {path.stat().st_mode & 0o777 for path in hits} == {0o600}


def test_wrong_credentials_are_masked_and_explained(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """A refused password gives one clear error that does not print it."""
    with serve([wheel("lib", "1.0")], user="u", password=CANARY[::-1]) as index:
        installer = uv(environ, index_url=index.url.replace("://", f"://u:{CANARY}@"))
        with pytest.raises(PipFailed) as caught:
            installer.resolve(make_request(section("lib")), recorder)
    text = "\n".join([caught.value.message, *caught.value.details, caught.value.hint])
    assert CANARY not in text
    assert "credentials" in text


INTERRUPTED = """
import signal, sys
from pathlib import Path
from conda_llmenv.model import Origin, PipKind, PipRequest, PipRequirement, PipSection
from conda_llmenv.pypi.config import parse_config
from conda_llmenv.pypi.uv import UvInstaller
from tests.index.fixtures import Recorder, section
signal.signal(signal.SIGTERM, signal.default_int_handler)
url, scratch, prefix = sys.argv[1:]
installer = UvInstaller(parse_config([], {"PIP_INDEX_URL": url}))
request = PipRequest(section("flash-attn"), "%d.%d.%d" % sys.version_info[:3], scratch=Path(scratch))
installer.install(installer.resolve(request, Recorder()), request, Path(prefix), Recorder())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_build_leaves_no_child(
    environ: dict[str, str], make_prefix: MakePrefix, tmp_path: Path, number: signal.Signals
) -> None:
    """A signal in the middle of a build ends uv and the build it started."""
    prefix, marker = make_prefix(), tmp_path / "pid"
    slow = f"import os, time\nopen({str(marker)!r}, 'w').write(str(os.getpid()))\ntime.sleep(120)"
    with serve([sdist("flash-attn", "1.0", source_files("flash-attn", "1.0", before=slow))]) as index:
        command = [
            sys.executable,
            "-c",
            textwrap.dedent(INTERRUPTED),
            index.url,
            str(tmp_path / "scratch"),
            str(prefix),
        ]
        where = {**environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        program = subprocess.Popen(command, env=where, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not (marker.exists() and marker.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        build = int(marker.read_text())
        program.send_signal(number)
        _, errors = program.communicate(timeout=30)
    assert b"KeyboardInterrupt" in errors
    with suppress(FileNotFoundError):  # a container without an init keeps the dead as zombies
        assert Path(f"/proc/{build}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    assert installed(prefix) == {}


def test_flat_folder_alone_serves_without_a_network(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder, tmp_path: Path
) -> None:
    """``no-index`` with ``find-links`` installs from a folder only, hashes included."""
    prefix = make_prefix()
    folder = write_flat(tmp_path / "wheels", [wheel("top", "1.0", ["base"]), wheel("base", "2.0")])
    installer = UvInstaller(
        parse_config([], {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "wheels"}), environ, directory=tmp_path
    )
    request = make_request(section("top"))
    plan = installer.resolve(request, recorder)
    installer.install(plan, request, prefix, recorder)
    assert installed(prefix) == {"top": "1.0", "base": "2.0"}
    assert all(package.hashes for package in plan.packages)
    assert folder.exists()


@pytest.mark.parametrize("late", [False, True])
def test_settings_reach_the_build_of_their_package_only(
    environ: dict[str, str], make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder, *, late: bool
) -> None:
    """``name --config-settings=KEY=VALUE`` is pip's, and uv is told in its own way, in both stages."""
    prefix = make_prefix()
    sources = [
        sdist(name, "1.0", {path: text.replace(BUILT, SETTING) for path, text in source_files(name, "1.0").items()})
        for name in ("one", "two")
    ]
    with serve(sources) as index:
        isolated = ["one", "two"] if late else []
        request = make_request(section("one --config-settings='flavour=a b'", "two", no_build_isolation=isolated))
        installer = uv(environ, index_url=index.url)
        installer.install(installer.resolve(request, recorder), request, prefix, recorder)
    assert python(prefix, "import one, two; print(one.BUILT, two.BUILT)") == "a b None"
