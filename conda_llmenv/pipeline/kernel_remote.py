"""Register an environment on another host as a Jupyter kernel of this one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from conda_llmenv.errors import InputError
from conda_llmenv.model.kernels import Kernelspec, Place
from conda_llmenv.pipeline.kernel_names import check_display_name, check_kernel_name
from conda_llmenv.pipeline.kernel_tools import KernelTools
from conda_llmenv.pipeline.kernels import foreign


class RemoteRequest(Struct, frozen=True):
    """What to register.

    Attributes:
        host: the SSH destination, checked.
        prefix: the path of the environment there, checked.
        kernels: the folder of kernelspecs here.
        name: the kernel's.
        display_name: what people choose it by; made from what is inside where it is empty.
        replace: one of ours of that name may make room, whatever it starts.
    """

    host: str
    prefix: str
    kernels: Path
    name: str
    display_name: str = ""
    replace: bool = False


def add_remote(
    request: RemoteRequest, tools: KernelTools, register: Callable[[RemoteRequest], Kernelspec]
) -> Kernelspec:
    """Register an environment on another host, in the place of an earlier registration of it.

    Args:
        request: what to register.
        tools: see :class:`KernelTools`.
        register: looks at the other host, makes the kernelspec and puts it in place.

    Raises:
        InputError: a name is not allowed or taken; the host was not asked and nothing was written.
        LlmenvError: the host cannot be reached, or has no such kernel.
    """
    check_kernel_name(request.name)
    check_display_name(request.display_name)
    for spec in tools.read((*tools.places, Place(request.kernels, ""))):
        if spec.name == request.name:
            _check_room(spec, request)
    return register(request)


def _check_room(spec: Kernelspec, request: RemoteRequest) -> None:
    """Refuse a name that another kernelspec has, in the place asked for or where a Jupyter would find it first.

    Raises:
        InputError: it is somebody else's, or starts something else.
    """
    if not spec.ours:
        raise foreign(spec)
    noted = spec.noted or {}
    same = (spec.host, noted.get("prefix")) == (request.host, request.prefix)
    if spec.folder.parent == request.kernels and not same and not request.replace:
        where = f"{noted.get('prefix')} on {spec.host}" if spec.host else str(spec.prefix)
        raise InputError(
            f"the kernel name {request.name} is that of {where}",
            hint="choose another name with --name, or add -y to let it start this environment instead",
        )
