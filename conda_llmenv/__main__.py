"""``python -m conda_llmenv``: the same program as the ``llmenv`` script."""

from __future__ import annotations

from conda_llmenv.cli.main import script

script()
