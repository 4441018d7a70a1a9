"""One hash over everything the layers ask for: equal for equal requests, however their files are written."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from conda_llmenv.compose.pip_lines import FLAGS, Line, parse_line
from conda_llmenv.compose.pip_section import per_requirement_options
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.model import EnvSpec, PipKind, PipOption, PipRequirement
from conda_llmenv.redact import strip

VERSION = 1
"""Raised when something else counts; a hash of another version is another hash."""

CONSTRAINT = "--constraint"
_FORMATS = frozenset({"--no-binary", "--only-binary"})
"""Options whose order among each other counts: a later one takes back an earlier one."""

_OPTIONS = re.compile(r"\s--[a-z].*$")
"""What stands behind a requirement."""


def input_hash(spec: EnvSpec) -> str:
    """Return ``sha256:…`` over what a solve and an installer are asked.

    Comments, the order of keys and of dependencies, spelling, quoting and line ends do not count, nor which file asked
    for what, where the files lie, or what a secret is. The order of channels and of index lines does, and so does every
    requirement and constraint of a file that is included.
    """
    text = json.dumps(_asked(spec), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _asked(spec: EnvSpec) -> dict[str, Any]:
    return {
        "version": VERSION,
        "channels": [strip(channel.name) for channel in spec.channels],
        "nodefaults": spec.nodefaults is not None,
        "channel_priority": spec.channel_priority,
        "specs": sorted(strip(text) for merged in spec.specs for text in merged.texts),
        "pip_options": _options(spec.pip.options),
        "pip": sorted(map(_requirement, spec.pip.requirements)),
        "constraints": sorted({_constraint(line) for option in spec.pip.options for line in option.lines}),
        "no_build_isolation": sorted(spec.pip.no_build_isolation),
        "variables": {one.name: _value(one.name, one.value) for one in spec.variables},
        "virtual_packages": {name: sourced.value for name, sourced in spec.virtual_packages},
    }


def _options(options: Iterable[PipOption]) -> dict[str, list[str]]:
    """Return the values of each option, in order: of two options that do not bear on each other, any may come first."""
    found: dict[str, list[str]] = {}
    for option in options:
        name = option.tokens[0]
        if name in FLAGS:
            found[name] = []
        elif name in _FORMATS:
            found.setdefault("formats", []).append(option.text)
        elif name != CONSTRAINT or not option.written:
            found.setdefault(name, []).append(strip(option.written or " ".join(option.tokens[1:])))
    return found


def _value(name: str, value: str | None) -> str | None:
    return None if value is None else strip(f"{name}={value}").partition("=")[2]


def _requirement(one: PipRequirement | Line) -> str:
    """Return a requirement in one spelling; of an address only blanks are unified."""
    options = " ".join(sorted(per_requirement_options(one.text)))
    marker = _marker(one.marker)
    if one.kind is PipKind.NAMED:
        target = f"{_distribution(one.name or '', one.extras)}{one.specifier.replace(' ', '')}"
    else:
        target, marker = _direct(one.text, marker)
    return " ".join(filter(None, (target, f"; {marker}" if marker else "", options)))


def _distribution(name: str, extras: Sequence[str]) -> str:
    return name + (f"[{','.join(extras)}]" if extras else "")


def _direct(text: str, marker: str) -> tuple[str, str]:
    """Return where a distribution comes from, free of secrets, and its marker."""
    bare = _OPTIONS.sub("", text)
    try:
        named = Requirement(bare)
    except InvalidRequirement:
        named = None
    if named is None or named.url is None:
        return strip(" ".join(bare.partition(" ;")[0].split())), marker
    name = _distribution(canonicalize_name(named.name), sorted(map(canonicalize_name, named.extras)))
    return f"{name} @ {strip(named.url)}", str(named.marker or "")


def _marker(text: str) -> str:
    try:
        return str(Marker(text)) if text else ""
    except InvalidMarker:
        return text


def _constraint(text: str) -> str:
    try:
        lines = parse_line(text)
    except Unreadable:
        return strip(" ".join(text.split()))
    return " ".join(_requirement(line) if isinstance(line, Line) else strip(" ".join(text.split())) for line in lines)
