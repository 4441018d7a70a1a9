"""The ``llmenv:`` mapping: one reader per key, and which kinds of file may use it.

The JSON Schemas under ``data/schemas`` describe the same keys for editors; a test keeps the two equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from packaging.utils import canonicalize_name

from conda_llmenv.compose.reading import Reading, did_you_mean, is_null
from conda_llmenv.compose.yamltree import Node, Scalar, Sequence
from conda_llmenv.errors import InputError
from conda_llmenv.model import GpuMatch, Kind, Sourced
from conda_llmenv.names import check_name

PRIORITIES = ("strict", "flexible", "disabled")
OWNERS = ("conda", "pip")
GPU_KEYS = ("match", "compute_capability", "min_memory_gib", "max_memory_gib")
DDP_BACKENDS = ("nccl", "gloo", "mpi")
LEVELS = ("quick", "full", "deep")
COUNTS = frozenset({"batch_mb", "gpus", "import_timeout", "ranks", "workers"})
"""Settings of ``verify`` that are whole numbers: MB of a batch, cards, seconds for one import, processes."""

_MIB_PER_GIB = 1024
_IMPORT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_CAPABILITY = re.compile(r"\d{1,2}\.\d")
_VIRTUAL = re.compile(r"__[a-z0-9_]+")
_SETTING = re.compile(r"[a-z][a-z0-9_]*")


class Key(Struct, frozen=True):
    """A key of the ``llmenv:`` mapping: how its value is read, and where it may stand."""

    read: Callable[[Reading, Node, str], Any]
    kinds: frozenset[Kind] = frozenset(Kind)


def read_settings(reading: Reading, node: Node) -> dict[str, Any]:
    """Return the values of a ``llmenv:`` mapping by key; mistakes go to the reading's problems."""
    found: dict[str, Any] = {}
    kind = reading.source.kind
    for name, at, value in reading.mapping(node, "llmenv"):
        key = KEYS.get(name)
        if key is None:
            reading.problem(at, f"unknown key {name!r} under llmenv", hint=did_you_mean(name, keys_of(kind)))
        elif kind not in key.kinds:
            reading.problem(at, f"a {kind.value} has no key {name!r}", hint=_where_to(name, key))
        else:
            found[name] = key.read(reading, value, name)
    return found


def keys_of(kind: Kind) -> tuple[str, ...]:
    """Return the keys a kind of file may use under ``llmenv:``, sorted."""
    return tuple(sorted(name for name, key in KEYS.items() if kind in key.kinds))


def _where_to(name: str, key: Key) -> str:
    if name == "extends":
        return "a recipe lists its fragments under `fragments`"
    kinds = " or ".join(sorted(kind.value for kind in key.kinds))
    use = next(
        (f"; use a {kind.value} with --{kind.value}" for kind in (Kind.RECIPE, Kind.TIER) if key.kinds == {kind}), ""
    )
    return f"`{name}` belongs into a {kinds}{use}"


def _description(reading: Reading, node: Node, what: str) -> str:
    if isinstance(node, Scalar) and not is_null(node):
        return " ".join(node.value.split())
    reading.problem(node, f"{what} must be text")
    return ""


def _names(kind: str) -> Callable[[Reading, Node, str], tuple[Sourced, ...]]:
    def read(reading: Reading, node: Node, what: str) -> tuple[Sourced, ...]:
        """Read a list of names; one that is not allowed is a problem of its own."""
        found: list[Sourced] = []
        for item in reading.items(node, what):
            scalar = reading.text(item, f"an entry of {what}")
            if scalar is None:
                continue
            try:
                found.append(reading.sourced(scalar, check_name(kind, scalar.value.strip())))
            except InputError as error:
                reading.problem(scalar, error.message, hint=error.hint)
        return tuple(found)

    return read


def _packages(reading: Reading, node: Node, what: str) -> tuple[Sourced, ...]:
    found = reading.texts(node, what)
    return tuple(Sourced(one.value.lower(), one.origin, one.why) for one in found)


def _distributions(reading: Reading, node: Node, what: str) -> tuple[str, ...]:
    return tuple(canonicalize_name(one.value) for one in reading.texts(node, what))


def _variable_names(reading: Reading, node: Node, what: str) -> tuple[str, ...]:
    return tuple(one.value for one in reading.texts(node, what))


def _one_of(choices: tuple[str, ...]) -> Callable[[Reading, Node, str], Sourced | None]:
    def read(reading: Reading, node: Node, what: str) -> Sourced | None:
        """Read one of the words that are allowed."""
        scalar = reading.text(node, what)
        if scalar is None:
            return None
        if scalar.value not in choices:
            reading.problem(scalar, f"{what} must be {' or '.join(choices)}, not {scalar.value!r}")
            return None
        return reading.sourced(scalar)

    return read


_read_owner = _one_of(OWNERS)
_read_backend = _one_of(DDP_BACKENDS)
_read_level = _one_of(LEVELS)


def _owner(reading: Reading, node: Node, what: str) -> tuple[tuple[str, Sourced], ...]:
    pairs = (
        (canonicalize_name(name), _read_owner(reading, value, name)) for name, _, value in reading.mapping(node, what)
    )
    return tuple((name, chosen) for name, chosen in pairs if chosen is not None)


def _version_spec(reading: Reading, node: Node, what: str) -> Sourced | None:
    from rattler import VersionSpec
    from rattler.exceptions import InvalidVersionSpecError

    scalar = reading.text(node, what)
    if scalar is None:
        return None
    try:
        VersionSpec(scalar.value.strip())
    except InvalidVersionSpecError as error:
        reading.problem(scalar, f"{what} is no version constraint: {error}", hint='write it as ">=525.60.13"')
        return None
    return reading.sourced(scalar)


def _virtual_packages(reading: Reading, node: Node, what: str) -> tuple[tuple[str, Sourced], ...]:
    found = []
    for name, at, value in reading.mapping(node, what):
        if not _VIRTUAL.fullmatch(name):
            reading.problem(
                at, f"{name!r} is no virtual package", hint="their names start with two underscores: __cuda, __glibc"
            )
            continue
        scalar = reading.text(value, name)
        if scalar is not None:
            found.append((name, reading.sourced(scalar)))
    return tuple(found)


def _gpu(reading: Reading, node: Node, what: str) -> GpuMatch:
    values: dict[str, Any] = {}
    for name, at, value in reading.mapping(node, what):
        if name == "match":
            values["match"] = tuple(one.value for one in reading.texts(value, "match"))
        elif name == "compute_capability":
            values[name] = _matching(reading, value, name, _CAPABILITY, "such as 8.0")
        elif name in GPU_KEYS:
            values[name.replace("gib", "mib")] = _gib(reading, value, name)
        else:
            reading.problem(at, f"unknown key {name!r} under gpu", hint=did_you_mean(name, GPU_KEYS))
    return GpuMatch(**values)


def _matching(reading: Reading, node: Node, what: str, pattern: re.Pattern[str], example: str) -> str | None:
    scalar = reading.text(node, what)
    if scalar is None:
        return None
    if not pattern.fullmatch(scalar.value.strip()):
        reading.problem(scalar, f"{what} {scalar.value!r} is not valid", hint=f"write it {example}")
        return None
    return scalar.value.strip()


def _gib(reading: Reading, node: Node, what: str) -> int | None:
    text = _matching(reading, node, what, re.compile(r"\d{1,5}(\.\d{1,3})?"), "as a number of GiB, such as 24")
    return None if text is None else round(float(text) * _MIB_PER_GIB)


def _verify(reading: Reading, node: Node, what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, at, value in reading.mapping(node, what):
        if not _SETTING.fullmatch(name):
            reading.problem(at, f"{name!r} is no name of a setting", hint="use lower-case letters, digits and '_'")
        elif name == "imports":
            found[name] = [one.value for one in reading.texts(value, name) if _is_import(reading, one)]
        elif name == "ddp":
            backend = _read_backend(reading, value, name)
            found[name] = backend.value if backend else None
        elif name == "level":
            level = _read_level(reading, value, name)
            found[name] = level.value if level else None
        elif name in COUNTS:
            found[name] = _count(reading, value, name)
        else:
            found[name] = plain_value(reading, value, name)
    return found


def _count(reading: Reading, node: Node, what: str) -> int | None:
    text = _matching(reading, node, what, re.compile(r"[1-9]\d{0,5}"), "as a whole number from 1")
    return None if text is None else int(text)


def _is_import(reading: Reading, one: Sourced) -> bool:
    if _IMPORT.fullmatch(one.value):
        return True
    reading.problems.add(one.origin, f"{one.value!r} is no module name", hint="write it as in `import package.module`")
    return False


def _defaults(reading: Reading, node: Node, what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, at, value in reading.mapping(node, what):
        if not _SETTING.fullmatch(name):
            reading.problem(at, f"{name!r} is no name of a setting", hint="use lower-case letters, digits and '_'")
        elif isinstance(value, Scalar):
            found[name] = _plain_scalar(value)
        else:
            reading.problem(value, f"{name} must be one value")
    return found


def plain_value(reading: Reading, node: Node, what: str) -> Any:
    """Return a value as JSON would hold it: whole numbers, booleans, null, text and lists and mappings of them.

    A number with a point stays text, so that ``3.10`` is not ``3.1``.
    """
    if isinstance(node, Scalar):
        return _plain_scalar(node)
    if isinstance(node, Sequence):
        return [plain_value(reading, item, what) for item in node.items]
    return {name: plain_value(reading, value, name) for name, _, value in reading.mapping(node, what)}


def _plain_scalar(scalar: Scalar) -> Any:
    if not scalar.plain:
        return scalar.value
    if scalar.is_null:
        return None
    if scalar.value.lower() in {"true", "false"}:
        return scalar.value.lower() == "true"
    return int(scalar.value) if re.fullmatch(r"-?(0|[1-9]\d{0,17})", scalar.value) else scalar.value


_STACKED = frozenset({Kind.FRAGMENT, Kind.TIER, Kind.PROJECT})
_RECIPE = frozenset({Kind.RECIPE})

KEYS: dict[str, Key] = {
    "allow_variables": Key(_variable_names),
    "channel_priority": Key(_one_of(PRIORITIES)),
    "defaults": Key(_defaults),
    "description": Key(_description),
    "driver": Key(_version_spec),
    "extends": Key(_names("fragment"), _STACKED),
    "fragments": Key(_names("fragment"), _RECIPE),
    "gpu": Key(_gpu, frozenset({Kind.TIER})),
    "no_build_isolation": Key(_distributions),
    "owner": Key(_owner),
    "remove": Key(_packages),
    "replace": Key(_packages),
    "tiers": Key(_names("tier"), _RECIPE),
    "verify": Key(_verify),
    "virtual_packages": Key(_virtual_packages),
}

SETTINGS = ("verify", "defaults")
"""Keys without a field of their own in the model; they go into ``Fragment.settings``."""
