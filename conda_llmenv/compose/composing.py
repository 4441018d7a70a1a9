"""The whole of composing in one call: stack the layers of a request, and merge them."""

from __future__ import annotations

from conda_llmenv.compose.merging import merge
from conda_llmenv.compose.stacking import ComposeRequest, stack
from conda_llmenv.model import EnvSpec
from conda_llmenv.ports import Library


def compose(request: ComposeRequest, library: Library) -> EnvSpec:
    """Stack the layers of a request and merge them.

    Raises:
        NotFoundError: a name or file is not there.
        FileFormatError: a file cannot be read.
        ConflictError: layers contradict each other.
    """
    return merge(stack(request, library))
