"""Names in specs and dependencies, however they are written."""

from __future__ import annotations

import pytest

from conda_llmenv.locks.as_layer import as_layer
from conda_llmenv.locks.dependencies import dependency_parts, spec_name
from conda_llmenv.model import Lock, LockedPlatform


@pytest.mark.parametrize(
    "text",
    [
        "numpy",
        "numpy>=2",
        "numpy >=2,<3",
        "numpy=2.1=py312_0",
        "NumPy==2.1",
        "conda-forge::numpy=2.1",
        "conda-forge/linux-64::numpy[build_number=3]",
        "numpy[channel='https://h.example/a::b']",
    ],
)
def test_a_spec_names_its_package(text: str) -> None:
    """Relations, builds, brackets, capitals and a channel do not hide which package is meant."""
    assert spec_name(text) == "numpy"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("python >=3.11,<3.12.0a0", ("python", ">=3.11,<3.12.0a0")),
        ("__glibc>=2.17", ("__glibc", ">=2.17")),
        ("libcxx 18.* h1_0", ("libcxx", "18.* h1_0")),
        ("zlib", ("zlib", "")),
        ("", ("", "")),
    ],
)
def test_a_dependency_comes_apart(text: str, parts: tuple[str, str]) -> None:
    """The constraint is all that follows the name, with a blank between or without."""
    assert dependency_parts(text) == parts


def test_a_message_about_a_spec_leads_to_the_line_of_its_package() -> None:
    """What the layers asked for is pointed at where the lock has the package, also for `numpy>=2`."""
    lock = Lock((LockedPlatform("linux-64"),), specs=("numpy>=2",), lines={"numpy": 7})
    (spec,) = as_layer(lock, lock.platforms[0], "a.lock", pinned=False).specs
    assert spec.origin.where == "a.lock:7"
