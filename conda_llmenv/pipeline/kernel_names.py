"""What kernels are called: names that clients look them up by, and names that people choose them by."""

from __future__ import annotations

import re
from pathlib import Path

from conda_llmenv.errors import InputError
from conda_llmenv.model.kernels import Inside
from conda_llmenv.names import check_name
from conda_llmenv.pipeline.kernel_tools import Identity

LONGEST_DISPLAY_NAME = 200

NATIVE = re.compile(r"python[0-9.]*")
"""Names that each Jupyter gives the Python it runs in."""

UNNAMED = frozenset({".venv", "venv", ".env", "env", ".conda", "conda", ".pixi", "default"})
"""Folders in a project that are called after what they are, so that the project's name says more."""


def check_kernel_name(name: str) -> str:
    """Return a kernel's name if it is allowed.

    Raises:
        InputError: it is not, or every Jupyter gives it to its own Python.
    """
    check_name("kernel", name)
    if NATIVE.fullmatch(name):
        raise InputError(f"{name} is what each Jupyter calls its own Python", hint="choose another name with --name")
    return name


def check_display_name(text: str) -> None:
    """Refuse what clients could not show on one line.

    Raises:
        InputError: it is such a text.
    """
    if not text.isprintable() or len(text) > LONGEST_DISPLAY_NAME or (text and not text.strip()):
        raise InputError(
            f"the display name is not one printable line of at most {LONGEST_DISPLAY_NAME} characters",
            hint="give another with --display-name",
        )


def default_name(prefix: Path) -> str:
    """Return the name that a kernel of an environment has unless somebody gives it another.

    Raises:
        InputError: the environment's name has nothing that a kernel's may have.
    """
    text = re.sub(r"[^a-z0-9._-]+", "-", project(prefix).lower())
    name = re.sub(r"\.\.+", ".", text).strip(".-_")[:64]
    if not name:
        raise InputError(f"no kernel name can be made of {prefix.name!a}", hint="give one with --name")
    return name


def project(prefix: Path) -> str:
    """Return what an environment is called: its folder's name, or that of the project it is in."""
    folder = prefix
    while folder.name in UNNAMED | {"envs"} and folder.parent.name:
        folder = folder.parent
    return folder.name


def default_display_name(prefix: Path, inside: Inside, identity: Identity) -> str:
    """Return what people choose a kernel by, such as ``sft (torch 2.9, CUDA 12.8, a100)``."""
    parts = [
        inside.torch and f"torch {_short(inside.torch)}",
        inside.cuda and f"CUDA {_short(inside.cuda)}",
        identity.tier,
    ]
    told = ", ".join(part for part in parts if part) or f"Python {_short(inside.python)}"
    text = f"{project(prefix)} ({told})"
    return "".join(character if character.isprintable() else "?" for character in text)[:LONGEST_DISPLAY_NAME]


def _short(version: str) -> str:
    return ".".join(version.partition("+")[0].split(".")[:2])
