"""ARCHITECTURE.md tells the truth about the tree, and the code keeps its shape."""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "conda_llmenv"

LISTED = re.compile(r"^\s*([\w/]+\.py)\s", re.MULTILINE)


def test_the_module_list_equals_the_tree() -> None:
    """Every module is listed with what it is for, and nothing else is."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    block = text.split("<!-- modules -->")[1].split("<!-- /modules -->")[0]
    tree = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")}
    assert set(LISTED.findall(block)) == tree


def test_the_top_level_is_the_agreed_one() -> None:
    """The folders a person looks for are where they were promised."""
    expected = {
        "pyproject.toml", "conda_llmenv", "envs", "recipes", "tests", "conda.recipe", "bench", "README.md",
        "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "Makefile", ".ci",
    }  # fmt: skip
    assert expected <= {path.name for path in ROOT.iterdir()}


def functions() -> list[tuple[int, str]]:
    """Return the length (docstring excluded) and the place of every function."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None:
                documentation = ast.get_docstring(node, clean=False)
                size = node.end_lineno - node.lineno + 1 - (documentation.count("\n") + 1 if documentation else 0)
                found.append((size, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"))
    return found


def test_functions_stay_short() -> None:
    """Half of all functions fit in ten lines, nine of ten in 35, and none is longer than 60."""
    sizes = sorted(functions())
    assert statistics.median(size for size, _ in sizes) <= 10
    assert sizes[int(len(sizes) * 0.9)][0] < 35
    assert [place for size, place in sizes if size > 60] == []


def test_modules_hold_one_idea() -> None:
    """No module has more than 350 lines that are not blank."""
    sizes = {
        str(path.relative_to(ROOT)): sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
        for path in PACKAGE.rglob("*.py")
    }
    assert {path: size for path, size in sizes.items() if size > 350} == {}
