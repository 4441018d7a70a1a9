"""The standard library's TOML reader, or its backport on Python 3.10."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

loads: Callable[[str], dict[str, Any]] = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads
"""Parse a TOML text; raises :class:`ValueError`."""
