"""``python -m bench.kernel PREFIX``: what activation adds to the start of a kernel, into ``bench/results/kernel.md``.

PREFIX is a conda environment with ipykernel. Its kernel is started as ipykernel itself registers it and as we do, in
turn, each time until it answers ``kernel_info``; a registered kernel is tried as the environment is and with a script
in ``activate.d``.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUNS = 21
AIM = 80.0
"""Milliseconds that activation may add."""

PAIRS = """
import json, sys, time, zmq
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

def seconds(name):
    specs = KernelSpecManager(kernel_dirs=[sys.argv[1]], ensure_native_kernel=False)
    manager = KernelManager(kernel_spec_manager=specs, kernel_name=name)
    started = time.perf_counter()
    manager.start_kernel()
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.reconnect_ivl = 1  # milliseconds; by default what is measured is when a client happens to look
    socket.linger = 0
    socket.connect(f"tcp://{manager.ip}:{manager.shell_port}")
    manager.session.send(socket, "kernel_info_request")
    assert socket.poll(60000)
    passed = time.perf_counter() - started
    socket.close()
    manager.shutdown_kernel(now=True)
    return passed

for name in ("plain", "ours"):
    seconds(name)
print(json.dumps([[seconds("plain"), seconds("ours")] for _ in range(int(sys.argv[2]))]))
"""

PLAIN = """
import json, sys
from ipykernel.kernelspec import write_kernel_spec
write_kernel_spec(sys.argv[1], {"env": {"PYTHONNOUSERSITE": "1"}})
"""


def main() -> None:
    """Measure and write the report."""
    prefix = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory(prefix="llmenv-bench-") as folder:
        report = "\n".join(_report(prefix, Path(folder)))
    path = Path(__file__).parent / "results" / "kernel.md"
    path.write_text(f"{report}\n", encoding="utf-8")
    print(report)


def _report(prefix: Path, folder: Path) -> Iterator[str]:
    yield f"# What activation adds to the start of a kernel, {dt.datetime.now(dt.timezone.utc).date()}"
    yield ""
    yield (
        f"Python {platform.python_version()}, {os.cpu_count()} cores; from the client's call until the kernel answers "
        f"`kernel_info`, in turn, {RUNS} pairs. Aim: {AIM:.0f} ms at most."
    )
    yield ""
    yield "The last two columns: the launcher alone, which becomes a Python that does nothing, against such a Python."
    yield ""
    yield "| environment | ipykernel's own, ms | ours, ms | difference, ms | launcher, wall ms | launcher, CPU ms |"
    yield "| --- | --- | --- | --- | --- | --- |"
    kernels = _kernels(prefix, folder)
    for title, script in (("no script", None), ("one script in activate.d", "export LLMENV_BENCH=1\n")):
        with _script(prefix, script):
            pairs = _pairs(prefix, kernels)
            wall, cpu = _launcher(prefix, kernels)
        plain, ours = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
        difference = statistics.median(after - before for before, after in pairs) * 1000
        yield f"| {title} | {plain:.0f} | {ours:.0f} | {difference:+.0f} | {wall:+.0f} | {cpu:+.0f} |"


def _kernels(prefix: Path, folder: Path) -> Path:
    """Register the environment as ipykernel does and as we do, and return the folder of kernelspecs."""
    kernels = folder / "share" / "jupyter" / "kernels"
    kernels.mkdir(parents=True)
    environ = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    add = ["kernel", "add", "-p", str(prefix), "--name", "ours", "--prefix", str(folder)]
    subprocess.run([sys.executable, "-m", "conda_llmenv", *add], env=environ, check=True, capture_output=True)
    python = str(prefix / "bin" / "python")
    subprocess.run([python, "-I", "-c", PLAIN, str(kernels / "plain")], env=environ, check=True)
    return kernels


@contextmanager
def _script(prefix: Path, text: str | None) -> Iterator[None]:
    """Put a script into ``activate.d`` for a while."""
    place = prefix / "etc" / "conda" / "activate.d" / "llmenv-bench.sh"
    if text is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        place.unlink(missing_ok=True)


def _pairs(prefix: Path, kernels: Path) -> list[list[float]]:
    """Return the seconds until ipykernel's own kernel answers, and until ours does, of each pair."""
    argv = [str(prefix / "bin" / "python"), "-I", "-c", PAIRS, str(kernels), str(RUNS)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    pairs: list[list[float]] = json.loads(done.stdout.strip().splitlines()[-1])
    return pairs


def _launcher(prefix: Path, kernels: Path) -> tuple[float, float]:
    """Return the median milliseconds, by the clock and of processors, that the launcher takes itself."""
    python, nothing = str(prefix / "bin" / "python"), ["-S", "-c", "pass"]
    launcher = [python, "-I", "-S", str(kernels / "ours" / "launch.py"), *nothing]
    differences = []
    for _ in range(RUNS):
        plain, ours = _cost([python, *nothing]), _cost(launcher)
        differences.append([after - before for before, after in zip(plain, ours, strict=True)])
    wall, cpu = (statistics.median(column) * 1000 for column in zip(*differences, strict=True))
    return wall, cpu


def _cost(argv: list[str]) -> tuple[float, float]:
    """Return the seconds a program takes, by the clock and of processors."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(argv, check=True)
    passed, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
