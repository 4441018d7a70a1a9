"""Headless Chromium, which opens a page and answers what it looks like, with nothing but command line and files."""

from __future__ import annotations

import html
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.page.tree import parsed

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

SECONDS = 100

SWITCHES = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-default-browser-check",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000",
)  # fmt: skip

MEASURING = (Path(__file__).parent / "measuring.js").read_text(encoding="utf-8")

FRAME = """<!doctype html><style>:root {{ color-scheme: {scheme} }} body {{ margin: 0 }}
iframe {{ border: 0; width: {width}px; height: {height}px }}</style>
<iframe srcdoc="{page}"></iframe><pre id="measured"></pre><script>{measuring}</script>"""
"""A window of any width: Chromium's own cannot be as narrow as a phone."""


def chromium(folder: Path, *switches: str) -> str:
    """Run Chromium with a profile of its own and return what it prints; none of its processes is left."""
    with subprocess.Popen(
        [str(PROGRAM), *SWITCHES, f"--user-data-dir={folder / 'profile'}", *switches],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8", start_new_session=True,
    ) as browser:  # fmt: skip
        try:
            return browser.communicate(timeout=SECONDS)[0]
        finally:
            _end(browser.pid)


def _end(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def measured(page: str, folder: Path, *, width: int, height: int, scheme: str = "light") -> dict[str, Any]:
    """Return what ``measuring.js`` finds on a page in a window of this size."""
    wrapped = FRAME.format(scheme=scheme, width=width, height=height, page=html.escape(page), measuring=MEASURING)
    (folder / "frame.html").write_text(wrapped, encoding="utf-8")
    document = parsed(chromium(folder, "--dump-dom", (folder / "frame.html").as_uri()))
    found = next(node for node in document.all("pre") if node.attributes.get("id") == "measured")
    return dict(json.loads(found.text))
