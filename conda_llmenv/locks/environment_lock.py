"""``environment.lock.yml``: an environment.yml (CEP 24) with every package as ``name=version``.

No builds, no prefix, no name, no credentials: what differs between two machines that may both have the environment is
left out. Exact artifacts are for the formats that carry hashes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from conda_llmenv.compose.variables import NEEDS_PERMISSION
from conda_llmenv.locks.facts import PLATFORM
from conda_llmenv.locks.header import with_head
from conda_llmenv.locks.yaml_text import scalar
from conda_llmenv.model import AskedEnvironment, Lock, LockedPlatform, PipPackage
from conda_llmenv.redact import holds_secret, strip

FILE_NAMES = ("environment.lock.yml", "environment.lock.yaml")

NODEFAULTS = "nodefaults"
"""The marker that the configured channels are not to be added."""


def write(lock: Lock) -> str:
    """Return the lockfile of the first platform: UTF-8 text, line feeds, the same for the same environment."""
    platform = lock.platforms[0]
    body = _body(
        channels=[channel.name for channel in lock.channels],
        nodefaults=lock.nodefaults,
        dependencies=[f"{record.name}={record.version}" for record in platform.records],
        pip=_pip_lines(lock, platform),
        variables=lock.variables,
    )
    return with_head(body, {**lock.facts, PLATFORM: platform.subdir}, lock.specs, lock.input_hash)


def _pip_lines(lock: Lock, platform: LockedPlatform) -> list[str]:
    if not platform.pip:
        return []
    from conda_llmenv.locks.pip_index import option_lines

    return [*option_lines(lock, platform), *map(requirement_line, platform.pip)]


def write_asked(asked: AskedEnvironment) -> str:
    """Return what was asked for as an environment.yml of the same form: no head, not pinned."""
    return _body(
        channels=asked.channels,
        nodefaults=asked.nodefaults,
        dependencies=asked.dependencies,
        pip=asked.pip,
        variables=asked.variables,
    )


def requirement_line(package: PipPackage) -> str:
    """Return the line that asks pip for exactly this distribution."""
    return package.requirement or f"{package.name}=={package.version}"


def _body(
    *,
    channels: Sequence[str],
    nodefaults: bool,
    dependencies: Sequence[str],
    pip: Sequence[str],
    variables: Mapping[str, str],
) -> str:
    lines = [
        *_channels(channels, nodefaults=nodefaults),
        *_dependencies(dependencies, pip),
        *_variables(variables),
        *_allowed(variables),
    ]
    return "\n".join((*lines, ""))


def _channels(names: Sequence[str], *, nodefaults: bool) -> Iterator[str]:
    listed = [*map(strip, names), *([NODEFAULTS] if nodefaults else [])]
    if listed:
        yield "channels:"
        yield from (f"  - {scalar(name)}" for name in listed)


def _dependencies(specs: Sequence[str], pip: Sequence[str]) -> Iterator[str]:
    yield "dependencies:" if specs or pip else "dependencies: []"
    yield from (f"  - {scalar(strip(spec))}" for spec in specs)
    if pip:
        yield "  - pip:"
        yield from (f"    - {scalar(strip(line))}" for line in pip)


def _variables(variables: Mapping[str, str]) -> Iterator[str]:
    secret = {name for name, value in variables.items() if holds_secret(name, value)}
    if variables:
        yield "variables:" if len(secret) < len(variables) else "variables: {}"
    for name, value in sorted(variables.items()):
        hidden = f"# {name} holds a secret and is left out"
        yield f"  {hidden if name in secret else f'{scalar(name)}: {json.dumps(value, ensure_ascii=False)}'}"


def _allowed(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield what allows the variables that change how programs are found or loaded; the environment has them."""
    names = [name for name, value in sorted(variables.items()) if not holds_secret(name, value)]
    allowed = [name for name in names if NEEDS_PERMISSION.fullmatch(name)]
    if allowed:
        yield "llmenv:"
        yield "  allow_variables:"
        yield from (f"    - {name}" for name in allowed)
