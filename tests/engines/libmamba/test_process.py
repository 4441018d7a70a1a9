"""The library breaks, prints or hangs in a process of its own, and the program stays whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conda_llmenv.engines.libmamba.engine import LibmambaEngine
from conda_llmenv.engines.options import ClientOptions
from conda_llmenv.errors import InputError, LlmenvError, Unsatisfiable
from conda_llmenv.model import Channel
from tests.engines.support import Recorder, channel, solve_request
from tests.http_channel import serve
from tests.program import ROOT

CANARY = "s3cr3t-canary"

SLEEPING = """
import os, pathlib, time
pathlib.Path(os.environ["STARTED"]).write_text(str(os.getpid()))
time.sleep(120)
"""

SOLVING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from conda_llmenv.engines.libmamba.engine import LibmambaEngine
from tests.engines.support import Recorder, channel, solve_request
request = solve_request("gate-c", channels=(channel(Path(sys.argv[1])),))
LibmambaEngine().solve(request, Recorder())
"""


def library(folder: Path, code: str) -> Path:
    """Write something that can be imported as libmambapy and does what ``code`` says."""
    (folder / "libmambapy").mkdir(parents=True)
    (folder / "libmambapy" / "__init__.py").write_text(code)
    return folder


def failure(where: Path | Channel, *specs: str, **more: str) -> LlmenvError:
    """Solve, which has to fail, and return how."""
    one = where if isinstance(where, Channel) else channel(where)
    request = solve_request(*specs, channels=(one,), **more)
    with pytest.raises(LlmenvError) as caught:
        LibmambaEngine(ClientOptions(max_retries=0)).solve(request, Recorder())
    return caught.value


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise RuntimeError('std::bad_variant_access')", "RuntimeError: std::bad_variant_access"),
        ("import os; os.write(2, b'terminate called\\n'); os.abort()", "terminate called"),
        ("import os; os.abort()", f"its process ended with status -{signal.SIGABRT.value}"),
        ("raise SystemExit(3)", "its process ended with status 3"),
        ("import os; os._exit(0)", "its process ended with status 0"),
        ("raise RuntimeError('https://user:w0rd@a.example/c')", "***"),
    ],
    ids=["exception", "assertion", "crash", "exit", "silent exit", "secret"],
)
def test_a_library_that_breaks_is_a_failure_and_no_crash(
    code: str, said: str, offline_channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever C++ does, what comes out is one of this program's failures, with what was said last."""
    monkeypatch.syspath_prepend(library(tmp_path / "lib", code))
    error = failure(offline_channel, "gate-c")
    assert isinstance(error, Unsatisfiable)
    assert error.message == "libmamba's solver broke down"
    assert said in "\n".join(error.details)
    assert "w0rd" not in "\n".join(error.details)


def test_what_the_library_prints_is_not_seen(
    offline_channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`--json` has one document on stdout, whatever native code writes to it."""
    monkeypatch.syspath_prepend(library(tmp_path / "lib", "import os; os.write(1, b'banner'); os.write(2, b'log')"))
    failure(offline_channel, "gate-c")
    assert capfd.readouterr() == ("", "")


def test_what_the_solver_is_told_has_no_secret(
    offline_channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files lie on a disk for as long as it solves."""
    kept = tmp_path / "kept"
    monkeypatch.syspath_prepend(library(tmp_path / "lib", f"import shutil; shutil.copytree('.', {str(kept)!r})"))
    with serve(offline_channel, token=f"tk-{CANARY}", login=f"user:{CANARY}") as server:
        error = failure(Channel("private", server.url()), "gate-a")
    assert isinstance(error, Unsatisfiable)
    files = [path for path in kept.iterdir() if path.is_file()]
    assert {"question.json", "0.json"} <= {path.name for path in files}
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]


def test_the_folder_one_stands_in_shadows_no_module(
    offline_channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person's own `json.py` is not run by a solver."""
    monkeypatch.syspath_prepend(library(tmp_path / "lib", "raise RuntimeError('found')"))
    for name in ("json", "msgspec", "pathlib", "conda_llmenv"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path)
    assert "RuntimeError: found" in failure(offline_channel, "gate-c").details


def test_a_library_that_is_too_old_is_said_so(
    offline_channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 1 can be imported and has another interface altogether."""
    monkeypatch.syspath_prepend(library(tmp_path / "lib", "__version__ = '1.5.12'"))
    details = "\n".join(failure(offline_channel, "gate-c").details)
    assert "libmambapy 2 is needed: No module named 'libmambapy.solver'" in details


def test_mistakes_are_told_before_any_process_starts(offline_channel: Path) -> None:
    """A spec or a channel priority that cannot be read is the person's, not the library's."""
    assert isinstance(failure(offline_channel, "gate-c >=>1"), InputError)
    assert isinstance(failure(offline_channel, "elsewhere::gate-c"), InputError)
    assert "flexible" in failure(offline_channel, "gate-c", channel_priority="strickt").hint


def test_an_interruption_ends_the_solver(offline_channel: Path, tmp_path: Path) -> None:
    """Ctrl-C during a long solve: the program hears it at once, and the solver does not run on."""
    folder, started = library(tmp_path / "lib", SLEEPING), tmp_path / "started"
    program = subprocess.Popen(
        [sys.executable, "-c", SOLVING, str(offline_channel), str(folder)],
        cwd=ROOT,
        env={**os.environ, "STARTED": str(started), "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (started.exists() and started.read_text()) and program.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    solver = int(started.read_text())
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=30)
    assert "KeyboardInterrupt" in said
    with pytest.raises(ProcessLookupError):
        os.kill(solver, 0)
    assert not list(tmp_path.glob("llmenv-solve-*")), "the candidates are gone with it"
