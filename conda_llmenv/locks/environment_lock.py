"""``environment.lock.yml``: an environment.yml (CEP 24) with every package as ``name=version``.

No builds, no prefix, no name, no credentials: what differs between two machines that may both have the environment is
left out. Exact artifacts are for the formats that carry hashes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from conda_llmenv.compose.reader import NODEFAULTS
from conda_llmenv.compose.render import scalar
from conda_llmenv.model import AskedEnvironment, LockedEnvironment
from conda_llmenv.redact import has_secret, strip

FILE_NAMES = ("environment.lock.yml", "environment.lock.yaml")

FIRST_LINE = "# Locked by llmenv: every package with its version; builds are left to the solver of each platform."
"""How a lock is told from other environment files, whatever it is called."""


def write(environment: LockedEnvironment) -> str:
    """Return the lockfile: UTF-8 text, line feeds, the same for the same environment."""
    return "\n".join((*_head(environment.facts), *_body(environment), ""))


def write_asked(environment: AskedEnvironment) -> str:
    """Return what was asked for as an environment.yml of the same form, not pinned."""
    return "\n".join((*_body(environment), ""))


def _head(facts: Mapping[str, str]) -> Iterator[str]:
    yield FIRST_LINE
    for label, text in facts.items():
        yield f"# {label + ':':<9}{' '.join(strip(text).split())}"


def _body(environment: LockedEnvironment | AskedEnvironment) -> Iterator[str]:
    yield from _channels(environment.channels, nodefaults=environment.nodefaults)
    yield from _dependencies(environment.dependencies, environment.pip)
    yield from _variables(environment.variables)


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
    secret = {name for name, value in variables.items() if has_secret(f"{name}={value}")}
    if variables:
        yield "variables:" if len(secret) < len(variables) else "variables: {}"
    for name, value in sorted(variables.items()):
        hidden = f"# {name} holds a secret and is left out"
        yield f"  {hidden if name in secret else f'{name}: {json.dumps(value, ensure_ascii=False)}'}"
