"""Starts a kernel, passes signals on to it, and ends it when the connection that this came over is gone.

It lives as long as its kernel. Standard input brings one JSON text a line: first what to start, then signals; an empty
line says that the other end is still there. Standard output takes events, each a JSON text after the record separator
of RFC 7464, so that whatever a shell's start-up files print cannot be taken for one.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
from typing import Any, Dict, List, Tuple

RECORD = b"\x1e"

FILE = "connection.json"
SOCKETS = "kernel"
CHANNELS = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")
"""Sockets are named for the order of these: ``kernel-1`` is the shell channel."""

GRACE_SECONDS = 2.0
"""How long a kernel may take to end after SIGTERM before it gets SIGKILL."""

UNTOLD_BYTES = 65536
"""What may wait for a stalled connection; a kernel's output beyond it is dropped, so that the kernel never waits."""

STARTING_PAUSE, RUNNING_PAUSE = 0.02, 1.0
"""Seconds between looks at whether the kernel listens, and at whether the other end has fallen silent."""


class Supervisor:
    """One kernel and the connection it belongs to."""

    def __init__(self, start: Dict[str, Any], unread: bytes) -> None:
        self.start = start
        self.folder: str = start["folder"]
        self.untold = b""
        self.unread = unread
        self.listening = False
        self.woken, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    def run(self) -> None:
        """Run the kernel to its end, or to that of the connection."""
        os.mkdir(self.folder, 0o700)  # refuses a folder that somebody else has put there
        try:
            with self.launch() as kernel:
                try:
                    self.serve(kernel, kernel.stdout.fileno() if kernel.stdout else -1)
                finally:
                    self.end(kernel)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.flush()

    def launch(self) -> "subprocess.Popen[bytes]":
        """Write what the kernel reads and start it in a session of its own."""
        for name, text in self.start["files"].items():
            self.write(name, text)
        sockets = {name: number for number, name in enumerate(CHANNELS, 1)}
        place = {"transport": "ipc", "ip": os.path.join(self.folder, SOCKETS)}
        self.write(FILE, json.dumps(dict(self.start["connection"], **place, **sockets)))
        argv = [word.replace("{folder}", self.folder) for word in self.start["argv"]]
        cwd = self.start["cwd"]
        return subprocess.Popen(
            [*argv, "-f", os.path.join(self.folder, FILE)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd if cwd and os.access(cwd, os.R_OK | os.X_OK) else os.path.expanduser("~"),
            env=dict(os.environ, **self.start["env"], JPY_PARENT_PID=str(os.getpid())),
            start_new_session=True,
        )

    def write(self, name: str, text: str) -> None:
        """Write a file that nobody else may read; its name may hold folders."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)

    def serve(self, kernel: "subprocess.Popen[bytes]", output: int) -> None:
        """Pass on signals and output until the kernel has ended, the connection has, or nothing is heard any more."""
        reading: List[int] = [0, self.woken, output]
        heard = time.monotonic()
        while not ended(kernel):
            pause = RUNNING_PAUSE if self.listening else STARTING_PAUSE
            readable, writable, _ = select.select(reading, [1] if self.untold else [], [], pause)
            if self.woken in readable:
                os.read(self.woken, 512)
            if output in readable and not self.relay(output):
                reading.remove(output)
            if 0 in readable:
                if not self.obey(kernel):
                    return
                heard = time.monotonic()
            if writable:
                self.untold = self.untold[os.write(1, self.untold) :]
            if not self.listening:
                self.look()
            if time.monotonic() - heard > self.start["silence"]:
                return
        while self.relay(output, wait=False):
            pass

    def relay(self, output: int, *, wait: bool = True) -> bool:
        """Pass on what the kernel prints outside of its channels; return whether there may be more."""
        if not wait and not select.select([output], [], [], 0)[0]:
            return False
        data = os.read(output, 4096)
        if data and len(self.untold) < UNTOLD_BYTES:
            self.tell(event="output", text=data.decode("utf-8", "replace"))
        return bool(data)

    def obey(self, kernel: "subprocess.Popen[bytes]") -> bool:
        """Do what the other end says; return whether it is still there."""
        try:
            data = os.read(0, 4096)
        except ConnectionError:
            return False
        *lines, self.unread = (self.unread + data).split(b"\n")
        for line in filter(None, lines):
            send(kernel, json.loads(line)["signal"])
        return bool(data)

    def look(self) -> None:
        """Tell once that all sockets of the kernel are there."""
        first = os.path.join(self.folder, SOCKETS)
        if all(os.path.exists("%s-%d" % (first, number)) for number in range(1, len(CHANNELS) + 1)):
            self.listening = True
            self.tell(event="listening")

    def end(self, kernel: "subprocess.Popen[bytes]") -> None:
        """End the kernel if it still runs, and whatever is left of its process group."""
        if not ended(kernel):
            send(kernel, signal.SIGTERM)
            until = time.monotonic() + GRACE_SECONDS
            while not ended(kernel) and time.monotonic() < until:
                time.sleep(0.02)
        send(kernel, signal.SIGKILL)
        self.tell(event="exited", code=kernel.wait())

    def tell(self, **event: Any) -> None:
        """Put an event into the queue."""
        self.untold += RECORD + json.dumps(event).encode() + b"\n"

    def flush(self) -> None:
        """Write what is left, unless the connection is gone or stalled."""
        until = time.monotonic() + GRACE_SECONDS
        while self.untold and select.select([], [1], [], max(0.0, until - time.monotonic()))[1]:
            self.untold = self.untold[os.write(1, self.untold) :]


def ended(kernel: "subprocess.Popen[bytes]") -> bool:
    """Return whether a kernel has ended; it stays a zombie, so that its process group keeps its number."""
    return os.waitid(os.P_PID, kernel.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def send(kernel: "subprocess.Popen[bytes]", number: int) -> None:
    """Signal a kernel and what it has started, as jupyter_client does with kernels on its own host."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(kernel.pid, number)


def stop(*_: Any) -> None:
    """End this process in order: what is finally to be done is done."""
    raise SystemExit(1)


def received() -> Tuple[bytes, bytes, bytes]:
    """Return the first line, its end, and what came with it."""
    data = b""
    while b"\n" not in data:
        more = os.read(0, 65536)
        if not more:
            break
        data += more
    return data.partition(b"\n")


def supervise() -> None:
    """Read what to start, and look after it."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop)
    line, end, rest = received()
    if not end:
        return  # the other end was gone before it had said what to start
    os.set_blocking(1, False)
    try:
        Supervisor(json.loads(line), rest).run()
    except BrokenPipeError:
        pass  # the connection ended while it was being told something
    except OSError as error:
        os.write(1, RECORD + json.dumps({"event": "refused", "reason": str(error)}).encode() + b"\n")


if __name__ == "__main__":
    supervise()
