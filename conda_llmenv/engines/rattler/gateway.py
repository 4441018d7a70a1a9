"""The library's access to repodata for one request: shards where a channel has them, the plain file elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import rattler
from rattler.exceptions import GatewayError

from conda_llmenv.engines.rattler import compat
from conda_llmenv.model import SolveRequest
from conda_llmenv.redact import strip

Result = TypeVar("Result")


async def ask_channels(
    request: SolveRequest, client: rattler.Client | None, ask: Callable[[rattler.Gateway], Awaitable[Result]]
) -> Result:
    """Await what is asked through a gateway, with sharded repodata where a channel has it.

    Some mirrors answer 403 for a file they do not have; everything is asked again for the plain one then.
    """
    gateway = _gateway(request, client, sharded=True)
    try:
        return await ask(gateway)
    except GatewayError as error:
        if "repodata_shards" not in str(error) or "HTTP status" not in str(error):
            await _locate(error, request, gateway)
            raise
        return await ask(_gateway(request, client, sharded=False))


async def _locate(error: GatewayError, request: SolveRequest, gateway: rattler.Gateway) -> None:
    """Put the address of its channel into a failure, which the library leaves out where repodata is damaged."""
    sources = [rattler.Channel(strip(channel.url)) for channel in request.channels]
    if len(sources) == 1 or any(source.base_url in str(error) for source in sources):
        return
    for source in sources:
        if not await _is_readable(source, request, gateway):
            error.args = (f"{error}\nin {source.base_url}",)
            return


async def _is_readable(source: rattler.Channel, request: SolveRequest, gateway: rattler.Gateway) -> bool:
    platforms = [compat.subdir(name) for name in request.subdirs]
    try:
        await gateway.query(
            [source], platforms, [rattler.MatchSpec("python")], recursive=False, channel_relations="disabled"
        )
    except GatewayError:
        return False
    return True


def _gateway(request: SolveRequest, client: rattler.Client | None, *, sharded: bool) -> rattler.Gateway:
    config = rattler.SourceConfig(
        sharded_enabled=sharded,
        bz2_enabled=False,
        cache_action="force-cache-only" if request.offline else "cache-or-fetch",
    )
    return rattler.Gateway(cache_dir=request.repodata_cache, default_config=config, client=client)
