"""One file's bytes → a fragment in which every value knows its file and line."""

from __future__ import annotations

import hashlib
from typing import Any

from conda_llmenv.compose.encoding import decode
from conda_llmenv.compose.matchspec import parse_spec
from conda_llmenv.compose.ownership import same_distribution
from conda_llmenv.compose.problems import Problems, Unreadable
from conda_llmenv.compose.reading import Exists, Read, Reading, did_you_mean
from conda_llmenv.compose.requirement_files import PipLines
from conda_llmenv.compose.settings import KEYS, SETTINGS, read_settings
from conda_llmenv.compose.variables import check_variable_name, check_variable_value
from conda_llmenv.compose.yamltree import Document, Mapping, Node, Scalar, parse_tree
from conda_llmenv.model import Fragment, Origin, Source, Sourced, Variable
from conda_llmenv.names import RESERVED_ENVIRONMENTS

NODEFAULTS = "nodefaults"
PLATFORM_KEYS = ("name", "prefix", "platforms", "category")
"""Keys of an environment.yml that say nothing about what goes into the environment."""
TOP_LEVEL = ("channels", "dependencies", "variables", "llmenv", "description", *PLATFORM_KEYS)


def read_fragment(source: Source, read: Read, exists: Exists, *, pure: bool = False) -> Fragment:
    """Read a fragment, tier, recipe or project file.

    Args:
        source: its bytes and its place in the stack.
        read: returns the bytes of a requirements file it includes.
        exists: tells whether a local path it names is there.
        pure: use the YAML parser written in Python.

    Raises:
        FileFormatError: the file is wrong; every mistake of it is in the report, each with file:line:column.
    """
    reading = Reading(source, _parse(source, pure=pure), read, exists)
    root = reading.document.root
    if not isinstance(root, Mapping):
        reading.problem(root, "the file must be a mapping", hint="start with `dependencies:`")
        reading.problems.raise_if_any()
    top = {name: (key, value) for name, key, value in reading.mapping(root, "the file")}
    fragment = _fragment(reading, top)
    reading.problems.raise_if_any()
    return fragment


def _parse(source: Source, *, pure: bool) -> Document:
    try:
        return parse_tree(decode(source.content), pure=pure)
    except Unreadable as error:
        problems = Problems()
        origin = Origin(source.display, error.line, source.layer, source.detail)
        problems.add(origin, error.text, column=error.column, hint=error.hint)
        problems.raise_if_any()
        raise


def _fragment(reading: Reading, top: dict[str, tuple[Scalar, Node]]) -> Fragment:
    source = reading.source
    settings = read_settings(reading, top["llmenv"][1]) if "llmenv" in top else {}
    _refuse_base(reading, top)
    channels, nodefaults = _channels(reading, top)
    specs, pip, has_pip = _dependencies(reading, top)
    fields: dict[str, Any] = {name: settings.get(name, _empty(name)) for name in KEYS if name not in SETTINGS}
    fields["description"] = _description(reading, top, fields["description"])
    _check_replaced(reading, fields["replace"], specs, pip)
    return Fragment(
        name=source.name,
        kind=source.kind,
        origin=Origin(source.display, None, source.layer, source.detail),
        directory=source.directory,
        digest=hashlib.sha256(source.content).hexdigest(),
        channels=channels,
        nodefaults=nodefaults,
        specs=specs,
        pip_options=tuple(pip.options),
        pip=tuple(pip.requirements),
        has_pip_section=has_pip,
        variables=_variables(reading, top, fields["allow_variables"]),
        includes=tuple(pip.includes.items()),
        shadows=source.shadows,
        settings={name: settings[name] for name in SETTINGS if name in settings},
        unknown_keys=tuple(reading.sourced(key) for name, (key, _) in top.items() if name not in TOP_LEVEL),
        **fields,
    )


def _check_replaced(reading: Reading, entries: tuple[Sourced, ...], specs: tuple[Sourced, ...], pip: PipLines) -> None:
    """Note every ``replace`` of a package that this file does not ask for: it would remove it without saying so."""
    if not entries:
        return
    asked = {parse_spec(spec.value).name for spec in specs}
    installed = {requirement.name for requirement in pip.requirements if requirement.name}
    for entry in entries:
        if entry.value not in asked and not any(same_distribution(entry.value, name) for name in installed):
            reading.problems.add(
                entry.origin,
                f"replace {entry.value}: this file asks for no {entry.value} of its own",
                hint=f"ask for {entry.value} in this file, or use remove",
            )


def _empty(name: str) -> Any:
    return "" if name == "description" else None if name in {"channel_priority", "driver", "gpu"} else ()


def _description(reading: Reading, top: dict[str, tuple[Scalar, Node]], inner: str) -> str:
    if "description" not in top:
        return inner
    key, value = top["description"]
    if inner:
        reading.problem(key, "description is given twice, here and under llmenv", hint="keep one of them")
    return str(KEYS["description"].read(reading, value, "description"))


def _refuse_base(reading: Reading, top: dict[str, tuple[Scalar, Node]]) -> None:
    value = top["name"][1] if "name" in top else None
    if isinstance(value, Scalar) and value.value.strip().lower() in RESERVED_ENVIRONMENTS:
        reading.problem(
            value,
            f"this file is for conda's own environment {value.value.strip()!r}, which is never touched",
            hint="delete the `name:` line, and say where to with -n or -p",
        )


def _channels(reading: Reading, top: dict[str, tuple[Scalar, Node]]) -> tuple[tuple[Sourced, ...], Origin | None]:
    if "channels" not in top:
        return (), None
    found: dict[str, Sourced] = {}
    nodefaults = None
    for channel in reading.texts(top["channels"][1], "channels"):
        name = channel.value.rstrip("/") or channel.value
        if name == NODEFAULTS:
            nodefaults = channel.origin
        elif any(character.isspace() for character in name) or "::" in name:
            reading.problems.add(channel.origin, f"{name!r} is no channel", hint="write one name or URL per entry")
        else:
            found.setdefault(name, Sourced(name, channel.origin, channel.why))
    return tuple(found.values()), nodefaults


def _dependencies(reading: Reading, top: dict[str, tuple[Scalar, Node]]) -> tuple[tuple[Sourced, ...], PipLines, bool]:
    specs: list[Sourced] = []
    pip = PipLines(reading)
    has_pip = False
    for item in reading.items(top["dependencies"][1], "dependencies") if "dependencies" in top else ():
        if isinstance(item, Mapping):
            has_pip = _section(reading, item, pip) or has_pip
        elif isinstance(item, Scalar):
            spec = _spec(reading, item)
            if spec is not None:
                specs.append(spec)
        else:
            reading.problem(item, "a dependency must be a spec or a `pip:` section")
    return tuple(specs), pip, has_pip


def _section(reading: Reading, item: Mapping, pip: PipLines) -> bool:
    for name, key, value in reading.mapping(item, "a section"):
        if name != "pip":
            hint = (
                did_you_mean(name, ["pip"])
                if name.lower().startswith("p")
                else "conda packages are written as plain entries"
            )
            reading.problem(key, f"{name!r} is no section of dependencies; only `pip` is", hint=hint)
            continue
        pip.take_section(value)
    return "pip" in item.items


def _spec(reading: Reading, scalar: Scalar) -> Sourced | None:
    if reading.text(scalar, "a dependency") is None:
        return None
    sourced = reading.sourced(scalar)
    try:
        parse_spec(sourced.value)
    except Unreadable as error:
        reading.noted(scalar, error)
        return None
    return sourced


def _variables(reading: Reading, top: dict[str, tuple[Scalar, Node]], allowed: tuple[str, ...]) -> tuple[Variable, ...]:
    found: list[Variable] = []
    for name, key, value in reading.mapping(top["variables"][1], "variables") if "variables" in top else ():
        if not isinstance(value, Scalar):
            reading.problem(value, f"variable {name} must be one value")
            continue
        content = None if value.is_null else value.value
        try:
            check_variable_name(name, (*allowed, name) if content is None else allowed)
            if content is not None:
                check_variable_value(name, content)
        except Unreadable as error:
            reading.noted(key, error)
            continue
        found.append(Variable(name, content, reading.origin(key.line), reading.document.comment(value.line)))
    return tuple(found)
