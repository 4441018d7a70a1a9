"""What is sent to other hosts runs in every Python that an environment there may have."""

from __future__ import annotations

import ast
import sys

import pytest

from conda_llmenv.remote.destination import INSIDE, program

MODULES = sorted(path.stem for path in INSIDE.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_it_is_python_3_8(name: str) -> None:
    """Nothing newer is written."""
    ast.parse((INSIDE / f"{name}.py").read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("name", MODULES)
def test_it_needs_nothing_but_the_standard_library(name: str) -> None:
    """At the top nothing else is imported, and nothing of this package anywhere."""
    tree = ast.parse((INSIDE / f"{name}.py").read_text(encoding="utf-8"))
    modules = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    modules += [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    assert {str(module).partition(".")[0] for module in modules} <= sys.stdlib_module_names


@pytest.mark.parametrize("name", MODULES)
def test_it_is_sent_as_one_line(name: str) -> None:
    """The line is all that the other side's first reading takes, so that what follows is left to the program."""
    line = program(name)
    assert line.endswith("\n")
    assert line.count("\n") == 1


def test_only_the_provisioner_needs_jupyter_client() -> None:
    """It is no dependency of the program: one module imports it, which nothing here imports."""
    importing = []
    for path in INSIDE.parent.glob("*.py"):
        names = {
            node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, (ast.Import, ast.ImportFrom))
        }
        if any(name.startswith(("jupyter_client", "traitlets")) for name in names):
            importing.append(path.name)
        assert "conda_llmenv.remote.provisioner" not in names
    assert importing == ["provisioner.py"]
