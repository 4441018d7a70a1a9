"""A composed environment → an environment.yml that conda, mamba and this program read the same way."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from conda_llmenv.compose.pip_section import per_requirement_options
from conda_llmenv.compose.reader import NODEFAULTS
from conda_llmenv.compose.variables import NEEDS_PERMISSION
from conda_llmenv.model import EnvSpec, MergedVariable, PipKind, PipRequirement
from conda_llmenv.redact import has_secret, strip

_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./+=<>~-]*(?: [A-Za-z0-9_./+=<>~*][A-Za-z0-9_./+=<>~*!,|-]*)*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"})


def render_yaml(spec: EnvSpec, *, for_conda: bool = True, secrets: bool = False) -> str:
    """Return the environment.yml of a composed environment: UTF-8 text, line feeds, the same for the same input.

    Args:
        spec: what to write.
        for_conda: leave out what conda misreads: the ``nodefaults`` marker (it would ask for it as a channel) and the
            settings of this program.
        secrets: write credentials of URLs and token variables; they are left out otherwise.
    """
    clean = _kept if secrets else strip
    lines = [*_list("channels", [clean(name) for name in _channels(spec, for_conda=for_conda)])]
    lines.append("dependencies:")
    lines += [f"  - {scalar(clean(text))}" for merged in spec.specs for text in merged.texts]
    pip = [clean(line) for line in pip_lines(spec)]
    if pip:
        lines += ["  - pip:", *(f"    - {scalar(line)}" for line in pip)]
    if lines[-1] == "dependencies:":
        lines[-1] = "dependencies: []"
    lines += _variables(spec, secrets=secrets)
    lines += _mapping("llmenv", _settings(spec, for_conda=for_conda), "")
    return "\n".join(lines) + "\n"


def pip_lines(spec: EnvSpec) -> tuple[str, ...]:
    """Return the merged pip section as lines of a requirements file, with absolute local paths."""
    options = (shlex.join(option.tokens) if _has_space(option.tokens) else option.text for option in spec.pip.options)
    return (*options, *(requirement_line(requirement) for requirement in spec.pip.requirements))


def requirement_line(requirement: PipRequirement) -> str:
    """Return one requirement as it reads from any folder: local paths are absolute, all else is verbatim."""
    if requirement.path is None or requirement.kind not in {PipKind.PATH, PipKind.EDITABLE}:
        return requirement.text
    target = str(requirement.path) + (f"[{','.join(requirement.extras)}]" if requirement.extras else "")
    if requirement.marker:
        target += f" ; {requirement.marker}"
    if requirement.kind is PipKind.EDITABLE:
        target = f"-e {shlex.quote(target) if ' ' in target else target}"
    return " ".join([target, *per_requirement_options(requirement.text)])


def scalar(text: str) -> str:
    """Return text as a YAML scalar: plain where every YAML reader agrees that it is text, quoted elsewhere."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and not re.fullmatch(r"[.\d][\d._eExX+-]*", text):
        return text
    return json.dumps(text, ensure_ascii=False)


def _kept(text: str) -> str:
    return text


def _has_space(tokens: tuple[str, ...]) -> bool:
    return any(" " in token for token in tokens)


def _channels(spec: EnvSpec, *, for_conda: bool) -> list[str]:
    names = [channel.name for channel in spec.channels]
    return [*names, NODEFAULTS] if spec.nodefaults is not None and not for_conda else names


def _list(key: str, values: list[str]) -> list[str]:
    return [f"{key}:", *(f"  - {scalar(value)}" for value in values)] if values else []


def _variables(spec: EnvSpec, *, secrets: bool) -> list[str]:
    """Return the variables that have a value; one that holds a secret is named in a comment instead."""
    lines = [_variable(variable, secrets=secrets) for variable in spec.variables if variable.value is not None]
    return ["variables:" if any("#" not in line[:3] for line in lines) else "variables: {}", *lines] if lines else []


def _variable(variable: MergedVariable, *, secrets: bool) -> str:
    if not secrets and has_secret(f"{variable.name}={variable.value}"):
        return f"  # {variable.name} holds a secret and is left out"
    return f"  {variable.name}: {json.dumps(variable.value, ensure_ascii=False)}"


def _settings(spec: EnvSpec, *, for_conda: bool) -> dict[str, Any]:
    allowed = [one.name for one in spec.variables if one.value is not None and NEEDS_PERMISSION.fullmatch(one.name)]
    found: dict[str, Any] = {"allow_variables": allowed}
    if not for_conda:
        found |= {
            "channel_priority": spec.channel_priority if spec.channel_priority != "strict" else None,
            "defaults": dict(spec.defaults),
            "driver": spec.driver.value if spec.driver else None,
            "no_build_isolation": list(spec.pip.no_build_isolation),
            "verify": dict(spec.verify),
            "virtual_packages": {name: sourced.value for name, sourced in spec.virtual_packages},
        }
    return {key: value for key, value in found.items() if value}


def _mapping(key: str, values: Mapping[str, Any], indent: str) -> Iterator[str]:
    if not values:
        return
    yield f"{indent}{key}:"
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _mapping(name, value, f"{indent}  ")
        else:
            yield f"{indent}  {name}: {json.dumps(value, ensure_ascii=False)}"
