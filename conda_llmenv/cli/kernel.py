"""``llmenv kernel``: environments as Jupyter kernels, here and on other hosts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import click

from conda_llmenv.cli.main import Entry, LazyGroup


class KernelGroup(LazyGroup):
    """The commands about kernels."""

    entries: Mapping[str, Entry] = MappingProxyType(
        {
            "add": Entry(
                "kernel_add", "add", "Register an environment as a kernel that any Jupyter of yours can start."
            ),
            "list": Entry("kernel_list", "list_kernels", "List the kernels that Jupyter can find, ours and others."),
            "test": Entry(
                "kernel_test", "test", "Start a kernel as Jupyter does, and see whether it is what it should be."
            ),
            "repair": Entry("kernel_repair", "repair", "Register anew what was moved, rebuilt or removed."),
            "remove": Entry("kernel_remove", "remove", "Remove kernels that llmenv registered."),
            "tunnel": Entry("tunnel", "tunnel", "Print or keep the SSH tunnel to a Jupyter server on another host."),
        }
    )


@click.group(cls=KernelGroup)
def kernel() -> None:
    """Register environments as Jupyter kernels, and keep them true.

    A kernel starts with the variables that activation sets at that moment, and never with those of the shell that
    registered it.
    """
