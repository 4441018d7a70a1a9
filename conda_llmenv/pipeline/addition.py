"""Add conda packages to an environment without changing any that it has."""

from __future__ import annotations

from pathlib import Path

from conda_llmenv.compose import merge
from conda_llmenv.errors import InstallFailed, PrefixError
from conda_llmenv.hardware import virtual_packages
from conda_llmenv.locks.as_layer import as_layer
from conda_llmenv.model import InstallRequest, Lock, Record, SolveRequest
from conda_llmenv.pipeline.tools import Tools


def add_packages(
    prefix: Path, lock: Lock, specs: tuple[str, ...], tools: Tools, *, requested: tuple[str, ...] = ()
) -> tuple[Record, ...]:
    """Install packages into an environment, and what they need; return what is new.

    Args:
        prefix: the environment.
        lock: what is in it.
        specs: what to add.
        tools: an engine, channels and caches.
        requested: specs that were asked for before, which stay on record.

    Raises:
        Unsatisfiable: what is there would have to change.
        PrefixError: the environment has no conda packages.
        InstallFailed, ChannelUnavailable: it cannot be done.
    """
    platform = lock.platforms[0]
    if not platform.records:
        raise PrefixError(f"{prefix} has no conda packages to fit others to", hint="install them with its own tool")
    spec = merge((as_layer(lock, platform, str(prefix), pinned=not lock.specs),))
    virtual, _ = virtual_packages(tools.host(), spec, tools.environ, tools.tables())
    nodefaults = True
    request = SolveRequest(
        specs=(*(f"{record.name}=={record.version}={record.build}" for record in platform.records), *specs),
        channels=tools.resolve_channels(tuple(channel.name for channel in lock.channels), nodefaults),
        subdirs=(platform.subdir, "noarch"),
        virtual_packages=virtual,
        channel_priority="flexible",
        locked=platform.records,
        repodata_cache=tools.caches.repodata,
    )
    solution = tools.engine().solve(request, tools.reporter)
    there = {record.name: record for record in platform.records}
    changed = [one.name for one in solution.records if one.name in there and str(one) != str(there[one.name])]
    if changed:
        raise InstallFailed(f"{', '.join(changed)} would change", hint="install it with the tool you prefer")
    install = InstallRequest(
        records=solution.records,
        prefix=prefix,
        package_cache=tools.caches.packages,
        requested=(*requested, *specs),
        subdir=platform.subdir,
    )
    tools.engine().install(install, tools.reporter)
    return tuple(record for record in solution.records if record.name not in there)
