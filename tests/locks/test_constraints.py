"""``constraints.txt``: the versions of the pip section, as pip and uv take them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conda_llmenv.errors import InputError
from conda_llmenv.locks.constraints import write
from conda_llmenv.model import PipPackage
from conda_llmenv.pypi.uvcommand import find_uv
from tests.index.artifacts import wheel
from tests.index.fixtures import MakePrefix, installed
from tests.index.server import write_flat
from tests.locks.pip_locks import CANARY, lock

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_every_version_is_held_and_nothing_else_said() -> None:
    """Commits and hashed files alike are ``name==version``; conda's packages are not pip's to hold."""
    text = write(
        lock(
            PipPackage("torch", "2.1.0+cu121", "torch==2.1.0+cu121", (f"sha256:{'0' * 64}",)),
            PipPackage("repo", "1.0", f"repo @ git+https://u:{CANARY}@h.example/repo@{COMMIT}", direct=True),
            PipPackage("folder", None, "-e /data/folder", direct=True),
            options=("--extra-index-url https://download.pytorch.org/whl/cu121",),
        )
    )
    assert [line for line in text.splitlines() if not line.startswith("# ") or "folder" in line or "torch" in line] == [
        "# folder: its version is not known before it is built",
        "repo==1.0",
        "# torch 2.1.0+cu121 comes from https://download.pytorch.org/whl/cu121",
        "torch==2.1.0+cu121",
    ]
    assert "python" not in text
    assert CANARY not in text


def test_a_version_that_is_none_is_refused() -> None:
    """A line break in broken metadata adds no line."""
    with pytest.raises(InputError, match="no version of six"):
        write(lock(PipPackage("six", "1.0\n--pre", "six==1.0")))


@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_uv_and_pip_hold_to_it(tool: str, environ: dict[str, str], make_prefix: MakePrefix, tmp_path: Path) -> None:
    """``install -c constraints.txt`` takes the older version that the constraints name."""
    prefix = make_prefix(pip=True)
    python = str(prefix / "bin/python")
    write_flat(tmp_path / "wheels", [wheel("base", "1.0"), wheel("base", "2.0"), wheel("top", "1.0", ["base"])])
    (tmp_path / "constraints.txt").write_text(write(lock(PipPackage("base", "1.0", "base==1.0"))))
    program = (
        [python, "-m", "pip", "install"] if tool == "pip" else [str(find_uv()), "pip", "install", "--python", python]
    )
    argv = [*program, "--no-index", "--find-links", "wheels", "-c", "constraints.txt", "top"]
    subprocess.run(argv, env=environ, cwd=tmp_path, check=True, capture_output=True)
    assert installed(prefix) == {"base": "1.0", "top": "1.0"}
