"""The library's access to repodata for one request: shards where a channel has them, the plain file elsewhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import rattler
from rattler.exceptions import GatewayError

from conda_llmenv.model import SolveRequest

Result = TypeVar("Result")


async def ask_channels(
    request: SolveRequest, client: rattler.Client | None, ask: Callable[[rattler.Gateway], Awaitable[Result]]
) -> Result:
    """Await what is asked through a gateway, with sharded repodata where a channel has it.

    Some mirrors answer 403 for a file they do not have; everything is asked again for the plain one then.
    """
    try:
        return await ask(_gateway(request, client, sharded=True))
    except GatewayError as error:
        if "repodata_shards" not in str(error) or "HTTP status" not in str(error):
            raise
        return await ask(_gateway(request, client, sharded=False))


def _gateway(request: SolveRequest, client: rattler.Client | None, *, sharded: bool) -> rattler.Gateway:
    config = rattler.SourceConfig(
        sharded_enabled=sharded,
        bz2_enabled=False,
        cache_action="force-cache-only" if request.offline else "cache-or-fetch",
    )
    return rattler.Gateway(cache_dir=request.repodata_cache, default_config=config, client=client)
