"""``torch.compile`` in a real environment, with and without what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.model import Finding, Status
from tests.probes.looking import found, look
from tests.torchenv import BreakEnv

PLANTED = Path(__file__).with_name("planted_compute.py")

pytestmark = pytest.mark.torch


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """Return the folder of temporary files of a probe."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def compiled(prefix: Path, temporary: Path, **variables: str) -> Finding:
    """Return what the check comes to; nothing may be left where temporary files go."""
    finding = found(prefix, "compile", {"device": "cpu"}, environ={"TMPDIR": str(temporary), **variables})
    assert not list(temporary.iterdir())
    return finding


def test_a_tiny_function_is_compiled(torch_env: Path, temporary: Path) -> None:
    """It passes where there is a compiler, and says how to get one where there is none."""
    finding = compiled(torch_env, temporary)
    if "compilers found: none" in finding.detail:
        pytest.skip("there is no C++ compiler here")
    assert finding.status is Status.PASS, finding
    assert finding.summary == "torch.compile works on cpu"


def test_a_missing_compiler_is_a_warning(torch_env: Path, temporary: Path, tmp_path: Path) -> None:
    """Training works without: the message names the package that brings one."""
    (tmp_path / "bin").mkdir()
    finding = compiled(torch_env, temporary, PATH=str(tmp_path / "bin"))
    assert finding.status is Status.WARN
    assert "there is no compiler that it could call" in finding.summary
    assert f"conda install -p {torch_env} -c conda-forge gxx_linux-64" in finding.fix
    assert "apt install g++" in finding.fix
    assert "compilers found: none" in finding.detail


def test_a_switch_that_turns_compiling_off_is_told(torch_env: Path, temporary: Path) -> None:
    """The function runs as it is and gives the right values: that is no pass."""
    finding = compiled(torch_env, temporary, TORCHDYNAMO_DISABLE="1")
    assert finding.status is Status.SKIP
    assert "TORCHDYNAMO_DISABLE=1" in finding.summary


def test_a_compiler_without_cpp_is_a_warning(torch_env: Path, temporary: Path, tmp_path: Path) -> None:
    """A machine may have gcc and no C++; the compiler's own words are kept."""
    words = "g++: fatal error: cannot execute 'cc1plus': execvp: No such file or directory"
    script = tmp_path / "bin" / "g++"
    script.parent.mkdir()
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) echo "g++ 13.2.0";; *) echo "{words}" >&2; exit 1;; esac\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    finding = compiled(torch_env, temporary, PATH=f"{script.parent}:/bin:/usr/bin")
    assert finding.status is Status.WARN
    assert "C without C++" in finding.summary


def test_wrong_code_is_a_failure(broken_env: BreakEnv, temporary: Path) -> None:
    """Compiled code that computes something else is worse than none."""
    prefix = broken_env({"sitecustomize.py": PLANTED.read_text(encoding="utf-8")})
    finding = compiled(prefix, temporary, PLANTED="wrong_compiler")
    assert finding.status is Status.FAIL
    assert "off by 1.0e-01" in finding.measured


def test_a_compiler_that_hangs_is_ended(torch_env: Path, temporary: Path, tmp_path: Path) -> None:
    """After its time everything is ended, and its folder is gone."""
    script = tmp_path / "bin" / "g++"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    script.chmod(0o755)
    environ = {"TMPDIR": str(temporary), "PATH": f"{script.parent}:/bin:/usr/bin"}
    findings, end = look(torch_env, ("compile",), {"device": "cpu"}, environ=environ, timeout=10)
    assert end.timed_out
    assert findings["compile"].status is Status.FAIL
    assert end.last_steps == {0: "torch.compile on cpu"}
    assert not list(temporary.iterdir())
