"""Starts a kernel through its kernelspec as a client does, asks it what it is, interrupts it and shuts it down.

The client is the environment's own jupyter_client. Everything has a limit, and nothing is left running.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from .telling import Teller

READY, ANSWER, IMPORT, INTERRUPTED, ENDED = 60.0, 20.0, 300.0, 10.0, 15.0
"""Seconds: until it is ready, for an answer, for an import from a cold disk, after an interrupt, and for its end."""

SAID = "llmenv: "
"""How a line of our launcher begins."""

NOTES, LARGEST = 20, 1 << 20
"""Lines of the kernel's stderr that are kept, and characters of it that are read."""

PYTHON = "python"

UNSET = "***unset***"
"""What conda writes for a variable of a package's that is not wanted."""

FACTS = (
    "__import__('json').dumps({'prefix': __import__('sys').prefix, 'executable': __import__('sys').executable,"
    " 'path': __import__('os').environ.get('PATH', ''), 'pid': __import__('os').getpid(),"
    " 'user_site': bool(__import__('site').ENABLE_USER_SITE),"
    " 'missing': [name for name, value in %r.items() if __import__('os').environ.get(name) != value]})"
)

LOOP = "import time as __llmenv_time\nwhile True: __llmenv_time.sleep(0.05)"


def run(asked: Mapping[str, Any], teller: Teller) -> None:
    """Try the kernel ``asked["name"]`` in the folder ``asked["kernels"]``."""
    runtime = tempfile.mkdtemp(prefix="llmenv-kernel-")
    os.environ["JUPYTER_RUNTIME_DIR"] = runtime  # connection files, which hold a key, go with it
    session = _Session(asked)
    try:
        with teller.looking("start") as values:
            teller.step("waiting for the kernel")
            session.start()
            values.update(session.told())
        if session.ready:
            _ask(asked, session, teller)
    finally:
        with teller.looking("shutdown") as values:
            teller.step("shutting the kernel down")
            values.update(session.end())
        session.tell_stderr()
        shutil.rmtree(runtime, ignore_errors=True)


def _ask(asked: Mapping[str, Any], session: _Session, teller: Teller) -> None:
    if session.language != PYTHON:
        return
    with teller.looking("environment") as values:
        found = session.evaluate(FACTS % (_variables(asked["starts"]),))
        same = os.path.realpath(found["prefix"]) == os.path.realpath(asked["starts"] or found["prefix"])
        first = found["path"].split(os.pathsep)[0]
        values.update({**found, "path": first, "same": same, "first": _same(first, asked["starts"])})
        values["notes"] = session.notes()
    for module in dict.fromkeys(asked["modules"]):
        teller.step(f"importing {module}")
        with teller.looking(f"import {module}") as values:
            started = time.monotonic()
            values["error"] = session.run(f"import {module}", IMPORT)
            values["import_seconds"] = round(time.monotonic() - started, 2)
    with teller.looking("interrupt") as values:
        teller.step("interrupting the kernel")
        values.update(session.interrupt())


class _Session:
    """One kernel and its client."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import KernelManager

        specs = KernelSpecManager(kernel_dirs=[asked["kernels"]], ensure_native_kernel=False)
        self.ready = False
        self.language = ""
        self._seconds = 0.0
        self._info: Any = {}
        self._client: Any = None
        self._pid = 0
        self._environ = _environ(asked["environ"])
        self._log = os.path.join(os.environ["JUPYTER_RUNTIME_DIR"], "stderr")
        self._manager = KernelManager(kernel_spec_manager=specs, kernel_name=asked["name"])

    def start(self) -> None:
        """Start it and wait until it answers."""
        started = time.monotonic()
        with open(self._log, "wb") as log:
            self._manager.start_kernel(env=self._environ, stderr=log)
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=READY)
        self._seconds = round(time.monotonic() - started, 2)
        self._client.kernel_info()
        self._info = self._reply(None, ANSWER)
        self.language = self._info.get("language_info", {}).get("name", "")
        self.ready = True

    def told(self) -> Mapping[str, Any]:
        """Return what it says about itself."""
        return {
            "seconds_to_ready": self._seconds,
            "implementation": self._info.get("implementation", ""),
            "implementation_version": self._info.get("implementation_version", ""),
            "language": self.language,
            "language_version": self._info.get("language_info", {}).get("version", ""),
        }

    def notes(self) -> list[str]:
        """Return what our launcher said on stderr before it became the kernel."""
        return [line[len(SAID) :] for line in self._lines() if line.startswith(SAID)][:NOTES]

    def tell_stderr(self) -> None:
        """Hand on what the kernel wrote to stderr, the end of it."""
        sys.stderr.write("\n".join(self._lines()[-NOTES:]))

    def _lines(self) -> list[str]:
        try:
            with open(self._log, encoding="utf-8", errors="replace") as log:
                return log.read(LARGEST).splitlines()
        except OSError:
            return []

    def evaluate(self, expression: str) -> Mapping[str, Any]:
        """Return the mapping that a Python expression gives as JSON."""
        asked = self._client.execute("", silent=True, user_expressions={"it": expression}, allow_stdin=False)
        reply = self._reply(asked, ANSWER).get("user_expressions", {}).get("it", {})
        if reply.get("status") != "ok":
            raise RuntimeError(f"the kernel cannot say what it is: {reply.get('ename')}: {reply.get('evalue')}")
        found: Mapping[str, Any] = json.loads(ast.literal_eval(reply["data"]["text/plain"]))
        self._pid = int(found["pid"])
        return found

    def run(self, code: str, limit: float) -> str:
        """Run code and return its exception, if it raised one."""
        reply = self._reply(self._client.execute(code, silent=True, allow_stdin=False), limit)
        return "" if reply.get("status") == "ok" else f"{reply.get('ename')}: {reply.get('evalue')}"[:1000]

    def interrupt(self) -> Mapping[str, Any]:
        """Interrupt a loop, and see whether it ends in an exception and the kernel goes on."""
        asked = self._client.execute(LOOP, silent=True, allow_stdin=False)
        self._busy(asked)
        started = time.monotonic()
        self._manager.interrupt_kernel()
        reply = self._reply(asked, INTERRUPTED)
        seconds = round(time.monotonic() - started, 2)
        return {"ename": reply.get("ename", ""), "seconds": seconds, "after": self.run("1", ANSWER)}

    def end(self) -> Mapping[str, Any]:
        """Shut it down and see whether it is gone."""
        started = time.monotonic()
        if self._manager.has_kernel:
            self._manager.shutdown_wait_time = ENDED
            self._manager.shutdown_kernel(now=not self.ready)
        if self._client is not None:
            self._client.stop_channels()
        while self._pid and _exists(self._pid) and time.monotonic() - started < ENDED:
            time.sleep(0.05)
        return {"gone": not (self._pid and _exists(self._pid)), "seconds": round(time.monotonic() - started, 2)}

    def _busy(self, asked: str) -> None:
        """Wait until the kernel is at work on a request, and a little longer: the loop has to be running."""
        end = time.monotonic() + ANSWER
        while time.monotonic() < end:
            message = self._client.get_iopub_msg(timeout=max(0.0, end - time.monotonic()))
            mine = message["parent_header"].get("msg_id") == asked
            if mine and message["content"].get("execution_state") == "busy":
                break
        time.sleep(0.3)

    def _reply(self, asked: Any, limit: float) -> Mapping[str, Any]:
        """Return the answer to a request; to any, where none is named."""
        end = time.monotonic() + limit
        while True:
            left = end - time.monotonic()
            if left <= 0 or not self._manager.is_alive():
                raise TimeoutError(f"no answer within {limit:g} s" if left <= 0 else "the kernel has died")
            try:
                message = self._client.get_shell_msg(timeout=min(left, 1.0))
            except Exception as error:  # queue.Empty; from some versions on, another's
                if type(error).__name__ != "Empty":
                    raise
                continue
            if asked is None or message["parent_header"].get("msg_id") == asked:
                content: Mapping[str, Any] = message["content"]
                return content


def _variables(prefix: str) -> Mapping[str, str]:
    """Return what a person has set for an environment: read here, since a command line is no place for secrets."""
    try:
        with open(os.path.join(prefix, "conda-meta", "state"), encoding="utf-8") as stream:
            values = json.load(stream).get("env_vars", {})
        return {name.upper(): str(value) for name, value in values.items() if value != UNSET and name.upper() != "PATH"}
    except (OSError, ValueError, AttributeError):
        return {}


def _same(folder: str, prefix: str) -> bool:
    return bool(prefix) and os.path.realpath(folder) == os.path.realpath(os.path.join(prefix, "bin"))


def _environ(given: Mapping[str, str]) -> Mapping[str, str]:
    """Return the variables of a client that a person started, without what keeps a probe apart."""
    own = {"PYTHONNOUSERSITE", "PYTHONSAFEPATH", "PYTHONDONTWRITEBYTECODE", "JUPYTER_RUNTIME_DIR"}
    return {**{name: value for name, value in os.environ.items() if name not in own}, **given}


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
