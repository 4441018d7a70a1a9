"""The embedded engine: py-rattler solves, downloads and links; asyncio stays inside this module."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import rattler

from conda_llmenv.engines import compat, convert
from conda_llmenv.engines.client import ClientOptions
from conda_llmenv.engines.errors import install_errors, solve_errors
from conda_llmenv.engines.progress import InstallProgress
from conda_llmenv.errors import InputError
from conda_llmenv.model import InstallRequest, Solution, SolveRequest
from conda_llmenv.ports import Reporter
from conda_llmenv.redact import strip

PRIORITIES = {
    "strict": rattler.ChannelPriority.Strict,
    "flexible": rattler.ChannelPriority.Flexible,
    "disabled": rattler.ChannelPriority.Disabled,
}
"""conda's words for channel priority."""


class RattlerEngine:
    """Solves with resolvo and installs with rattler's installer, in this process.

    Args:
        options: how to reach channels.
    """

    name = "rattler"

    def __init__(self, options: ClientOptions | None = None) -> None:
        self._options = options or ClientOptions()

    def solve(self, request: SolveRequest, reporter: Reporter) -> Solution:
        """Return every record of the environment, sorted by name; see :class:`conda_llmenv.ports.Engine`."""
        started = time.monotonic()
        reporter.start("solve")
        with solve_errors(request):
            found = asyncio.run(self._solve(request))
        records = tuple(sorted((convert.to_record(record) for record in found), key=lambda record: record.name))
        reporter.finish("solve", f"{len(records)} packages")
        return Solution(records, self.name, round(time.monotonic() - started, 3))

    async def _solve(self, request: SolveRequest) -> list[rattler.RepoDataRecord]:
        specs = [convert.to_spec(text, request.channels) for text in request.specs]
        return await rattler.solve(
            sources=[rattler.Channel(channel.url) for channel in request.channels],
            specs=list(specs),
            gateway=self._gateway(request),
            platforms=[compat.subdir(name) for name in request.subdirs],
            locked_packages=convert.from_records(request.locked),
            virtual_packages=[convert.to_virtual(package) for package in request.virtual_packages],
            channel_priority=_priority(request.channel_priority),
            exclude_newer=convert.to_cutoff(request.exclude_newer),
            constraints=[convert.to_spec(text, request.channels) for text in request.constraints],
            channel_relations="disabled",
            add_pip_as_python_dependency=False,
            **compat.cutoff_options(),
        )

    def _gateway(self, request: SolveRequest) -> rattler.Gateway:
        config = rattler.SourceConfig(cache_action="force-cache-only" if request.offline else "cache-or-fetch")
        return rattler.Gateway(cache_dir=request.repodata_cache, default_config=config)

    def install(self, request: InstallRequest, reporter: Reporter) -> None:
        """Download, verify and link every record into the prefix; see :class:`conda_llmenv.ports.Engine`."""
        progress = InstallProgress(request.records, reporter)  # type: ignore[abstract]  # empty defaults look abstract
        with install_errors(request), progress:
            asyncio.run(self._install(request, progress))

    async def _install(self, request: InstallRequest, progress: InstallProgress) -> None:
        await rattler.install(
            records=convert.from_records(request.records),
            target_prefix=request.prefix,
            platform=compat.subdir(request.subdir),
            execute_link_scripts=False,
            show_progress=False,
            requested_specs=compat.requested_specs([rattler.MatchSpec(strip(text)) for text in request.requested]),
            reporter=progress,
            **compat.package_cache(Path(request.package_cache)),
        )


def _priority(word: str) -> rattler.ChannelPriority:
    if word not in PRIORITIES:
        raise InputError(f"channel priority {word!r} is unknown", hint=f"use one of {', '.join(PRIORITIES)}")
    return PRIORITIES[word]
