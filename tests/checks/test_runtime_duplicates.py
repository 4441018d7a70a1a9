"""Nothing is installed twice, and every file has one owner."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.model import Finding, Status
from tests.checks.runtime_scenes import PREFIX, SITE, installed, judged, scene


def twice(versions: dict[str, str] | None = None, **more: Any) -> Finding:
    """Judge a list of what is installed."""
    return judged("duplicates", scene({"installed": installed(versions, **more)}))


def info(version: str, installer: str = "pip", *, conda: bool = False) -> dict[str, Any]:
    """Return what a folder of metadata says."""
    return {
        "version": version,
        "folder": f"{SITE}/torch-{version}.dist-info",
        "installer": installer,
        "conda": conda,
    }


def test_an_ordinary_environment_passes() -> None:
    """One of each."""
    found = twice()
    assert found.status is Status.PASS
    assert found.summary == "each of 2 distributions is installed once"


def test_torch_of_conda_and_of_pip_fails() -> None:
    """Their libraries end up in one folder (32: pytorch#12470, pixi#1230, conda-lock#914, conda-pack#78)."""
    found = twice(conda_torch=["pytorch 2.5.1 cuda126_py311", "libtorch 2.5.1 cuda126"], torch_infos=[info("2.8.0")])
    assert found.status is Status.FAIL
    assert found.summary == "torch is installed by conda (pytorch 2.5.1 cuda126_py311) and by pip (2.8.0)"
    assert found.fix.startswith(f"{PREFIX}/bin/python -m pip uninstall -y torch")


def test_torch_of_conda_alone_passes() -> None:
    """Packages of conda bring metadata of their own, and conda notes itself as their installer."""
    found = twice(conda_torch=["pytorch 2.5.1 cuda126"], torch_infos=[info("2.5.1", "conda", conda=True)])
    assert found.status is Status.PASS


def test_pip_over_the_same_version_of_conda_is_seen() -> None:
    """The folder of metadata has the same name and is not conda's any more."""
    found = twice(conda_torch=["pytorch 2.5.1 cuda126"], torch_infos=[info("2.5.1", "uv")])
    assert found.status is Status.FAIL


def test_two_versions_of_one_name_fail() -> None:
    """Which one ``importlib.metadata`` tells of is a matter of order, and what is imported may be neither."""
    found = twice(several={"torch": [info("2.7.1"), info("2.8.0")]})
    assert found.status is Status.FAIL
    assert found.summary == "torch is installed 2 times: 2.7.1 and 2.8.0"
    assert len(found.detail) == 2


def test_the_same_version_told_twice_is_no_alarm() -> None:
    """A conda package can bring both an egg-info and a dist-info."""
    assert twice(several={"six": [info("1.16.0"), info("1.16.0")]}).status is Status.PASS


@pytest.mark.parametrize(("names", "count"), [(("cu12", "cu13"), 2), (("cu11", "cu12", "cu13"), 3)])
def test_several_nccls_fail(names: tuple[str, ...], count: int) -> None:
    """They write one ``libnccl.so.2`` (46: pytorch#119932, pytorch#186591, returnn#1802: cu11+cu12+cu13)."""
    found = twice({"torch": "2.8.0", **{f"nvidia-nccl-{name}": "2.27.3" for name in names}})
    assert found.status is Status.FAIL
    assert found.measured == f"{count} distributions of nccl"
    assert all(f"nvidia-nccl-{name} 2.27.3" in found.summary for name in names)


def test_two_cudnns_fail() -> None:
    """The file of cuDNN carries no CUDA major either."""
    assert twice({"nvidia-cudnn-cu12": "9.10", "nvidia-cudnn-cu13": "9.20"}).status is Status.FAIL


def test_two_cuda_majors_side_by_side_warn() -> None:
    """Their files have different names, so nothing is lost yet."""
    found = twice({"nvidia-cublas-cu12": "12.8", "nvidia-cuda-runtime-cu11": "11.8"})
    assert found.status is Status.WARN
    assert found.summary == "libraries of CUDA 11 and 12 are installed side by side"


def test_the_set_of_cuda_13_passes() -> None:
    """Since CUDA 13 most names carry no suffix, and NCCL and cuDNN still do."""
    names = ("nvidia-cublas", "nvidia-cuda-runtime", "nvidia-nccl-cu13", "nvidia-cudnn-cu13", "nvidia-nvshmem-cu13")
    assert twice(dict.fromkeys(names, "13.0")).status is Status.PASS


def test_what_an_interrupted_pip_left_is_told() -> None:
    """Each call of pip warns about it, and does not say what it is."""
    found = twice(leftovers=["~orch-2.7.1.dist-info"])
    assert found.status is Status.PASS
    assert found.detail == ("left over from an interrupted pip: ~orch-2.7.1.dist-info",)


def overlap(*pairs: dict[str, Any]) -> Finding:
    """Judge files with two owners."""
    return judged("record-overlap", scene({"record-overlap": {"pairs": list(pairs), "files": 900}}))


def pair(path: str, *, library: bool, there: tuple[str, ...] = (), count: int = 1) -> dict[str, Any]:
    """Return two distributions with a file in common."""
    file = {"path": f"{SITE}/{path}", "library": library, "there": list(there)}
    return {"names": ["a-one", "b-two"], "count": count, "libraries": int(library), "files": [file]}


def test_a_shared_library_with_two_owners_fails() -> None:
    """The one installed last has won, and is named."""
    found = overlap(pair("x/__init__.py", library=False), pair("n/libn.so.2", library=True, there=("b-two",)))
    assert found.status is Status.FAIL
    assert found.summary == f"a-one and b-two both own {SITE}/n/libn.so.2"
    assert found.detail[0].endswith("what is there is that of b-two")


def test_a_module_with_two_owners_warns() -> None:
    """Two forks of one package: one of them works, by chance."""
    found = overlap(pair("cv2/__init__.py", library=False, count=40))
    assert found.status is Status.WARN
    assert found.measured == "40 files with two owners, 0 of them shared libraries"


def test_one_owner_a_file_passes() -> None:
    """Nothing to say."""
    assert overlap().status is Status.PASS
