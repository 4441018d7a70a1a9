"""The layer rule of ARCHITECTURE.md, read from the imports themselves."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "conda_llmenv"

LEAVES = {"model", "ports", "errors", "names", "redact", "activation"}
PURE = {"compose", "hardware", "locks", "data", "checks", "diagnosis", "page"}
ADAPTERS = {
    "engines",
    "pypi",
    "prefix",
    "config",
    "host",
    "history",
    "probes",
    "library",
    "process",
    "unlisted",
    "plain_files",
    "entering",
    "kernels",
    "remote",
    "notebook",
}

ALLOWED = {
    **dict.fromkeys(LEAVES, LEAVES),
    **dict.fromkeys(PURE, LEAVES | PURE),
    **dict.fromkeys(ADAPTERS, LEAVES | PURE | {"process", "unlisted", "plain_files", "entering"}),
    "pipeline": LEAVES | PURE | {"pipeline"},
    "cli": LEAVES | PURE | ADAPTERS | {"pipeline", "cli"},
    "hooks": LEAVES | PURE | ADAPTERS | {"pipeline", "cli", "hooks"},
    "plugin": {"cli", "hooks"},
    "__main__": {"cli"},
    "__init__": set(),
}
"""Which top-level parts of the package each part may import, itself always included."""

PURE_PARTS_OF_ADAPTERS = {
    "conda_llmenv.pypi.provided",
    "conda_llmenv.engines.rattler.matching",
    "conda_llmenv.remote.failures",
}
"""Modules inside adapters that are pure, which use-cases may therefore call directly."""

IMPURE = {"os", "subprocess", "socket", "shutil", "tempfile", "urllib.request", "http", "asyncio", "time", "threading"}
"""Modules a pure core has no business with: disk, network, processes and the clock come in as arguments."""


def modules() -> list[Path]:
    """Return every module of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """Return the top-level part a module belongs to, such as ``compose`` or ``errors``."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path: Path) -> set[str]:
    """Return the dotted names a module imports anywhere, function bodies included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_dependencies_point_inwards(path: Path) -> None:
    """A module imports only its own layer and those further in."""
    part = part_of(path)
    wrong = set()
    for name in imports(path):
        if not name.startswith("conda_llmenv.") or any(name.startswith(pure) for pure in PURE_PARTS_OF_ADAPTERS):
            continue
        target = name.split(".")[1]
        if not (PACKAGE / target).exists() and not (PACKAGE / f"{target}.py").exists():
            continue  # a name from the package itself, such as __version__
        if target != part and target not in ALLOWED[part]:
            wrong.add(name)
    assert not wrong


@pytest.mark.parametrize(
    "path",
    [path for path in modules() if part_of(path) in LEAVES | PURE | {"pipeline"}],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_cores_touch_nothing_outside(path: Path) -> None:
    """Cores and leaves reach neither disk, network nor processes; use-cases may look at the clock and use a thread."""
    allowed = {"time", "threading"} if part_of(path) == "pipeline" else set()
    assert not imports(path) & (IMPURE - allowed)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_line_prints(path: Path) -> None:
    """Nothing but cli/ writes to stdout or stderr."""
    if part_of(path) == "cli":
        return
    calls = [
        node.func.id
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    assert "print" not in calls
