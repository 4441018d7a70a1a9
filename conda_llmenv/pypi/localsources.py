"""Local folders, archives and repositories that a pip section names: each must be there and be installable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from conda_llmenv.errors import InputError
from conda_llmenv.model import PipKind, PipRequirement, PipSection
from conda_llmenv.pypi.sources import expand
from conda_llmenv.redact import mask

ARCHIVES = (".whl", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tar.xz", ".txz")
"""Endings of files that pip and uv both unpack."""

PROJECT_FILES = ("pyproject.toml", "setup.py")
"""One of these makes a folder a Python project, for pip as for uv; ``setup.cfg`` alone does not."""

_ABSENT = "is not there"
_REPOSITORY = re.compile(r"git\+file://(?:localhost)?(?P<path>/[^@#?;\s]*)", re.IGNORECASE)
_REFERRED = re.compile(
    r"(?:-e )?(?:[\w.-]+(?:\[[^\]]*\])? @ )?(?:file:(?://)?)?(?P<path>/[^#\[;]*?)(?:[#\[;]|\s+;|\s--|\Z)"
)


def check_local_sources(section: PipSection, environ: Mapping[str, str]) -> None:
    """Refuse a section whose local sources are not there, or are nothing that could be installed.

    Raises:
        InputError: names every such line with the reason.
    """
    found = [(one, reason) for one in section.requirements if (reason := _reason(one, environ))]
    if not found:
        return
    reasons = [f"{one.origin}: {mask(one.text)} {reason}" for one, reason in found]
    absent = any(reason.startswith(_ABSENT) for _, reason in found)
    hint = "git submodule not checked out? `git submodule update --init` fetches it" if absent else ""
    raise InputError(reasons[0], details=reasons[1:], hint=hint, origins=[one.origin for one, _ in found])


def _reason(requirement: PipRequirement, environ: Mapping[str, str]) -> str:
    """Return why a local source cannot be installed; empty where it can, or is not local."""
    text = expand(requirement.text, environ)
    repository = _REPOSITORY.search(text)
    if repository:
        return _no_repository(Path(unquote(repository["path"])))
    path = requirement.path or _referred(requirement, text)
    if path is None:
        return ""
    if not path.exists():
        return f"{_ABSENT}: no file or folder {path}"
    if path.is_dir():
        known = any((path / name).is_file() for name in PROJECT_FILES)
        return "" if known else f"cannot be installed: the folder {path} has neither pyproject.toml nor setup.py"
    if requirement.kind is PipKind.EDITABLE:
        return f"cannot be editable: {path} is no folder"
    known = path.is_file() and path.name.lower().endswith(ARCHIVES)
    return "" if known else f"cannot be installed: {path} is neither a folder nor named like a wheel or an archive"


def _no_repository(path: Path) -> str:
    known = (path / ".git").exists() or (path / "HEAD").is_file()
    return "" if known else f"leads nowhere: no git repository {path}"


def _referred(requirement: PipRequirement, text: str) -> Path | None:
    """Return the absolute path that a line with ``${NAME}`` references names, once they are filled in."""
    if "${" not in requirement.text or "${" in text:
        return None
    match = _REFERRED.match(text)
    return Path(unquote(match["path"]).strip()) if match else None
