"""What the dynamic linker says of a torch that cannot be imported, in plain words."""

from __future__ import annotations

from typing import Any

import pytest

from conda_llmenv.checks.runtime_import import cause_of
from conda_llmenv.model import Finding, Status
from tests.checks.runtime_scenes import PREFIX, SITE, judged, scene, torch

LIBRARY = f"ImportError: {SITE}/torch/lib/libtorch_cuda.so"

ERRORS = [
    (
        "ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
        "older libnvJitLink",
        "unset LD_LIBRARY_PATH",
    ),
    (f"{LIBRARY}: undefined symbol: ncclCommResume", "another NCCL", "grep nccl"),
    (f"{LIBRARY}: undefined symbol: ncclCommRegister", "another NCCL", "grep nccl"),
    (f"{LIBRARY}: undefined symbol: iJIT_NotifyEvent", "iJIT_NotifyEvent", "mkl<2024.1"),
    (
        f"ImportError: {SITE}/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEab",
        "ABI mismatch: a compiled extension (flash_attn_2_cuda) does not fit this torch",
        "rebuild",
    ),
    ("ImportError: /lib64/libc.so.6: version `GLIBC_2.28' not found (required by libtorch.so)", "C library", "newer"),
    ("ImportError: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found", "C++ library", "unset LD_LIBRARY_PATH"),
    (
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
        "libcudart.so.12 is missing",
        "library-origin",
    ),
]


def failing(error: str, clean: dict[str, Any] | None = None, **more: Any) -> Finding:
    """Judge an import that ended with an error."""
    return judged("torch-import", scene({"torch-import": {"failed": error, "seconds": 0.1, "clean": clean}}, **more))


@pytest.mark.parametrize(("error", "means", "fix"), ERRORS)
def test_errors_of_the_linker_are_explained(error: str, means: str, fix: str) -> None:
    """Symbols that another version lacks name the library (46: pytorch#119932, #140797; 48: flash-attention#246)."""
    found = failing(error)
    assert found.status is Status.FAIL
    assert means in found.summary
    assert fix in found.fix
    assert found.measured == error


def test_an_unknown_error_is_shown_as_it_is() -> None:
    """No guess: the exception's own words."""
    error = "ImportError: something new\nwith a second line"
    assert cause_of(error) is None
    found = failing(error)
    assert found.summary == "torch cannot be imported: ImportError: something new"
    assert found.detail == ("with a second line",)


def test_what_works_without_a_variable_names_the_variable() -> None:
    """Tried twice, once with ``LD_LIBRARY_PATH`` dropped: the fix is exact (pytorch#134929)."""
    clean = {"dropped": ["LD_LIBRARY_PATH"], "works": True, "error": ""}
    found = failing("ImportError: odd", clean, environ={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"})
    assert found.status is Status.FAIL
    assert found.fix == "unset LD_LIBRARY_PATH"
    assert "without LD_LIBRARY_PATH it can be imported (LD_LIBRARY_PATH=/usr/local/cuda/lib64)" in found.detail


def test_what_fails_either_way_says_so() -> None:
    """The variable is not to blame, and is not blamed."""
    clean = {"dropped": ["LD_LIBRARY_PATH"], "works": False, "error": "ImportError: odd"}
    found = failing("ImportError: odd", clean)
    assert "unset" not in found.fix
    assert found.detail == ("without LD_LIBRARY_PATH it fails too: ImportError: odd",)


def test_a_torch_from_elsewhere_is_not_the_environments() -> None:
    """A ``.pth`` file can lead out of the environment even where variables are ignored."""
    found = judged("torch-import", scene({"torch-import": torch(file="/home/u/pytorch/torch/__init__.py")}))
    assert found.status is Status.FAIL
    assert "outside the environment" in found.summary


def test_a_good_import_is_timed() -> None:
    """The seconds are kept for comparison with earlier runs."""
    found = judged("torch-import", scene({"torch-import": torch()}))
    assert found.status is Status.PASS
    assert found.figures == {"import_torch_s": 2.5}


def test_an_environment_behind_a_link_is_the_same_environment() -> None:
    """The path a person names may be a link to where torch says it is."""
    seen = torch(file="/data/envs/work/lib/torch/__init__.py", prefix="/data/envs/work")
    assert judged("torch-import", scene({"torch-import": seen})).status is Status.PASS


@pytest.mark.parametrize(
    ("values", "status", "words"),
    [
        ({"numpy": "2.3.1", "warnings": [], "failed": ""}, Status.PASS, "torch and NumPy 2.3.1 exchange arrays"),
        ({"absent": True, "failed": ""}, Status.SKIP, "NumPy is not installed"),
        (
            {"numpy": "2.3.1", "warnings": [], "failed": "RuntimeError: Numpy is not available"},
            Status.FAIL,
            "RuntimeError: Numpy is not available",
        ),
        (
            {"numpy": "2.3.1", "warnings": ["Failed to initialize NumPy: _ARRAY_API not found"], "failed": ""},
            Status.WARN,
            "_ARRAY_API not found",
        ),
        ({"failed": "ImportError: numpy.core.multiarray failed to import"}, Status.FAIL, "multiarray"),
    ],
)
def test_numpy_of_another_generation(values: dict[str, Any], status: Status, words: str) -> None:
    """A module compiled with NumPy 1 cannot run with NumPy 2, and torch says it in a warning only."""
    found = judged("numpy-abi", scene({"numpy-abi": values}))
    assert found.status is status
    assert words in found.summary
    if status in {Status.FAIL, Status.WARN} and "multiarray" not in words:
        assert found.fix == f'{PREFIX}/bin/python -m pip install "numpy<2"'
