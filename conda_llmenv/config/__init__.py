"""The person's conda configuration: what a running conda holds, or files and ``CONDA_*`` read as conda reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from conda_llmenv.config.channels import describe, resolve_channels
from conda_llmenv.config.condarc import load_config
from conda_llmenv.config.settings import CondaConfig, LlmenvSettings

__all__ = ["CondaConfig", "LlmenvSettings", "active_config", "describe", "load_config", "resolve_channels"]


def active_config(environ: Mapping[str, str], home: Path) -> CondaConfig:
    """Return the configuration that counts in this process: conda's own where it is loaded, else what the files say.

    Args:
        environ: the environment; ``CONDA_*`` variables win over files.
        home: the home folder.

    Raises:
        FileFormatError: a file or a value is not what it should be; the message names the file.
    """
    from conda_llmenv.config.inside import config_of_conda, in_conda

    return config_of_conda(environ, home) if in_conda() else load_config(environ, home)
