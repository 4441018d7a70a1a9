"""The person's conda configuration, read as conda reads it where no conda is installed: files, then ``CONDA_*``."""

from __future__ import annotations

from conda_llmenv.config.channels import describe, resolve_channels
from conda_llmenv.config.condarc import load_config
from conda_llmenv.config.settings import CondaConfig

__all__ = ["CondaConfig", "describe", "load_config", "resolve_channels"]
