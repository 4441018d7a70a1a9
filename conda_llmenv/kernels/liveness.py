"""What is inside an environment that a kernel would start, read from its files: nothing of it is run."""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from conda_llmenv.model.kernels import Inside

_PYTHON_RECORD = re.compile(r"python-(?P<version>[0-9][^-]*)-[^-]+\.json")
_DISTRIBUTION = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)\.dist-info")
_CONFIGURED = re.compile(r"^version(?:_info)?\s*=\s*(?P<version>\d+(?:\.\d+)*)", re.MULTILINE)


def look_inside(prefix: Path) -> Inside:
    """Return what is inside; all is empty where there is no environment."""
    if not os.access(prefix / "bin" / "python", os.X_OK):
        return Inside("")
    records = sorted(_names(prefix / "conda-meta", ".json"))
    sites = sorted(prefix.glob("lib/python3*/site-packages"))
    distributions = sorted(name for site in sites for name in _names(site, ".dist-info"))
    torch, cuda = next(filter(any, map(_torch, sites)), (None, None))
    text = "\n".join((*records, "", *distributions))
    return Inside(
        python=_python(prefix, records),
        torch=torch,
        cuda=cuda,
        ipykernel=_versions(distributions).get("ipykernel"),
        conda=(prefix / "conda-meta").is_dir(),
        digest=hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(),
    )


def _names(folder: Path, suffix: str) -> Iterator[str]:
    try:
        yield from (path.name for path in folder.iterdir() if path.name.endswith(suffix))
    except OSError:
        return


def _versions(distributions: list[str]) -> dict[str, str]:
    matches = filter(None, map(_DISTRIBUTION.fullmatch, distributions))
    return {match["name"].lower(): match["version"] for match in matches}


def _python(prefix: Path, records: list[str]) -> str:
    """Return the interpreter's version, as conda or venv noted it; else what its link or its library is called."""
    for match in filter(None, map(_PYTHON_RECORD.fullmatch, records)):
        return match["version"]
    configured = _CONFIGURED.search(_text(prefix / "pyvenv.cfg"))
    if configured:
        return configured["version"]
    name = os.path.basename(os.path.realpath(prefix / "bin" / "python"))  # noqa: PTH119 - a string already
    return name.removeprefix("python") or "3"


def _torch(site: Path) -> tuple[str | None, str | None]:
    """Return torch's version and that of its CUDA, from the file in which its build notes them."""
    try:
        tree = ast.parse(_text(site / "torch" / "version.py"))
    except (SyntaxError, ValueError):
        return None, None
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found.update({target.id: value.value for target in targets if isinstance(target, ast.Name)})
    return found.get("__version__"), found.get("cuda")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
