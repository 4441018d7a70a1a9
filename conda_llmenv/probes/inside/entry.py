"""The script every probe starts with: ``python -I entry.py PROBE JSON``; prints RFC 7464 JSON texts on stdout.

Whatever the environment's packages print goes to stderr: the first thing done is to keep stdout for observations only.
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

PACKAGE = "llmenv_probes"
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Run one probe and leave with 0 once it has looked at everything, whatever it saw."""
    end_with_parent()
    faulthandler.enable()
    name, asked = sys.argv[1], json.loads(sys.argv[2])
    become_package()
    telling = importlib.import_module(PACKAGE + ".telling")
    teller = telling.Teller(keep_stdout())
    importlib.import_module(PACKAGE + "." + name).run(asked, teller)


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
