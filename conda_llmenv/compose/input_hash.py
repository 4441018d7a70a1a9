"""One hash over everything the layers ask for: equal for equal requests, however their files are written."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from conda_llmenv.model import EnvSpec
from conda_llmenv.redact import strip

VERSION = 1
"""Raised when something else counts; a hash of another version is another hash."""


def input_hash(spec: EnvSpec) -> str:
    """Return ``sha256:…`` over what a solve and an installer are asked.

    Comments, the order of keys and of dependencies, quoting and line ends do not count, nor which file asked for what.
    The order of channels and of index lines does, and so does the content of every file that is included.
    """
    text = json.dumps(_asked(spec), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _asked(spec: EnvSpec) -> dict[str, Any]:
    return {
        "version": VERSION,
        "channels": [strip(channel.name) for channel in spec.channels],
        "nodefaults": spec.nodefaults is not None,
        "channel_priority": spec.channel_priority,
        "specs": sorted(text for merged in spec.specs for text in merged.texts),
        "pip_options": [strip(option.text) for option in spec.pip.options],
        "pip": sorted(strip(requirement.text) for requirement in spec.pip.requirements),
        "no_build_isolation": sorted(spec.pip.no_build_isolation),
        "includes": sorted(digest for _path, digest in spec.includes),
        "variables": {one.name: one.value for one in spec.variables if one.value is not None},
        "virtual_packages": {name: sourced.value for name, sourced in spec.virtual_packages},
    }
