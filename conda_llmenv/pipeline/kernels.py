"""Register an environment as a Jupyter kernel, list what is registered, and keep ours true to their environments."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from conda_llmenv import __version__
from conda_llmenv.errors import InputError, LlmenvError, NotFoundError
from conda_llmenv.model import Notice
from conda_llmenv.model.kernels import KEY, Inside, Kernelspec, Place, Registration
from conda_llmenv.pipeline.kernel_names import (
    check_display_name,
    check_kernel_name,
    default_display_name,
    default_name,
)
from conda_llmenv.pipeline.kernel_tools import Identity, KernelTools

VERSION = 1
"""Version of what we note in the metadata of a kernelspec."""


class AddRequest(Struct, frozen=True):
    """What to register.

    Attributes:
        prefix: the environment.
        kernels: the folder of kernelspecs.
        name: the kernel's; made from the environment's where it is empty.
        display_name: what people choose it by; made from what is inside where it is empty.
        replace: one of ours of that name may make room, whatever it starts.
    """

    prefix: Path
    kernels: Path
    name: str = ""
    display_name: str = ""
    replace: bool = False


class MissingKernel(InputError):
    """There is no ipykernel in an environment."""

    code = "no-ipykernel"


def add(request: AddRequest, tools: KernelTools) -> Kernelspec:
    """Register an environment as a kernel, in the place of an earlier registration of it.

    Raises:
        InputError: a name is not allowed or taken; nothing was written.
        MissingKernel: there is no ipykernel in the environment.
        LlmenvError: the kernelspec cannot be made.
    """
    prefix = request.prefix
    name = check_kernel_name(request.name or default_name(prefix))
    check_display_name(request.display_name)
    _check_free(name, request, tools)
    inside = tools.look(prefix)
    if not inside.python:
        raise NotFoundError(f"there is no Python in {prefix}", hint="a kernel needs one: choose another environment")
    if inside.ipykernel is None:
        raise MissingKernel(f"there is no ipykernel in {prefix}", hint=f"install it: {install_command(prefix, inside)}")
    identity = tools.identity(prefix)
    shown = request.display_name or default_display_name(prefix, inside, identity)
    return tools.register(Registration(prefix, request.kernels, name, shown, _metadata(request, inside, identity)))


def install_command(prefix: Path, inside: Inside) -> str:
    """Return the command line that installs ipykernel with the tool that made an environment."""
    if inside.conda:
        return f"conda install -p {shlex.quote(str(prefix))} ipykernel"
    return f"{shlex.quote(str(prefix / 'bin' / 'python'))} -m pip install ipykernel"


def select(names: Iterable[str], tools: KernelTools) -> tuple[Kernelspec, ...]:
    """Return the kernelspecs of these names; a name with a slash is the folder of one.

    Raises:
        InputError: a name is of none, or of several.
    """
    chosen = (_select(name, tools) for name in names)
    return tuple({spec.folder: spec for spec in chosen}.values())


def remove(names: Iterable[str], tools: KernelTools) -> tuple[Kernelspec, ...]:
    """Remove kernelspecs of ours, all of them or, where one is somebody else's, none.

    Raises:
        InputError: there is no such kernelspec, or it is not ours.
        LlmenvError: one cannot be removed.
    """
    chosen = select(names, tools)
    for spec in chosen:
        if not spec.ours:
            raise foreign(spec)
    for spec in chosen:
        tools.remove(spec)
    return chosen


def foreign(spec: Kernelspec) -> InputError:
    """Return the refusal to touch a kernelspec that is somebody else's, with where it belongs."""
    whose = f"it starts {spec.argv[0]}" if spec.argv else "it starts nothing"
    what = "belongs to another account" if spec.noted else "is not a kernelspec of llmenv"
    return InputError(
        f"{spec.name} at {spec.folder} {what} ({whose}); it is left alone",
        hint=f"`jupyter kernelspec remove {spec.name}` of the Jupyter it belongs to removes it",
    )


def of_prefix(prefix: Path, tools: KernelTools) -> tuple[Kernelspec, ...]:
    """Return our kernelspecs of an environment on this machine."""
    return tuple(spec for spec in tools.everything() if spec.ours and not spec.host and spec.prefix == prefix)


def forget(prefix: Path, tools: KernelTools) -> tuple[tuple[Kernelspec, ...], tuple[Notice, ...]]:
    """Remove our kernelspecs of an environment that is gone; what cannot be removed comes back as a notice."""
    found = of_prefix(prefix, tools)
    failures = {spec.folder: failure for spec in found if (failure := _failure(spec, tools))}
    notices = (
        Notice("kernel", f"the kernel {folder.name} is still registered: {why}") for folder, why in failures.items()
    )
    return tuple(spec for spec in found if spec.folder not in failures), tuple(notices)


def _failure(spec: Kernelspec, tools: KernelTools) -> str:
    """Remove a kernelspec and return why it cannot be removed, if so."""
    try:
        tools.remove(spec)
    except LlmenvError as error:
        return error.message
    return ""


def renew(spec: Kernelspec, prefix: Path, tools: KernelTools) -> Kernelspec:
    """Register anew what a kernelspec of ours starts, at its place and under its name, perhaps from another folder.

    Raises:
        LlmenvError: see :func:`add`.
    """
    noted = spec.noted or {}
    given = spec.display_name if noted.get("named") else ""
    return add(AddRequest(prefix, spec.folder.parent, spec.folder.name, given, replace=True), tools)


def keep_up(prefix: Path, kernels: Path, tools: KernelTools) -> tuple[tuple[Kernelspec, ...], tuple[Notice, ...]]:
    """Register a new environment, or anew one that took another's place; a failure is a notice.

    Kernelspecs of an environment that has no ipykernel any more go.
    """
    earlier = of_prefix(prefix, tools)
    if tools.look(prefix).ipykernel is None:
        return (), forget(prefix, tools)[1] if earlier else ()
    try:
        if earlier:
            return tuple(renew(spec, prefix, tools) for spec in earlier), ()
        return (add(AddRequest(prefix, kernels), tools),), ()
    except LlmenvError as error:
        message = f"the environment is not registered as a Jupyter kernel: {error.message}"
        again = f"`llmenv kernel add -p {shlex.quote(str(prefix))}` tries again"
        return (), (Notice("kernel", message, hint=error.hint or again),)


def _metadata(request: AddRequest, inside: Inside, identity: Identity) -> dict[str, Any]:
    noted = {
        "version": VERSION,
        "llmenv": __version__,
        "prefix": str(request.prefix),
        "tier": identity.tier,
        "recipe": identity.recipe,
        "digest": inside.digest,
        "python": inside.python,
    }
    return {KEY: {**noted, "named": True} if request.display_name else noted}


def _check_free(name: str, request: AddRequest, tools: KernelTools) -> None:
    """Refuse a name that another kernelspec has, in the place asked for or where a Jupyter would find it first.

    Raises:
        InputError: it is taken.
    """
    for spec in tools.read((*tools.places, Place(request.kernels, ""))):
        if spec.name != name:
            continue
        if not spec.ours:
            whose = f"it starts {spec.argv[0]}" if spec.argv else spec.problem
            raise InputError(
                f"the kernel name {name} is taken by {spec.folder}, which is not llmenv's ({whose})",
                hint="choose another name with --name",
            )
        here = spec.folder.parent == request.kernels
        if here and spec.prefix != request.prefix and not request.replace:
            raise InputError(
                f"the kernel name {name} is that of {spec.host or spec.prefix}",
                hint="choose another name with --name, or add -y to let it start this environment instead",
            )


def _select(name: str, tools: KernelTools) -> Kernelspec:
    if "/" in name:
        folder = Path(name)
        found = [spec for spec in tools.read((Place(folder.parent, "given"),)) if spec.folder == folder]
    else:
        found = [spec for spec in tools.everything() if spec.name == name.lower()]
    if not found:
        raise NotFoundError(f"there is no kernelspec {name[:100]!a}", hint="`llmenv kernel list` shows those there are")
    ours = [spec for spec in found if spec.ours]
    if len(found) == 1 or len(ours) == 1:
        return (ours or found)[0]
    raise InputError(
        f"there are {len(found)} kernelspecs called {name}",
        details=[str(spec.folder) for spec in found],
        hint="give the folder instead of the name",
    )
