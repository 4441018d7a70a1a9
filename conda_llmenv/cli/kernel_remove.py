"""``llmenv kernel remove``: remove kernelspecs of ours."""

from __future__ import annotations

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import complete_kernels, json_option


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="KERNEL...", shell_complete=complete_kernels)
@json_option
def remove(names: tuple[str, ...], *, as_json: bool) -> int:
    """Remove kernels that llmenv registered.

    A name, or the folder of a kernelspec, says which; all of them go, or none where one is somebody else's. Their
    environments stay.
    """
    from conda_llmenv.cli.kernel_tools import kernel_tools, spec_json
    from conda_llmenv.pipeline.kernels import remove as remove_kernels

    removed = remove_kernels(names, kernel_tools())
    if as_json:
        console.payload("kernel remove", [spec_json(spec) for spec in removed])
    else:
        for spec in removed:
            console.say(f"removed {spec.name} ({spec.folder})")
    return 0
