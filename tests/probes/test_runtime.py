"""What is installed and what is loaded, seen in a real interpreter with faults planted."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from conda_llmenv.checks import runtime
from conda_llmenv.model import Level, ProbeRun, Status
from tests.probes.prefixes import Prefix, judge, look, make, observe, seen, shared_library, shell
from tests.torchenv import BreakEnv, site_packages, write_anew

LOAD = "import ctypes; ctypes.CDLL({path!r})"


@pytest.fixture
def prefix(tmp_path: Path) -> Prefix:
    """Return an empty environment."""
    return make(tmp_path / "env")


def test_names_versions_and_torch(prefix: Prefix) -> None:
    """Names are told as pip compares them, and torch by its version."""
    prefix.torch("2.8.0+cu128")
    prefix.package("Flash_Attn.Extra", "1.0")
    (prefix.site / "~orch-2.0.dist-info").mkdir()
    (prefix.site / "empty-1.0.dist-info").mkdir()
    (prefix.site / "old-3.egg-info").write_text("Name: Old\nVersion: 3.1\n", encoding="utf-8")
    values = observe(prefix.path, "installed")["installed"][0].values
    assert values["names"] == ["flash-attn-extra", "old", "torch"]
    assert values["versions"]["old"] == "3.1"
    assert values["torch"] == "2.8.0+cu128"
    assert values["leftovers"] == ["~orch-2.0.dist-info"]


def test_no_torch_is_told_as_none(prefix: Prefix) -> None:
    """Checks of torch are then skipped."""
    assert observe(prefix.path, "installed")["installed"][0].values["torch"] is None


def test_a_torch_without_metadata_is_torch(prefix: Prefix) -> None:
    """Built from source, or left by a broken uninstall."""
    (prefix.site / "torch").mkdir()
    (prefix.site / "torch" / "version.py").write_text("__version__ = '2.9.0a0+git1'\n", encoding="utf-8")
    assert observe(prefix.path, "installed")["installed"][0].values["torch"] == "2.9.0a0+git1"


def test_four_hundred_packages_stay_small(prefix: Prefix) -> None:
    """The list of a full environment is a few kilobytes."""
    for number in range(400):
        prefix.package(f"package-number-{number}", f"1.{number}", requires=["numpy>=1.26", "torch>=2"] * 5)
    observation = observe(prefix.path, "installed")["installed"][0]
    assert len(json.dumps(observation.values)) < 40_000
    assert observation.seconds < 1.0


def test_a_second_torch_is_found(prefix: Prefix) -> None:
    """Two folders of metadata, one package."""
    prefix.torch("2.7.1")
    prefix.torch("2.8.0")
    found = judge("duplicates", prefix.path, observe(prefix.path, "installed"))
    assert found.status is Status.FAIL
    assert found.summary == "torch is installed 2 times: 2.7.1 and 2.8.0"


@pytest.mark.parametrize(
    ("noted", "there", "status"),
    [
        ("", "conda", Status.PASS),
        ("", "pip", Status.FAIL),
        ("conda", "conda", Status.PASS),
        ("conda", "pip", Status.FAIL),
        ("pip", "pip", Status.PASS),
    ],
)
def test_pip_over_conda_is_found(prefix: Prefix, noted: str, there: str, status: Status) -> None:
    """A record of conda stays when pip replaces its torch (32: pytorch#12470; pixi#1230)."""
    info = prefix.package("torch", "2.8.0", {"torch/__init__.py": "\n"}, installer=there)
    folder = str(info.relative_to(prefix.path))
    files = {f"{folder}/METADATA": "", f"{folder}/INSTALLER": f"{noted}\n" if noted else ""}
    prefix.conda("pytorch", "2.8.0", "cuda128_py311_h1", files)
    found = judge("duplicates", prefix.path, observe(prefix.path, "installed"))
    assert found.status is status
    if status is Status.FAIL:
        assert "torch is installed by conda (pytorch 2.8.0 cuda128_py311_h1)" in found.summary


def nccl(prefix: Prefix, cuda: str, text: str) -> None:
    """Install one of NVIDIA's NCCL wheels: the file is the same for every CUDA."""
    files = {"nvidia/nccl/lib/libnccl.so.2": text, "nvidia/__init__.py": "", "LICENSE.txt": cuda}
    prefix.package(f"nvidia-nccl-{cuda}", "2.27.3", files)


def test_two_nccl_wheels_are_found_twice(prefix: Prefix) -> None:
    """By name, and by the file that both own; what is there is that of the last (46: pytorch#186591)."""
    nccl(prefix, "cu12", "the library for CUDA 12")
    nccl(prefix, "cu13", "the library for CUDA 13, which is longer")
    observations = observe(prefix.path, "installed", "record-overlap")
    assert judge("duplicates", prefix.path, observations).status is Status.FAIL
    found = judge("record-overlap", prefix.path, observations)
    assert found.status is Status.FAIL
    assert found.summary.endswith("nvidia/nccl/lib/libnccl.so.2")
    assert found.measured == "1 files with two owners, 1 of them shared libraries"
    assert found.detail[0].endswith("what is there is that of nvidia-nccl-cu13")


def test_what_two_packages_may_share_is_no_overlap(prefix: Prefix) -> None:
    """The same content, compiled Python, tests and texts at the top."""
    shared = {"space/__init__.py": "", "tests/__init__.py": "{}", "README.md": "{}", "space/__pycache__/a.pyc": "{}"}
    for name in ("one", "two"):
        prefix.package(name, "1.0", {path: text.format(name) if text else "" for path, text in shared.items()})
    assert judge("record-overlap", prefix.path, observe(prefix.path, "record-overlap")).status is Status.PASS


def test_two_forks_of_a_module_warn(prefix: Prefix) -> None:
    """OpenCV with and without windows."""
    for name in ("opencv-python", "opencv-python-headless"):
        prefix.package(name, "4.12", {"cv2/__init__.py": f"name = {name!r}\n"})
    found = judge("record-overlap", prefix.path, observe(prefix.path, "record-overlap"))
    assert found.status is Status.WARN
    assert found.summary.startswith("opencv-python and opencv-python-headless both own")


def test_requirements_are_read_from_the_header_only(prefix: Prefix) -> None:
    """A description may show requirements too."""
    prefix.package("numpy", "2.3.1")
    prefix.package("a", "1.0", requires=["numpy<2", "b; python_version < '3.0'"])
    observations = observe(prefix.path, "requirements")
    found = judge("pip-check", prefix.path, observations)
    assert found.summary == "a 1.0 requires numpy<2, and 2.3.1 is installed"
    assert found.measured == "1 requirements are not met"


def test_a_good_torch_is_told(prefix: Prefix) -> None:
    """Version, CUDA, backends, and where it is."""
    prefix.torch("2.8.0+cu128", "12.8")
    observations = observe(prefix.path, "torch-import", "loaded")
    values = observations["torch-import"][0].values
    assert (values["version"], values["cuda"], values["backends"]) == ("2.8.0+cu128", "12.8", ["gloo"])
    assert judge("torch-import", prefix.path, observations).status is Status.PASS


def test_an_import_that_only_a_variable_breaks_names_it(prefix: Prefix, tmp_path: Path) -> None:
    """Tried a second time without it (46: pytorch#134929)."""
    before = "import os\nif os.environ.get('LD_LIBRARY_PATH'): raise ImportError('x.so: undefined symbol: odd')"
    prefix.torch(before=before)
    environ = shell(LD_LIBRARY_PATH=str(tmp_path))
    found = judge("torch-import", prefix.path, observe(prefix.path, "torch-import", environ=environ))
    assert found.status is Status.FAIL
    assert found.measured == "ImportError: x.so: undefined symbol: odd"
    assert found.fix == "unset LD_LIBRARY_PATH"


def test_the_linker_s_own_words_are_understood(prefix: Prefix, tmp_path: Path) -> None:
    """A library with a symbol of another torch: the real message of this machine's linker (48: flash-attention#246)."""
    source = "extern void _ZN3c104cuda9SetDeviceEab(void); void f(void) { _ZN3c104cuda9SetDeviceEab(); }"
    broken = shared_library(tmp_path / "flash.so", source)
    prefix.torch(before=f"import ctypes; ctypes.CDLL({str(broken)!r}, mode=2)")
    found = judge("torch-import", prefix.path, observe(prefix.path, "torch-import"))
    assert found.status is Status.FAIL
    assert "a compiled extension (flash) does not fit this torch" in found.summary
    assert any("the other C++ ABI" in line for line in found.detail)


def test_a_library_that_is_missing_is_understood(prefix: Prefix) -> None:
    """The loader's words for a file that is not there."""
    prefix.torch(before="import ctypes; ctypes.CDLL('libcudart.so.99')")
    found = judge("torch-import", prefix.path, observe(prefix.path, "torch-import"))
    assert found.summary == "torch cannot be imported: libcudart.so.99 is missing"


def test_an_import_that_raises_something_else_is_an_error(prefix: Prefix) -> None:
    """Its own words, with the last lines of the traceback."""
    prefix.torch(before="raise RuntimeError('operator torchvision::nms does not exist')")
    observation = observe(prefix.path, "torch-import")["torch-import"][0]
    assert observation.error == "RuntimeError: operator torchvision::nms does not exist"


def test_a_crash_at_import_leaves_what_was_seen_before(prefix: Prefix) -> None:
    """OpenMP ends the process when a second runtime starts: the list of what is installed is there all the same."""
    prefix.torch(before="import os, sys; print('OMP: Error #15: already initialized', file=sys.stderr); os.abort()")
    end = look(prefix.path, ProbeRun("runtime", ("installed", "torch-import", "loaded")))
    assert [one.check for one in end.observations] == ["installed"]
    assert end.at_work == ("torch-import",)
    assert end.returncode < 0
    assert "OMP: Error #15: already initialized" in end.tail


def test_a_numpy_that_torch_does_not_understand(prefix: Prefix) -> None:
    """A warning at the import, an error when an array is handed over."""
    prefix.package(
        "numpy", "2.3.1", {"numpy/__init__.py": "__version__ = '2.3.1'\nfloat32 = 0\ndef arange(*a, **k): 0\n"}
    )
    prefix.torch(before="import warnings; warnings.warn('Failed to initialize NumPy: _ARRAY_API not found')")
    found = judge("numpy-abi", prefix.path, observe(prefix.path, "torch-import", "numpy-abi"))
    assert found.status is Status.FAIL
    assert found.summary == "torch and NumPy 2.3.1 do not fit: RuntimeError: Numpy is not available"
    assert '"numpy<2"' in found.fix


def test_no_numpy_is_a_skip(prefix: Prefix) -> None:
    """Nothing was tried, so nothing passes."""
    prefix.torch()
    assert judge("numpy-abi", prefix.path, observe(prefix.path, "numpy-abi")).status is Status.SKIP


@pytest.mark.parametrize("used", [True, False])
def test_a_stub_on_the_library_path_is_found(prefix: Prefix, tmp_path: Path, *, used: bool) -> None:
    """Loaded through the variable it fails, waiting there it warns; the fix is exact (46: torchtune#1984)."""
    stub = shared_library(tmp_path / "cuda" / "libnvJitLink.so.12")
    prefix.torch(before=LOAD.format(path="libnvJitLink.so.12") if used else "")
    observations = observe(prefix.path, "loaded", environ=shell(LD_LIBRARY_PATH=f"{stub.parent}:/nowhere"))
    found = judge("library-origin", prefix.path, observations)
    assert found.status is (Status.FAIL if used else Status.WARN)
    assert found.fix == "unset LD_LIBRARY_PATH"
    assert str(stub.resolve()) in found.measured


def test_every_copy_is_listed_and_the_loaded_one_is_marked(prefix: Prefix, tmp_path: Path) -> None:
    """NCCL of conda, of pip and of the machine (46: pytorch#119932, vllm#4195, nccl#1180)."""
    conda = shared_library(prefix.path / "lib" / "libnccl.so.2.27.3")
    (conda.parent / "libnccl.so.2").symlink_to(conda.name)
    pip = shared_library(prefix.site / "nvidia" / "nccl" / "lib" / "libnccl.so.2")
    third = shared_library(tmp_path / "cuda" / "libnccl.so.2")
    prefix.torch(before=LOAD.format(path=str(pip)))
    observations = observe(prefix.path, "loaded", environ=shell(LD_LIBRARY_PATH=str(third.parent)))
    found = judge("library-origin", prefix.path, observations)
    assert found.status is Status.WARN
    lines = [line for line in found.detail if line.startswith("/")]
    assert sorted(line for line in lines if "nccl" in line) == sorted([f"{pip} (loaded)", str(conda), str(third)])


def test_two_openmp_runtimes_in_one_process(prefix: Prefix) -> None:
    """GNU's beside LLVM's."""
    two = [shared_library(prefix.path / "lib" / name) for name in ("libgomp.so.1", "libiomp5.so")]
    prefix.torch(before="\n".join(LOAD.format(path=str(path)) for path in two))
    found = judge("openmp", prefix.path, observe(prefix.path, "loaded"))
    assert found.status is Status.WARN
    assert "libgomp.so.1 and libiomp5.so" in found.summary


def test_the_excuse_for_two_openmp_runtimes(prefix: Prefix) -> None:
    """KMP_DUPLICATE_LIB_OK in the shell."""
    prefix.torch()
    observations = observe(prefix.path, "loaded", environ=shell(KMP_DUPLICATE_LIB_OK="TRUE"))
    assert judge("openmp", prefix.path, observations).status is Status.FAIL


def test_the_c_library_that_wheels_were_built_for(prefix: Prefix) -> None:
    """Tags of wheels, and what conda's torch depends on."""
    prefix.package("torch", "2.8.0", tags=["cp311-cp311-manylinux_2_98_x86_64"])
    prefix.conda("pytorch", "2.8.0", "h1", {}, depends=["python", "__glibc >=2.99,<3.0.a0"])
    found = judge("glibc", prefix.path, observe(prefix.path, "glibc"))
    assert found.status is Status.FAIL
    assert found.detail == ("conda's pytorch", "torch 2.8.0")


def test_the_compiler_of_the_environment_comes_first(prefix: Prefix, tmp_path: Path) -> None:
    """As torch looks: CUDA_HOME, then PATH."""
    for folder, release in ((prefix.path / "bin", "12.8"), (tmp_path / "cuda" / "bin", "11.8")):
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "nvcc"
        program.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.93'\n", "utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert observe(prefix.path, "nvcc")["nvcc"][0].values["version"] == "12.8"
    chosen = observe(prefix.path, "nvcc", environ=shell(CUDA_HOME=str(tmp_path / "cuda")))["nvcc"][0].values
    assert chosen["version"] == "11.8"


QUICK = tuple(
    dict.fromkeys(one.observed for one in runtime.CHECKS if one.probe == "runtime" and one.level is Level.QUICK)
)
ALL = tuple(dict.fromkeys(one.observed for one in runtime.CHECKS if one.probe == "runtime"))
FOR_CARDS = {"driver-cuda", "torch-arch"}


@pytest.mark.torch
def test_a_real_torch_is_clean(torch_env: Path) -> None:
    """No check has anything to say about an environment in order."""
    observations = observe(torch_env, *ALL)
    alarms = {
        one.id: (found.status, found.summary)
        for one in runtime.CHECKS
        if one.probe == "runtime" and one.id not in FOR_CARDS
        for found in [judge(one.id, torch_env, observations)]
        if found.status not in {Status.PASS, Status.SKIP}
    }
    assert alarms == {}


@pytest.mark.torch
def test_looking_costs_less_than_the_import_itself(torch_env: Path) -> None:
    """The quick level is a preflight: besides ``import torch`` next to nothing."""
    observations = observe(torch_env, *QUICK)
    rest = sum(one[0].seconds for name, one in observations.items() if name != "torch-import")
    assert rest < observations["torch-import"][0].seconds / 2


@pytest.mark.torch
def test_faults_in_an_environment_with_a_real_torch(broken_env: BreakEnv, tmp_path: Path) -> None:
    """A second torch in the metadata, a NumPy in the user site and a stub library, each by its check."""
    prefix = broken_env({"torch-2.12.0.dist-info/METADATA": "Name: torch\nVersion: 2.12.0\n"})
    stub = shared_library(tmp_path / "stubs" / "libnvJitLink.so.12")
    base = tmp_path / "userbase"
    write_anew(base / site_packages(prefix).relative_to(prefix) / "numpy" / "__init__.py", "")
    environ = shell(LD_LIBRARY_PATH=str(stub.parent), PYTHONUSERBASE=str(base))
    observations = observe(prefix, "installed", "loaded", environ=environ)
    observations |= seen(look(prefix, ProbeRun("paths", ("user-site",), isolated=False), environ))
    found = {check: judge(check, prefix, observations) for check in ("duplicates", "library-origin", "user-site")}
    assert found["duplicates"].summary.startswith("torch is installed 2 times")
    assert found["library-origin"].summary.startswith("LD_LIBRARY_PATH leads to libnvJitLink.so.12")
    assert found["user-site"].summary.startswith(f"{base}/")
    assert found["user-site"].status is Status.FAIL
