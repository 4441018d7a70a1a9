"""The index's fixtures for these tests."""

from __future__ import annotations

from tests.index.fixtures import argv_watch, environ, make_prefix, make_request, recorder

__all__ = ["argv_watch", "environ", "make_prefix", "make_request", "recorder"]
