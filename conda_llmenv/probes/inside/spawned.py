"""What a process started by ``spawn`` runs first: it makes the probes importable there as ``entry.py`` does here.

multiprocessing runs the file of the parent's main module in each child, under another name than ``__main__``, before
it loads the objects it was given.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve()


def become_package() -> None:
    """Do what ``entry.py`` does, in this process."""
    spec = importlib.util.spec_from_file_location("llmenv_entry", str(HERE.parent / "entry.py"))
    if spec is None or spec.loader is None:
        raise ImportError("entry.py is not beside this file")
    entry = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(entry)
    entry.become_package()


def be_main() -> None:
    """Name this file as the one children have to run first."""
    sys.modules["__main__"].__file__ = str(HERE)


if __name__ == "__mp_main__":
    become_package()
