"""A composed environment → conda's model of one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from conda_llmenv.compose.render import pip_lines
from conda_llmenv.model import EnvSpec, VirtualPackage


def to_conda(spec: EnvSpec, variables: Mapping[str, str]) -> Any:
    """Return an environment as conda solves and installs it.

    Channels stay names, so that the person's mirrors and tokens apply; ``nodefaults`` is no channel and is left out.
    Name and prefix are the caller's to choose.
    """
    from conda.base.context import context
    from conda.models.environment import Environment, EnvironmentConfig
    from conda.models.match_spec import MatchSpec

    pip = list(pip_lines(spec))
    return Environment(
        platform=context.subdir,
        config=EnvironmentConfig(channels=tuple(channel.name for channel in spec.channels)),
        requested_packages=[MatchSpec(text) for merged in spec.specs for text in merged.texts],
        external_packages={"pip": pip} if pip else {},
        variables=dict(variables),
    )


def assume(virtual: Iterable[VirtualPackage]) -> None:
    """Let conda solve for the machine the tier is about, where this one has no driver; what the person has set wins.

    conda reads virtual packages from the machine and from these variables only, and this process ends with the command.
    """
    for package in virtual:
        if package.name == "__cuda":
            os.environ.setdefault("CONDA_OVERRIDE_CUDA", package.version)
