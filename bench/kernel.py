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
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUNS = 31
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
    yield "| environment | ipykernel's own, ms | ours, ms | difference, median of pairs, ms |"
    yield "| --- | --- | --- | --- |"
    kernels = _kernels(prefix, folder)
    for title, script in (("no script", None), ("one script in activate.d", "export LLMENV_BENCH=1\n")):
        pairs = _pairs(prefix, kernels, script)
        plain, ours = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
        difference = statistics.median(after - before for before, after in pairs) * 1000
        yield f"| {title} | {plain:.0f} | {ours:.0f} | {difference:+.0f} |"


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


def _pairs(prefix: Path, kernels: Path, script: str | None) -> list[list[float]]:
    place = prefix / "etc" / "conda" / "activate.d" / "llmenv-bench.sh"
    if script is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(script, encoding="utf-8")
    try:
        argv = [str(prefix / "bin" / "python"), "-I", "-c", PAIRS, str(kernels), str(RUNS)]
        done = subprocess.run(argv, check=True, capture_output=True, text=True)
    finally:
        place.unlink(missing_ok=True)
    pairs: list[list[float]] = json.loads(done.stdout.strip().splitlines()[-1])
    return pairs


if __name__ == "__main__":
    main()
