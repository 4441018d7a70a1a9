"""The floor: py-rattler and ``uv pip install`` called in sequence, nothing composed, checked, locked or recorded."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import rattler
import uv

SUBDIR = getattr(rattler, "Subdir", None) or rattler.Platform


async def main(channel: str, prefix: str, cache: str, packages: list[str]) -> None:
    """Solve and install python and pip, then the pip packages."""
    records = await rattler.solve(
        [rattler.Channel(channel)],
        [rattler.MatchSpec("python"), rattler.MatchSpec("pip")],
        gateway=rattler.Gateway(cache_dir=f"{cache}/repodata"),
        platforms=[SUBDIR.current(), SUBDIR("noarch")],
        virtual_packages=rattler.VirtualPackage.detect(),
    )
    await rattler.install(records, target_prefix=prefix, cache_dir=f"{cache}/pkgs", show_progress=False)
    subprocess.run([uv.find_uv_bin(), "pip", "install", "--python", f"{prefix}/bin/python", *packages], check=True)  # noqa: ASYNC221 - nothing else runs in this loop


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
