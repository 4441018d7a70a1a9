"""A page in headless Chromium, driven over the DevTools protocol: navigate, evaluate, click, type."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.page.browser import PROGRAM

SECONDS = 90
"""For anything to come true in a page; a crowded machine needs a while to draw JupyterLab."""

SWITCHES = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-default-browser-check",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=1280,900", "--remote-debugging-port=0",
)  # fmt: skip

SHIFT = 8
"""The modifier's bit in the protocol."""


class Page:
    """One tab."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=SECONDS))
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def open(self, url: str) -> None:
        """Go to an address."""
        self.call("Page.navigate", url=url)

    def wait_for(self, expression: str) -> Any:
        """Return the value of an expression as soon as it is true."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            value = self.evaluate(expression)
            if value:
                return value
            time.sleep(0.2)
        raise AssertionError(f"never true: {expression}\n{self.evaluate('document.body.innerText')}")

    def click(self, selector: str) -> None:
        """Click an element with the mouse, as a person does."""
        found = json.dumps(selector)
        self.wait_for(f"!!document.querySelector({found})")
        self.evaluate(f"document.querySelector({found}).scrollIntoView({{block: 'center'}})")
        box = self.evaluate(
            f"(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector({found}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def write(self, text: str) -> None:
        """Type text where the cursor is."""
        self.call("Input.insertText", text=text)

    def press_enter(self, modifiers: int = 0) -> None:
        """Press Enter."""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13,
                modifiers=modifiers, **({"text": "\r"} if kind == "keyDown" else {}),
            )  # fmt: skip

    def save(self, file: Path) -> None:
        """Write a picture of what is to be seen."""
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def page(folder: Path) -> Iterator[Page]:
    """Start Chromium with a profile of its own and hand out a tab; none of its processes is left."""
    profile = folder / "profile"
    browser = subprocess.Popen(
        [str(PROGRAM), *SWITCHES, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    try:
        with connect(_target(profile), open_timeout=SECONDS, close_timeout=1, max_size=None, proxy=None) as socket:
            yield Page(socket)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()


def _target(profile: Path) -> str:
    """Return the websocket of the first tab, as soon as there is one."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError, ValueError, IndexError):
            port = int((profile / "DevToolsActivePort").read_text().split()[0])
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=SECONDS) as answer:
                return str(next(one for one in json.load(answer) if one["type"] == "page")["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise AssertionError("Chromium did not start")
