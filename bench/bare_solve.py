"""The floor of a dry run: one ``rattler.solve`` and nothing else."""

from __future__ import annotations

import asyncio
import sys

import rattler

SUBDIR = getattr(rattler, "Subdir", None) or rattler.Platform
BUILD = getattr(rattler, "BuildString", str)


async def main(channel: str, cache: str, specs: list[str]) -> None:
    """Solve and print how many packages come out."""
    virtual = [("__glibc", "2.35"), ("__linux", "6.8"), ("__unix", "0"), ("__cuda", "12.8"), ("__archspec", "1")]
    records = await rattler.solve(
        [rattler.Channel(channel)],
        [rattler.MatchSpec(spec, strict=False) for spec in specs],
        gateway=rattler.Gateway(cache_dir=cache),
        platforms=[SUBDIR("linux-64"), SUBDIR("noarch")],
        virtual_packages=[
            rattler.GenericVirtualPackage(rattler.PackageName(name), rattler.Version(version), BUILD("0"))
            for name, version in virtual
        ],
    )
    print(len(records))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
