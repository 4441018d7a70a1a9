"""A Jupyter client in a process of its own: reads one JSON request a line, answers with one."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

import nbformat
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

SECONDS = 60.0


class Client:
    """What can be asked of it; one kernel at a time."""

    def __init__(self) -> None:
        self.manager: AsyncKernelManager | None = None
        self.kernel: AsyncKernelClient | None = None
        self.printed = asyncio.Event()

    async def start(self, kernel: str, cwd: str = "") -> dict[str, Any]:
        """Start a kernel and return its connection, or the reason why there is none."""
        self.manager = AsyncKernelManager(kernel_name=kernel)
        try:
            await self.manager.start_kernel(**({"cwd": cwd} if cwd else {}))
        except RuntimeError as error:
            return {"error": str(error)}
        await self._connect()
        info: Mapping[str, Any] = self.manager.get_connection_info()
        return {"key": info["key"].decode(), "ports": [info[name] for name in info if name.endswith("_port")]}

    async def execute(self, code: str) -> dict[str, Any]:
        """Run code and return what it printed, or its exception."""
        assert self.kernel is not None
        told: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            content = message["content"]
            if "text" in content:
                self.printed.set()
            told.append(content.get("text") or content.get("ename") or "")

        reply = await self.kernel.execute_interactive(code, timeout=SECONDS, output_hook=hear)
        return {"status": reply["content"]["status"], "text": "".join(told)}

    async def begin(self, code: str) -> dict[str, Any]:
        """Run code until it prints something; :meth:`finish` waits for the rest."""
        self.printed.clear()
        self.begun = asyncio.create_task(self.execute(code))
        await self.printed.wait()
        return {}

    async def finish(self) -> dict[str, Any]:
        """Wait for what was begun."""
        return await self.begun

    async def interrupt(self) -> dict[str, Any]:
        """Interrupt the kernel."""
        assert self.manager is not None
        await self.manager.interrupt_kernel()
        return {}

    async def restart(self, *, now: bool) -> dict[str, Any]:
        """Restart the kernel."""
        assert self.manager is not None
        assert self.kernel is not None
        self.kernel.stop_channels()
        await self.manager.restart_kernel(now=now)
        await self._connect()
        return {}

    async def alive(self) -> dict[str, Any]:
        """Return whether the kernel runs."""
        assert self.manager is not None
        return {"alive": await self.manager.is_alive()}

    async def shutdown(self, *, now: bool) -> dict[str, Any]:
        """Shut the kernel down."""
        assert self.manager is not None
        if self.kernel is not None:
            self.kernel.stop_channels()
        await self.manager.shutdown_kernel(now=now)
        return {}

    async def notebook(self, kernel: str, cells: list[str]) -> dict[str, Any]:
        """Execute a notebook as nbclient does, and return what its cells printed."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        await NotebookClient(notebook, kernel_name=kernel, timeout=SECONDS).async_execute()
        return {"outputs": ["".join(out.get("text", "") for out in cell["outputs"]) for cell in notebook.cells]}

    async def _connect(self) -> None:
        assert self.manager is not None
        self.kernel = self.manager.client()
        self.kernel.start_channels()
        await self.kernel.wait_for_ready(timeout=SECONDS)


async def serve() -> None:
    """Answer until standard input ends."""
    client = Client()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, arguments = json.loads(line)
        answer = await getattr(client, name)(**arguments)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve())
