"""``python -m tests.channel OUT [--no-python]``: build the offline channels into OUT."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tests.channel.build import build


def main() -> None:
    """Build and say what there is."""
    parser = argparse.ArgumentParser(prog="python -m tests.channel", description=__doc__)
    parser.add_argument("out", type=Path, help="folder to write; emptied first")
    parser.add_argument("--no-python", action="store_true", help="only the small packages, without an interpreter")
    arguments = parser.parse_args()
    started = time.monotonic()
    out = build(arguments.out.resolve(), python=not arguments.no_python)
    count, channels = len(list(out.glob("*/*/*.conda"))), ", ".join(sorted(path.name for path in out.iterdir()))
    print(f"{count} packages in {channels} under {out}, {time.monotonic() - started:.1f} s")


main()
