"""The script every probe starts with: ``python -I entry.py PROBE JSON``; prints RFC 7464 JSON texts on stdout.

Whatever the environment's packages print goes to stderr: stdout is kept for observations before any of them is asked
for. ``paths`` alone runs without ``-I``. The JSON has ``nonce``, which every observation carries and nothing else is
given; see ``telling.py``.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import importlib.util
import json
import os
import signal
import sys
from typing import Any

PACKAGE = "llmenv_probes"
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Run one probe and leave with 0 once it has looked at everything, whatever it saw."""
    end_with_parent()
    faulthandler.enable()
    name, asked = taken_arguments()
    become_package()
    telling = importlib.import_module(PACKAGE + ".telling")
    teller = telling.Teller(keep_stdout(), asked.pop("nonce"))
    importlib.import_module(PACKAGE + "." + name).run(asked, teller)


def taken_arguments() -> tuple[str, dict[str, Any]]:
    """Return the probe's name and what it is asked, and leave neither where a package would look for its own."""
    name, asked = sys.argv[1:3]
    del sys.argv[1:]
    if hasattr(sys, "orig_argv"):  # from Python 3.10 on
        del sys.orig_argv[-2:]
    return name, json.loads(asked)


def end_with_parent() -> None:
    """Ask the kernel to end this process when the one that started it is gone, however it went."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def become_package() -> None:
    """Make the folder of this file importable as a package, without putting it on ``sys.path``."""
    folder = os.path.dirname(os.path.abspath(__file__))
    if not sys.flags.isolated and sys.path and os.path.realpath(sys.path[0] or ".") == os.path.realpath(folder):
        del sys.path[0]  # the names of our modules must not be found before those of the environment
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise ImportError("this file is not where it was installed")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


def keep_stdout() -> int:
    """Return a file descriptor of what was stdout, and let everything else that is printed go to stderr."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


if __name__ == "__main__":
    main()
