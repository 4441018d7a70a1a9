"""The part of ``llmenv kernel add`` for environments on other hosts."""

from __future__ import annotations

from pathlib import Path

from conda_llmenv import process
from conda_llmenv.cli import console
from conda_llmenv.cli.kernel_tools import environment, kernel_tools, kernels_folder, spec_json
from conda_llmenv.errors import InputError, LlmenvError
from conda_llmenv.kernels import registering
from conda_llmenv.kernels.reading import read_kernelspec
from conda_llmenv.model.kernels import Kernelspec
from conda_llmenv.pipeline.kernel_remote import RemoteRequest, add_remote
from conda_llmenv.remote.destination import check_destination, check_remote_prefix
from conda_llmenv.remote.registering import default_name, register_remote


def add(
    host: str,
    folder: str | None,
    *,
    name: str | None,
    display_name: str | None,
    sys_prefix: bool,
    prefix: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Register an environment on another host; the options are those of ``llmenv kernel add``."""
    if folder is None:
        raise InputError("which environment on that host", hint="give its path there with -p")
    host, remote = check_destination(host), check_remote_prefix(folder)
    place = environment(None, None) if sys_prefix else Path()
    request = RemoteRequest(
        host=host,
        prefix=remote,
        kernels=kernels_folder(place, sys_prefix=sys_prefix, given=prefix),
        name=name or default_name(host, remote),
        display_name=display_name or "",
        replace=yes,
    )
    spec = add_remote(request, kernel_tools(), _register)
    if as_json:
        console.payload("kernel add", spec_json(spec))
        return 0
    console.say(f"registered {spec.name}: {spec.display_name}")
    console.fact("kernel", str(spec.folder))
    console.fact("starts", f"{remote}/bin/python on {host}")
    console.fact("needs", "conda-llmenv in the Python of the Jupyter that is to start it")
    return 0


def _register(request: RemoteRequest) -> Kernelspec:
    console.say(f"looking at {request.prefix} on {request.host}")

    def install(made: Path, name: str) -> Path:
        """Put a finished kernelspec into the folder that was asked for."""
        return registering.install(made, request.kernels, name)

    done = register_remote(
        request.host,
        request.prefix,
        run=process.run,
        install=install,
        name=request.name,
        display_name=request.display_name,
        launcher=registering.launcher_files(),
    )
    spec = read_kernelspec(done.folder)
    if spec is None or not spec.ours:
        raise LlmenvError(
            f"{done.folder} was changed by somebody else meanwhile", hint="see who registers kernels there"
        )
    return spec
