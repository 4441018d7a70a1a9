"""Puts the adapters behind the ports of the commands about kernels, and finds environments for them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conda_llmenv.cli.wiring import existing_prefix, registry, user_config
from conda_llmenv.errors import LlmenvError, PrefixError
from conda_llmenv.kernels import registering
from conda_llmenv.kernels.liveness import look_inside
from conda_llmenv.kernels.places import ENVIRONMENT, prefix_kernels, searched, user_kernels
from conda_llmenv.kernels.reading import kernelspecs
from conda_llmenv.model import Notice
from conda_llmenv.model.kernels import Kernelspec, Place
from conda_llmenv.pipeline import kernels
from conda_llmenv.pipeline.kernel_states import Listed
from conda_llmenv.pipeline.kernel_tools import Identity, KernelTools
from conda_llmenv.prefix.environments import known
from conda_llmenv.prefix.state import read_state


def kernel_tools() -> KernelTools:
    """Return the tools of the commands about kernels."""
    return KernelTools(
        places=searched(os.environ),
        environments=lambda: known(registry(), user_config().envs_dirs),
        inside_places=_inside,
        read=kernelspecs,
        look=look_inside,
        runs=lambda program: os.access(program, os.X_OK),
        identity=identity,
        register=registering.register,
        remove=registering.remove,
    )


def _inside(prefixes: Iterable[Path]) -> tuple[Place, ...]:
    return tuple(Place(prefix_kernels(prefix), ENVIRONMENT) for prefix in prefixes)


def identity(prefix: Path) -> Identity:
    """Return what an environment says about itself; notes that cannot be read say nothing."""
    try:
        state = read_state(prefix)
    except LlmenvError:
        return Identity()
    return Identity(state.tier, state.recipe) if state else Identity()


def environment(name: str | None, prefix: str | None) -> Path:
    """Return the environment that is meant, a virtual environment included; the active one where none is given.

    Raises:
        InputError, NotFoundError: see :func:`conda_llmenv.prefix.location.find`.
    """
    given = prefix
    if name is None and prefix is None and not os.environ.get("CONDA_PREFIX"):
        given = os.environ.get("VIRTUAL_ENV")
    if name is None and given:
        place = Path(os.path.abspath(os.path.expanduser(given)))  # noqa: PTH100, PTH111 - a link at the end stays one
        if (place / "pyvenv.cfg").is_file() and (place / "bin" / "python").exists():
            return place
    return existing_prefix(name, prefix, user_config())


def kernels_folder(prefix: Path, *, sys_prefix: bool, given: str | None) -> Path:
    """Return the folder of kernelspecs that the options name; by default this account's own."""
    if given is not None:
        if not given.strip() or "\0" in given:
            raise PrefixError("the folder after --prefix is empty or no path", hint="give a plain folder")
        return prefix_kernels(Path(os.path.abspath(os.path.expanduser(given))))  # noqa: PTH100, PTH111 - likewise
    return prefix_kernels(prefix) if sys_prefix else user_kernels(os.environ)


def keep_up(prefix: Path) -> tuple[tuple[Kernelspec, ...], tuple[Notice, ...]]:
    """Register an environment that was just made, if it has ipykernel; see :func:`kernels.keep_up`."""
    return kernels.keep_up(prefix, user_kernels(os.environ), kernel_tools())


def forget(prefix: Path) -> tuple[tuple[Kernelspec, ...], tuple[Notice, ...]]:
    """Remove our kernelspecs of an environment that was just removed; see :func:`kernels.forget`."""
    return kernels.forget(prefix, kernel_tools())


def spec_json(spec: Kernelspec) -> dict[str, Any]:
    """Return a kernelspec as it stands in a payload."""
    noted = spec.noted or {}
    return {
        "name": spec.name,
        "display_name": spec.display_name,
        "folder": str(spec.folder),
        "ours": spec.ours,
        "prefix": str(spec.prefix) if spec.prefix else None,
        "host": spec.host or None,
        "tier": noted.get("tier"),
        "recipe": noted.get("recipe"),
        "digest": noted.get("digest"),
    }


def listed_json(one: Listed) -> dict[str, Any]:
    """Return a line of the list as it stands in a payload."""
    return {
        **spec_json(one.spec),
        "place": one.spec.kind,
        "argv": list(one.spec.argv),
        "state": one.state.value,
        "reason": one.reason,
        "python": one.inside.python or None,
        "torch": one.inside.torch,
        "cuda": one.inside.cuda,
        "activation": one.activation,
        "shadowed": one.shadowed,
    }
