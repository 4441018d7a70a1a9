"""Lets jupyter_client start, interrupt and end kernels that run in an environment on another host.

jupyter_client finds it by the entry point ``llmenv-ssh``. What else imports jupyter_client here is in folders called
``inside`` and runs in other Pythons.

The kernel listens at Unix sockets in a folder that only its user may enter, and ssh forwards the local ports there. On
hosts that many share this keeps its output from the others: a TCP port lets everybody subscribe to it.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo, LocalPortCache
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from traitlets import Integer, Unicode

from conda_llmenv.errors import LlmenvError
from conda_llmenv.remote.destination import check_destination, check_remote_prefix, program, ssh_argv
from conda_llmenv.remote.failures import HostFailed, explain, printable
from conda_llmenv.remote.session import Session

LAUNCHER = "launch.py"
"""The file of a kernelspec that starts a kernel in the activated environment."""

CHANNELS = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")
"""In the order in which the supervisor numbers its sockets."""

PORT_TRIES = 3
"""How often other local ports are tried when some program took one between the choice and ssh."""

GREETING_SECONDS = 15.0
"""How long a kernel that listens may take to greet through the tunnel."""

PAUSE = 0.05


class PortTaken(HostFailed):
    """Another program listens at a local port that was free a moment ago."""


class SSHProvisioner(LocalProvisioner):
    """Kernels on another host: the local ends are as of a kernel here, the process is ssh with a supervisor behind."""

    host = Unicode(config=True, help="Where the kernel runs, as ssh is told.")
    prefix = Unicode(config=True, help="The environment there.")
    keepalive = Integer(
        10, min=1, config=True, help="Seconds between signs of life; after three that stay away it ends."
    )
    start_limit = Integer(180, min=1, config=True, help="Seconds that connecting and starting may take together.")

    session: Session | None = None
    _told = False

    @property
    def has_process(self) -> bool:
        """Whether there is a kernel, or was one that nobody has waited for."""
        return self.session is not None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Connect, start the kernel, and return where it is reached from here.

        Raises:
            RuntimeError: it could not be started, or ssh not; one sentence and a next step.
        """
        self.cwd = kwargs.get("cwd") or ""
        session_name = (kwargs.get("env") or {}).get("JPY_SESSION_NAME", "")
        try:
            return await self._connect(session_name, PORT_TRIES)
        except LlmenvError as error:
            hint = f"; {error.hint}" if error.hint else ""
            raise RuntimeError(f"{error.message}{hint}") from error
        except OSError as error:
            raise RuntimeError(f"ssh cannot be started: {error.strerror}; install OpenSSH's client") from error

    async def poll(self) -> int | None:
        """Return None while the kernel runs."""
        if self.session is None:
            return 0
        code = self.session.poll()
        if code is not None and self.session.code is None and not self._told:
            self._told = True
            self.log.error("%s", explain(self.host, self.prefix, code, self.session.complaints).message)
        return code

    async def wait(self) -> int | None:
        """Wait for the kernel to end, and let the connection go."""
        code: int | None = 0
        while (code := await self.poll()) is None:  # noqa: ASYNC110  # threads tell, and any event loop may ask
            await asyncio.sleep(PAUSE)
        await self._close()
        return code

    async def send_signal(self, signum: int) -> None:
        """Signal the kernel and what it has started."""
        if self.session is not None and signum:
            self.session.send({"signal": int(signum)})

    async def terminate(self, restart: bool = False) -> None:  # noqa: FBT001, FBT002  # as jupyter_client calls it
        """Ask the kernel to end."""
        await self.send_signal(signal.SIGTERM)

    async def kill(self, restart: bool = False) -> None:  # noqa: FBT001, FBT002  # as jupyter_client calls it
        """End the kernel and what it has started."""
        await self.send_signal(signal.SIGKILL)

    async def cleanup(self, restart: bool = False) -> None:  # noqa: FBT001, FBT002  # as jupyter_client calls it
        """Let go of everything; a kernel that could not be told to end does so when the connection is gone."""
        await self._close()
        await super().cleanup(restart=restart)

    def resolve_path(self, path_str: str) -> str | None:
        """Return None: paths of the other host mean nothing here."""
        return None

    async def _connect(self, session_name: str, tries: int) -> KernelConnectionInfo:
        host, prefix = check_destination(self.host), check_remote_prefix(self.prefix)
        folder = f"/tmp/llmenv-{secrets.token_hex(8)}"  # noqa: S108  # made there with mode 0700, refused where it exists
        forwards = [f"{self._local(name)}:{folder}/kernel-{number}" for number, name in enumerate(CHANNELS, 1)]
        self.session = session = Session(
            ssh_argv(host, prefix, forwards=forwards, keepalive=self.keepalive),
            program("supervise") + _line(self._start(folder, session_name)),
            self.keepalive / 2,
            lambda text: self.log.debug("kernel at %s: %s", host, printable(text)),
        )
        self._told = False
        try:
            await self._listening(session)
            await self._greeted(session)
        except PortTaken:
            await self._close()
            if tries == 1:
                raise
            self._choose_ports()
            return await self._connect(session_name, tries - 1)
        except BaseException:
            await self._close()
            raise
        return self.connection_info

    def _start(self, folder: str, session_name: str) -> dict[str, Any]:
        """Return what the supervisor is told: of our variables the notebook's name alone, and the key, in no argv."""
        resources = Path(self.kernel_spec.resource_dir)
        paths = sorted(resources.rglob("*.py"))
        files = {path.relative_to(resources).as_posix(): path.read_text(encoding="utf-8") for path in paths}
        launcher = ["-I", "-S", f"{{folder}}/{LAUNCHER}"] if LAUNCHER in files else []
        info: Mapping[str, Any] = self.connection_info
        return {
            "folder": folder,
            "files": files,
            "argv": [f"{self.prefix}/bin/python", *launcher, "-m", "ipykernel_launcher"],
            "env": {**self.kernel_spec.env, **({"JPY_SESSION_NAME": session_name} if session_name else {})},
            "cwd": str(self.cwd),
            "connection": {name: value.decode() if isinstance(value, bytes) else value for name, value in info.items()},
            "silence": self.keepalive * 4.5,
        }

    def _local(self, name: str) -> str:
        info: Mapping[str, Any] = self.connection_info
        if info["transport"] == "ipc":
            return os.path.abspath(f"{info['ip']}-{info[name]}")  # noqa: PTH100  # ssh tells a path by its first letter
        return f"{info['ip']}:{info[name]}"

    async def _listening(self, session: Session) -> None:
        until = time.monotonic() + self.start_limit
        while not session.listening:  # as above
            if session.poll() is not None:
                raise self._not_started(session)
            if time.monotonic() > until:
                raise HostFailed(
                    f"no kernel listens on {self.host} after {self.start_limit} s",
                    hint="look whether the disk of the environment answers there, or raise start_limit in kernel.json",
                )
            await asyncio.sleep(PAUSE)
        ours = {str(port) for name, port in self.connection_info.items() if name in CHANNELS}
        if taken := ours.intersection(session.taken()):
            raise PortTaken(f"port {min(taken)} of this host is taken by another program", hint="try again")

    def _not_started(self, session: Session) -> HostFailed:
        if session.refusal:
            return HostFailed(f"no kernel could be started on {self.host}: {printable(session.refusal)}")
        if session.code is None:
            return explain(self.host, self.prefix, session.poll() or 0, session.complaints)
        last = [line for line in map(printable, session.output) if line]
        reason = last[-1] if last else f"exit code {session.code}"
        return HostFailed(f"the kernel on {self.host} ended while starting: {reason}", details=last)

    async def _greeted(self, session: Session) -> None:
        """Wait for the first byte that ZMQ sends to whoever connects: the tunnel is open to its end."""
        info: Mapping[str, Any] = self.connection_info
        try:
            if info["transport"] == "ipc":
                opening = asyncio.open_unix_connection(self._local("control_port"))
            else:
                opening = asyncio.open_connection(info["ip"], info["control_port"])
            reader, writer = await asyncio.wait_for(opening, GREETING_SECONDS)
            greeting = await asyncio.wait_for(reader.read(1), GREETING_SECONDS)
            writer.close()
        except (OSError, asyncio.TimeoutError):
            greeting = b""
        if greeting:
            return
        if session.poll() is not None:
            raise self._not_started(session)
        said = next(reversed([line for line in map(printable, session.complaints) if line]), "it does not answer")
        raise HostFailed(
            f"{self.host} does not forward to the kernel that listens there: {said}",
            hint="ask those who run it for AllowStreamLocalForwarding in its sshd_config",
        )

    def _choose_ports(self) -> None:
        cache = LocalPortCache.instance()
        for name in CHANNELS:
            self.connection_info[name] = cache.find_available_port(self.connection_info["ip"])  # type: ignore[literal-required]  # they are keys of it

    async def _close(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            await asyncio.get_running_loop().run_in_executor(None, session.close)


def _line(message: Mapping[str, Any]) -> str:
    return json.dumps(message) + "\n"
