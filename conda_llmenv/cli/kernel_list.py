"""``llmenv kernel list``: every kernelspec of the machine."""

from __future__ import annotations

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import json_option


@click.command("list")
@click.option("-v", "--verbose", is_flag=True, help="Also what each one starts.")
@json_option
def list_kernels(*, verbose: bool, as_json: bool) -> None:
    """List the kernels that Jupyter can find, ours and others.

    Those in the folders of this account and of the system come first, in the order in which Jupyter looks there, then
    those that only the Jupyter inside an environment finds.
    """
    from conda_llmenv.cli.kernel_tools import kernel_tools, listed_json
    from conda_llmenv.pipeline.kernel_states import listed

    found = listed(kernel_tools())
    if as_json:
        console.payload("kernel list", [listed_json(one) for one in found])
        return
    rows = []
    for one in found:
        state = one.state.value + (", shadowed" if one.shadowed else "")
        where = one.spec.host or str(one.spec.prefix or one.spec.folder)
        whose = "llmenv" if one.spec.ours else "other"
        rows.append((one.spec.name, whose, state, one.inside.python, one.inside.torch or "", one.activation, where))
    console.table(("name", "by", "state", "python", "torch", "activation", "environment"), rows)
    for one in found:
        if one.reason:
            console.say(f"{one.spec.name}: {one.reason}")
        if verbose:
            console.say(f"{one.spec.name}: {one.spec.folder}: {' '.join(one.spec.argv)}")
