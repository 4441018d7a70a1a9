"""conda's context and caches, changed for as long as one piece of work lasts and then as they were.

Every value is put where conda's own descriptors look first, the context's instance dictionary; names that begin with
an underscore are the raw settings behind conda's computed ones.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conda.base.context import context
from conda.core.package_cache_data import PackageCacheData
from conda.core.prefix_data import PrefixData
from conda.core.subdir_data import SubdirData
from conda.gateways.connection.session import CondaSession, get_session
from conda.reporters import _get_render_func

from conda_llmenv.engines.conda import hooks
from conda_llmenv.engines.conda.compat import forget_cutoff
from conda_llmenv.engines.credentials import Credentials
from conda_llmenv.model import VirtualPackage

ALWAYS: Mapping[str, Any] = {
    "quiet": True,
    "json": False,
    "_console": hooks.NAME,
    "always_yes": True,
    "dry_run": False,
    "download_only": False,
    "register_envs": False,
    "notify_outdated_conda": False,
}
"""What holds for all work: nothing is asked or shown, and registering an environment is left to whoever commits it."""


@contextlib.contextmanager
def scoped(
    changes: Mapping[str, Any], credentials: Credentials, virtual: Sequence[VirtualPackage] | None = None
) -> Iterator[None]:
    """Change settings of conda until the block ends.

    Args:
        changes: setting → value.
        credentials: what some channels want to see; conda is given their addresses without it.
        virtual: the virtual packages that are there; None leaves them to conda.
    """
    initialise()
    values = vars(context)
    before = dict(values)
    values.update({**ALWAYS, "channel_settings": hooks.channel_settings(credentials), **changes})
    forget_cutoff()
    try:
        with _own_caches(), hooks.registered(credentials, virtual):
            yield
    finally:
        values.update(before)  # at no time without them: an abandoned download may still look
        for added in values.keys() - before.keys():
            del values[added]


@functools.cache
def initialise() -> None:
    """Read conda's configuration files, once, unless a ``conda`` command that runs us has done so."""
    if not (context._search_path or context._argparse_args):  # noqa: SLF001 - nothing public says that it was read
        context.__init__()


@contextlib.contextmanager
def _own_caches() -> Iterator[None]:
    """Forget what conda remembers in this process, since it depends on settings; restore what cannot be wrong."""
    remembered = [(kind._cache_, dict(kind._cache_)) for kind in (PrefixData, SubdirData)]
    _forget()
    try:
        yield
    finally:
        for cache, content in remembered:
            cache.clear()
            cache.update(content)
        _forget()


def _forget() -> None:
    PackageCacheData.clear()
    get_session.cache_clear()
    vars(CondaSession._thread_local).clear()  # noqa: SLF001 - sessions know whether they are offline
    _get_render_func.cache_clear()


def package_caches(first: Path) -> tuple[str, ...]:
    """Return conda's package caches with another one before them."""
    initialise()
    return tuple(dict.fromkeys((str(first), *context.pkgs_dirs)))
