"""What the wheel holds, pinned, and that it works where it is installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel once, without a network: the build backend is a test dependency."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    return next(out.glob("*.whl"))


def test_the_wheel_holds_the_package_and_the_fragments_and_nothing_else(wheel: Path) -> None:
    """Every module, table, schema, fragment and recipe is there; tests and benchmarks are not."""
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {str(path.relative_to(ROOT)) for path in (ROOT / "conda_llmenv").rglob("*") if _is_source(path)}
    for folder in ("envs", "recipes"):
        expected |= {f"conda_llmenv/data/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob("*.yml")}
    assert names == expected


def test_the_wheel_declares_both_ways_in(wheel: Path) -> None:
    """The console script and conda's entry point are declared."""
    archive = zipfile.ZipFile(wheel)
    name = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
    text = archive.read(name).decode()
    assert "llmenv = conda_llmenv.cli.main:script" in text
    assert "[conda]" in text
    assert "conda-llmenv = conda_llmenv.plugin" in text


def test_the_installed_wheel_finds_its_fragments(wheel: Path, tmp_path: Path) -> None:
    """Unpacked somewhere else, with no checkout in sight, tiers and recipes are still there."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "import conda_llmenv, pathlib; from conda_llmenv.library import default_library;"
        f"assert conda_llmenv.__file__.startswith({str(tmp_path)!r}), conda_llmenv.__file__;"
        "library = default_library(pathlib.Path('.'));"
        "print(*library.names('tier'), *library.names('recipe'))"
    )
    environment = {"PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60,
        check=True,
    )  # fmt: skip
    assert {"cpu", "a100", "h100", "sft", "minimal"} <= set(done.stdout.split())


def _is_source(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
