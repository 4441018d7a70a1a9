"""Create an environment from a recipe on a machine that reaches only the Python package index, and use it.

conda-forge is replaced by a channel built here from the running interpreter, the way a mirror replaces it: with
``channel_alias``. Everything else is the program as it is.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

FILE = Path(__file__).with_name("torch.yml")

PROGRAM = """
import sys, torch
model = torch.nn.Linear(8, 8)
loss = model(torch.ones(4, 8)).square().mean()
loss.backward()
print(f"torch {torch.__version__} from {sys.prefix}: one training step, loss {loss.item():.3f}")
"""


def main(folder: Path) -> None:
    """Build the channel, then type what a person would type."""
    started = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    channels, prefix = folder / "channels", folder / "env"
    _say("A channel for a machine without conda-forge, from this interpreter and the Python package index")
    _run([sys.executable, "-m", "tests.channel", str(channels)], os.environ)
    environ = {
        **os.environ,
        "CONDA_CHANNEL_ALIAS": channels.as_uri(),
        "CONDA_PKGS_DIRS": str(folder / "pkgs"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    layers = ["--recipe", "minimal", "--tier", "cpu", "-f", str(FILE)]
    _say("Which tier fits this machine?")
    _run(["llmenv", "tiers", "detect"], environ)
    _say("What will be asked for, and who asks for it?")
    _run(["llmenv", "compose", *layers], environ)
    _run(["llmenv", "compose", *layers, "--explain", "python"], environ)
    _say("Create it")
    _run(["llmenv", "create", *layers, "-p", str(prefix), "-y"], environ)
    _say("Use it")
    _run([str(prefix / "bin" / "python"), "-c", PROGRAM], environ, shown="python -c '…one training step…'")
    _say("What it is")
    _run(["llmenv", "info", "-p", str(prefix)], environ)
    print(f"\ndone in {time.monotonic() - started:.0f} s; everything is in {folder} (remove it, or run this again)")


def _say(title: str) -> None:
    print(f"\n# {title}", flush=True)


def _run(argv: list[str], environ: os._Environ[str] | dict[str, str], shown: str = "") -> None:
    print(f"$ {shown or shlex.join(argv)}", flush=True)
    program = shutil.which(argv[0], path=environ["PATH"]) or argv[0]
    subprocess.run([program, *argv[1:]], env=dict(environ), check=True)


main(Path(sys.argv[1]).resolve())
