"""Requirement files for an installer: what is asked, what is pinned, and who may read them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from conda_llmenv.model import PipKind, PipPackage, PipRequirement
from conda_llmenv.pypi.credentials import without_login
from conda_llmenv.pypi.sources import expand

_SETTING = re.compile(r"""\s--config-settings=(?P<value>(?:'[^']*'|"[^"]*"|[^\s'"])+)""")
_HASH = re.compile(r"\s--hash[=\s](?P<hash>\w+:[0-9a-fA-F]+)")


def asked_line(requirement: PipRequirement, environ: Mapping[str, str]) -> str:
    """Return the line that asks an installer for a requirement, ``${NAME}`` references filled in and logins left out.

    Hashes stay behind it; settings for its build do not, because each installer takes them in its own way. Relative
    paths become absolute ones, because the file the line goes into lies elsewhere.
    """
    if requirement.path is None:
        return without_login(expand(_SETTING.sub("", requirement.text), environ))
    extras = f"[{','.join(requirement.extras)}]" if requirement.extras else ""
    target = f"{requirement.path}{extras}"
    if requirement.kind is PipKind.URL:
        target = requirement.path.as_uri()
    if requirement.name and requirement.kind is not PipKind.EDITABLE:
        target = f"{requirement.name}{extras} @ {requirement.path.as_uri()}"
    marker = f" ; {requirement.marker}" if requirement.marker else ""
    editable = "-e " if requirement.kind is PipKind.EDITABLE else ""
    return f"{editable}{target}{marker}"


def config_settings(requirement: PipRequirement) -> tuple[str, ...]:
    """Return the settings for a requirement's build, ``KEY=VALUE`` each."""
    return tuple(word for match in _SETTING.finditer(requirement.text) for word in shlex.split(match["value"]))


def config_arguments(requirements: Iterable[PipRequirement]) -> list[str]:
    """Return uv's arguments for the build settings of requirements; uv has no options behind a requirement."""
    found = [(one.name, setting) for one in requirements for setting in config_settings(one)]
    return [word for name, setting in found for word in ("--config-settings-package", f"{name}:{setting}")]


def with_settings(requirement: PipRequirement, line: str) -> str:
    """Return a line with the settings for its build behind it, as pip takes them."""
    return " ".join([line, *(f"--config-settings={shlex.quote(one)}" for one in config_settings(requirement))])


def is_editable_checkout(requirement: PipRequirement) -> bool:
    """Whether a line wants version control's sources kept for editing (``-e git+…``)."""
    return requirement.path is None and requirement.text.startswith("-e ")


def asked_hashes(requirements: Iterable[PipRequirement]) -> dict[str, frozenset[str]]:
    """Return the hashes that somebody wrote behind requirements, by distribution: nothing else may be installed."""
    found = {
        one.name: frozenset(match.lower() for match in _HASH.findall(one.text)) for one in requirements if one.name
    }
    return {name: hashes for name, hashes in found.items() if hashes}


def without_hashes(line: str) -> str:
    """Return a requirement line without its ``--hash`` options."""
    return _HASH.sub("", line)


def pinned_line(package: PipPackage) -> str:
    """Return the line that installs exactly one package of a plan."""
    return " ".join([package.requirement, *(f"--hash={value}" for value in package.hashes)])


def write_private(path: Path, lines: Iterable[str]) -> Path:
    """Write lines to a new file that only its owner can read, because they may hold credentials."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def constraint_include(location: str) -> str:
    """Return the line that includes a constraints file by path or URL."""
    return f"-c {shlex.quote(location) if ' ' in location else location}"
