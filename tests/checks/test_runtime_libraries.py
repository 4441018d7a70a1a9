"""The shared libraries that are really loaded, judged from what a probe saw."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.model import Finding, Status
from tests.checks.runtime_scenes import PREFIX, SITE, judged, scene

NCCL = f"{SITE}/nvidia/nccl/lib/libnccl.so.2"
LINK = "/opt/cuda/lib/libnvJitLink.so.12"


def library(path: str) -> dict[str, str]:
    """Return a library as the probe tells it."""
    family, _, version = path.rpartition("/")[2].removeprefix("lib").partition(".so")
    return {"path": path, "family": family.partition("-")[0], "version": version.lstrip(".")}


def seen(
    loaded: tuple[str, ...] = (),
    copies: tuple[str, ...] = (),
    searched: dict[str, tuple[str, ...]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return what is loaded, every copy, and what lies on LD_LIBRARY_PATH by entry."""
    places = [
        {"variable": "LD_LIBRARY_PATH", "entry": entry, "libraries": [library(path) for path in paths]}
        for entry, paths in (searched or {}).items()
    ]
    return {
        "loaded": [library(path) for path in loaded],
        "copies": [library(path) for path in copies],
        "searched": places,
        "kmp_duplicate_lib_ok": "",
        "prefix": PREFIX,
        **more,
    }


def origin(**values: Any) -> Finding:
    """Judge where libraries come from."""
    return judged("library-origin", scene({"loaded": seen(**values)}))


def test_three_nccls_are_listed_and_the_loaded_one_is_marked() -> None:
    """Two in the environment, a third on ``LD_LIBRARY_PATH`` (46: pytorch#119932, vllm#4195, nccl#1180)."""
    third = "/usr/local/cuda/lib64/libnccl.so.2"
    inside = (f"{PREFIX}/lib/libnccl.so.2", NCCL)
    found = origin(loaded=(NCCL,), copies=inside, searched={"/usr/local/cuda/lib64": (third,)})
    assert found.status is Status.WARN
    assert f"{NCCL} (loaded)" in found.detail
    assert f"{PREFIX}/lib/libnccl.so.2" in found.detail
    assert third in found.detail
    texts = [found.summary, *found.detail]
    assert any(f"the environment has 2 copies of libnccl.so.2: {NCCL} is loaded" in text for text in texts)
    assert any("LD_LIBRARY_PATH leads to libnccl.so.2 in /usr/local/cuda/lib64" in text for text in texts)


def test_a_library_of_cuda_from_outside_fails() -> None:
    """Loaded through the variable: the fix names it (46: torchtune#1984, pytorch#140797, #134929)."""
    found = origin(loaded=(LINK,), searched={"/opt/cuda/lib": (LINK,)})
    assert found.status is Status.FAIL
    assert (
        found.summary == f"libnvJitLink.so.12 is loaded from {LINK} through LD_LIBRARY_PATH, not from the environment"
    )
    assert found.fix == "unset LD_LIBRARY_PATH"


def test_a_library_that_would_be_found_first_warns() -> None:
    """Not loaded yet: the first kernel that needs it gets the wrong one."""
    found = origin(searched={"/opt/cuda/lib": (LINK,)})
    assert found.status is Status.WARN
    assert found.summary == "LD_LIBRARY_PATH leads to libnvJitLink.so.12 in /opt/cuda/lib"
    assert found.fix == "unset LD_LIBRARY_PATH"


@pytest.mark.parametrize(
    "values",
    [
        {"loaded": ("/usr/lib/x86_64-linux-gnu/libcuda.so.1",)},
        {"loaded": ("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",)},
        {"loaded": (f"{SITE}/torch/lib/libgomp.so.1", "/usr/lib/libstdc++.so.6")},
        {"loaded": (NCCL,), "copies": (NCCL,), "searched": {f"{PREFIX}/lib": (NCCL,)}},
        {"searched": {"/opt/mpi/lib": ("/opt/mpi/lib/libgomp.so.1",)}},
        {"copies": (f"{PREFIX}/lib/libcudart.so.12.4.127", f"{PREFIX}/lib/libcudart.so.11.8.89")},
        {"copies": (f"{PREFIX}/lib/libgomp.so.1", f"{SITE}/torch/lib/libgomp.so.1")},
    ],
    ids=["driver", "system-stdc++", "wheels", "own-path", "mpi", "two-majors", "two-gomp"],
)
def test_what_is_in_order_is_no_alarm(values: dict[str, Any]) -> None:
    """The driver's library comes from outside, and wheels use the system's C++ library."""
    assert origin(**values).status is Status.PASS


def test_the_system_s_libstdcxx_before_the_environment_s_own_warns() -> None:
    """An older one lacks symbols: ``GLIBCXX_3.4.30 not found`` is a question of time."""
    found = origin(loaded=("/usr/lib/libstdc++.so.6.0.25",), copies=(f"{PREFIX}/lib/libstdc++.so.6.0.33",))
    assert found.status is Status.WARN
    assert "libstdc++.so.6 is loaded from /usr/lib" in found.summary


def threads(*loaded: str, variables: dict[str, str] | None = None, **more: Any) -> Finding:
    """Judge the OpenMP runtimes."""
    return judged("openmp", scene({"loaded": seen(loaded=loaded, **more)}, variables=variables or {}))


def test_one_openmp_passes_and_is_named() -> None:
    """The one that torch brings."""
    found = threads(f"{SITE}/torch/lib/libgomp.so.1")
    assert found.status is Status.PASS
    assert "torch/lib/libgomp.so.1" in found.summary


def test_two_openmps_warn() -> None:
    """MKL's and GNU's: twice as many threads as cores, and a hang after fork."""
    found = threads(f"{SITE}/torch/lib/libgomp.so.1", f"{PREFIX}/lib/libiomp5.so")
    assert found.status is Status.WARN
    assert "libgomp.so.1 and libiomp5.so" in found.summary


@pytest.mark.parametrize("where", ["shell", "activation"])
def test_the_excuse_for_two_openmps_fails(where: str) -> None:
    """LLVM's own words on the variable: it may silently produce wrong results."""
    if where == "shell":
        found = threads(kmp_duplicate_lib_ok="TRUE")
    else:
        found = threads(variables={"KMP_DUPLICATE_LIB_OK": "True"})
    assert found.status is Status.FAIL
    assert found.fix == "unset KMP_DUPLICATE_LIB_OK"


def test_the_excuse_that_is_switched_off_is_none() -> None:
    """It is set, and does nothing."""
    assert threads(kmp_duplicate_lib_ok="FALSE").status is Status.PASS


def wheel(name: str, *tags: str) -> dict[str, Any]:
    """Return a wheel with its platform tags."""
    return {"name": name, "version": "1.0", "tags": list(tags)}


NEW = wheel("torch", "manylinux_2_28_x86_64")
OLD = wheel("old", "manylinux2014_x86_64")
BOTH = wheel("both", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64")


@pytest.mark.parametrize(
    ("here", "wheels", "conda", "status"),
    [
        ("2.35", [NEW, OLD], {}, Status.PASS),
        ("2.17", [NEW, OLD], {}, Status.FAIL),
        ("2.17", [OLD, BOTH], {}, Status.PASS),
        ("2.26", [OLD], {"pytorch": "__glibc >=2.28,<3.0.a0"}, Status.FAIL),
        ("2.28", [], {"pytorch": "__glibc >=2.28,<3.0.a0"}, Status.PASS),
        ("2.28", [], {"pytorch": ""}, Status.PASS),
        ("", [NEW], {}, Status.SKIP),
    ],
)
def test_the_c_library_of_this_machine(
    here: str, wheels: list[dict[str, Any]], conda: dict[str, str], status: Status
) -> None:
    """Wheels of torch are manylinux_2_28: an older node says "GLIBC_2.28 not found" (57: MMseqs2#461)."""
    found = judged("glibc", scene({"glibc": {"glibc": here, "wheels": wheels, "conda": conda}}))
    assert found.status is status


def test_an_older_c_library_names_both_versions() -> None:
    """What it was built for, and what is here."""
    found = judged("glibc", scene({"glibc": {"glibc": "2.17", "wheels": [OLD, NEW], "conda": {}}}))
    assert found.summary == "torch 1.0 was built for glibc 2.28, and this machine has 2.17"
    assert found.detail == ("torch 1.0",)
