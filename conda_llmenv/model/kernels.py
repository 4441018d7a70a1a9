"""Jupyter kernelspecs: where they are, what they say, and what is inside the environment they start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

KEY = "llmenv"
"""The key of a kernelspec's metadata that says that it is ours."""


class Place(Struct, frozen=True):
    """A folder of kernelspecs: its path, and the kind of place it is (``user``, ``environment``, ``system``, …)."""

    path: Path
    kind: str


class Kernelspec(Struct, frozen=True):
    """One kernelspec as it was read; ``problem`` says why it cannot be used, where it cannot.

    Attributes:
        name: what clients call it, in lower case.
        folder: where its kernel.json is.
        kind: the kind of place that is.
        display_name, argv, language, env, metadata: as in kernel.json.
        linked: the folder is a link, or its kernel.json is: somebody made that by hand.
        owned: the folder belongs to this account. What another one wrote where both may write is never run or changed.
    """

    name: str
    folder: Path
    kind: str
    display_name: str = ""
    argv: tuple[str, ...] = ()
    language: str = ""
    env: Mapping[str, str] = {}
    metadata: Mapping[str, Any] = {}
    linked: bool = False
    owned: bool = True
    problem: str = ""

    @property
    def noted(self) -> Mapping[str, Any] | None:
        """What we noted when we registered it; None if another tool did."""
        noted = self.metadata.get(KEY)
        known = isinstance(noted, dict) and isinstance(noted.get("prefix"), str) and not self.linked
        return noted if known else None

    @property
    def ours(self) -> bool:
        """Whether we registered it for this account, and may replace or remove it."""
        return self.noted is not None and self.owned

    @property
    def host(self) -> str:
        """The other host that it starts on; empty for this one."""
        return str((self.noted or {}).get("host") or "")

    @property
    def prefix(self) -> Path | None:
        """The environment on this machine that it starts, as far as that can be told."""
        if self.host or "kernel_provisioner" in self.metadata:
            return None
        if self.noted is not None:
            return Path(self.noted["prefix"])
        program = Path(self.argv[0]) if self.argv else None
        absolute = program is not None and program.is_absolute() and program.parent.name == "bin"
        return program.parent.parent if program is not None and absolute else None


class Inside(Struct, frozen=True):
    """What is inside an environment, as far as a kernel is concerned; read from its files, nothing is run.

    Attributes:
        python: version, or an empty string where there is no interpreter.
        torch, cuda: versions, or None.
        ipykernel: version, or None.
        conda: it is a conda environment.
        digest: what is installed in it, by name and version, as a hash: the same after it was moved.
    """

    python: str
    torch: str | None = None
    cuda: str | None = None
    ipykernel: str | None = None
    conda: bool = False
    digest: str = ""


class Registration(Struct, frozen=True):
    """A kernelspec to make: for which environment, in which folder of kernelspecs, under which names."""

    prefix: Path
    kernels: Path
    name: str
    display_name: str
    metadata: Mapping[str, Any]
