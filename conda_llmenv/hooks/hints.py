"""Next steps that conda prints below its own errors, where we know more than it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

NODEFAULTS = "`nodefaults` is a channel to conda: take it out, or let `conda llmenv create -f FILE` read the file"
DRIVER = (
    "packages here need an NVIDIA driver (`__cuda`): `conda llmenv tiers detect` says what this machine offers; "
    "on a login node, `conda llmenv create --tier TIER` or CONDA_OVERRIDE_CUDA=VERSION plans for the machine it is for"
)
LAYERS = "for a fragment or recipe of llmenv add `--format llmenv`, or use `conda llmenv create -f FILE`"

_UNREADABLE = (
    "EnvironmentSpecPluginNotDetected",
    "AmbiguousEnvironmentSpecPlugin",
    "EnvironmentSpecPluginSelectionError",
)
_CUDA = re.compile(r"\b__cuda\b")


def hints(error: Any) -> Iterator[Any]:
    """Yield hints for one error of conda's; errors are told by name, so that none of their modules is loaded for it."""
    from conda.plugins.types import CondaErrorHint

    for code, text in told(type(error).__name__, str(error)):
        yield CondaErrorHint(text=text, hint_code=code)


def told(kind: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield the code and text of each hint for an error of that class and message."""
    if "/nodefaults" in text or "channel nodefaults" in text.lower():
        yield "llmenv_nodefaults", NODEFAULTS
    if _CUDA.search(text):
        yield "llmenv_no_driver", DRIVER
    if kind in _UNREADABLE and "llmenv" in text:
        yield "llmenv_format", LAYERS
