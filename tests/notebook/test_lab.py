"""JupyterLab in a real browser: the launcher offers the environment's kernel, and a cell runs in it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.notebook.devtools import SHIFT, page
from tests.notebook.serving import isolated, serving
from tests.page.browser import PROGRAM
from tests.program import Program

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("ssh"),
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed"),
]

CELL = ".jp-Notebook .jp-CodeCell .cm-content"

CODE = "import sys; print(sys.prefix)"

PICTURE = "LLMENV_LAB_PICTURE"
"""A file that a picture of the page is written to, for people."""


def test_a_cell_runs_in_the_environment(llmenv: Program, lab_env: Path, tmp_path: Path) -> None:
    """A person logs in with the token, picks the registered kernel in the launcher, and sees the environment's path."""
    llmenv.environ.update(isolated(tmp_path))
    title = "fine-tuning (test)"
    added = llmenv("kernel", "add", "-p", lab_env, "--name", "sft", "--display-name", title)
    assert added.code == 0, added.text
    with serving(llmenv, "-p", lab_env) as running, page(tmp_path) as tab:
        tab.open(running.told["url"])
        tab.click("#password_input")
        tab.write(running.token)
        tab.press_enter()
        tab.click(f'.jp-LauncherCard[data-category="Notebook"][title={json.dumps(title)}]')
        tab.wait_for("document.body.innerText.includes('| Idle')")  # until then the cells may be drawn anew
        tab.click(CELL)
        tab.wait_for(f"document.querySelector('{CELL}').contains(document.activeElement)")
        tab.write(CODE)
        tab.wait_for(f"document.querySelector('{CELL}').innerText.trim() == {json.dumps(CODE)}")
        tab.press_enter(SHIFT)
        shown = tab.wait_for("(node => node && node.innerText)(document.querySelector('.jp-OutputArea-output'))")
        assert shown.strip() == str(lab_env)
        assert title in tab.evaluate("document.querySelector('.jp-NotebookPanel-toolbar').innerText")
        if PICTURE in os.environ:
            tab.save(Path(os.environ[PICTURE]))
