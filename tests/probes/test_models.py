"""Model libraries in a real environment: a training step with each, and each fault under the name of its library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

from conda_llmenv.model import Finding, Status
from tests.probes.looking import found, wrapped
from tests.sharedenv import OUTER
from tests.torchenv import BreakEnv

LIBRARIES = ("transformers", "accelerate", "peft")

SEGFAULT = "import ctypes\nctypes.string_at(0)\n"

ABI = "undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"

pytestmark = pytest.mark.torch


@pytest.fixture(scope="session")
def models_env(torch_env: Path) -> Path:
    """Return a copy of the environment with torch that pip has put the model libraries into."""
    prefix = torch_env.parent / "models"
    with FileLock(f"{prefix}.lock", timeout=600):
        if not prefix.is_dir():
            subprocess.run(["cp", "-al", str(torch_env), str(prefix)], check=True)
            argv = [str(prefix / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input", *LIBRARIES]
            clean = {name: value for name, value in OUTER.items() if not name.startswith("PYTHON")}
            done = subprocess.run(argv, env=clean, capture_output=True, text=True, timeout=500, check=False)
            (prefix / "pip.txt").write_text(done.stderr if done.returncode else "", encoding="utf-8")
        reason = (prefix / "pip.txt").read_text(encoding="utf-8").strip()
    if reason:
        pytest.skip(f"pip can offer no {', '.join(LIBRARIES)}: {reason.splitlines()[-1]}")
    return prefix


def stepped(prefix: Path, temporary: Path, **asked: object) -> Finding:
    """Return what the check comes to; nothing may be left where temporary files go."""
    environ = {"TMPDIR": str(temporary), "HOME": str(temporary / "home")}
    finding = found(prefix, "model-step", {"device": "cpu", **asked}, environ=environ)
    assert not (temporary / "home").exists()
    assert not list(temporary.glob(".llmenv*"))
    return finding


def test_each_library_takes_a_step(models_env: Path, tmp_path: Path) -> None:
    """Without a network, and without a file in the person's home: nothing is downloaded."""
    alone = wrapped(tmp_path, models_env, "exec {python}", root=True)
    finding = stepped(alone, tmp_path)
    assert finding.status is Status.PASS, finding
    assert all(any(line.startswith(library) for line in finding.detail) for library in LIBRARIES), finding


def test_one_library_may_be_asked_for(models_env: Path, tmp_path: Path) -> None:
    """The report then speaks of it alone."""
    finding = stepped(models_env, tmp_path, library="accelerate")
    assert finding.status is Status.PASS
    assert len(finding.detail) == 1


@pytest.mark.soak
def test_accelerate_passes_its_own_script(models_env: Path, tmp_path: Path) -> None:
    """Two processes on the processor."""
    finding = found(models_env, "accelerate-script", environ={"TMPDIR": str(tmp_path), "HOME": str(tmp_path)})
    assert finding.status is Status.PASS, finding
    assert "with 2 processes passes" in finding.summary


def test_without_libraries_it_is_skipped(torch_env: Path, tmp_path: Path) -> None:
    """What could not be tried is never passed."""
    assert stepped(torch_env, tmp_path).status is Status.SKIP


def test_a_library_of_another_torch_is_to_be_rebuilt(broken_env: BreakEnv, tmp_path: Path) -> None:
    """The sentence names library, error and what to do (48: flash-attention#246, #309, RAGLAB PR#8)."""
    text = f'raise ImportError("flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: {ABI}")\n'
    record = {"flash_attn-2.8.3.dist-info/METADATA": "Metadata-Version: 2.1\nName: flash-attn\nVersion: 2.8.3\n"}
    prefix = broken_env({"flash_attn/__init__.py": text, **record})
    finding = stepped(prefix, tmp_path)
    assert finding.status is Status.FAIL
    assert finding.summary.startswith("no training step with flash-attn 2.8.3: ABI mismatch, rebuild it")
    assert ABI in finding.measured
    assert finding.fix.startswith(f"{prefix}/bin/python -m pip install --force-reinstall --no-deps")
    assert finding.fix.endswith("--no-build-isolation flash-attn==2.8.3")


def test_the_real_error_of_a_library_is_shown(broken_env: BreakEnv, tmp_path: Path) -> None:
    """A symbol of MKL's that is missing has a known cure, whichever library meets it (45: pytorch#123097)."""
    text = 'raise ImportError("libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent")\n'
    finding = stepped(broken_env({"transformers.py": text}), tmp_path)
    assert finding.status is Status.FAIL
    assert "iJIT_NotifyEvent" in finding.summary
    assert "mkl<2024.1" in finding.fix


def test_a_crash_of_one_library_spares_the_others(broken_env: BreakEnv, tmp_path: Path) -> None:
    """A segfault, a hang and an exit are told of each library, and nothing is left behind."""
    files = {
        "transformers.py": SEGFAULT,
        "peft.py": "import time\ntime.sleep(600)\n",
        "accelerate.py": "import os\nos._exit(3)\n",
        "deepspeed.py": "raise ImportError('no ops for this torch')\n",
    }
    finding = stepped(broken_env(files), tmp_path, patience=15)
    assert finding.status is Status.FAIL
    assert finding.summary.startswith("no training step with transformers: ")
    assert finding.summary.endswith("the process was ended by SIGSEGV")
    told = "\n".join(finding.detail)
    assert "no training step with peft: it was still at work when its time was over" in told
    assert "no training step with accelerate: the process ended with exit code 3" in told
    assert "no training step with deepspeed: ImportError: no ops for this torch" in told
