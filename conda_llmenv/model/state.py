"""What is written inside an environment about itself: its phase, what was asked, and what was chosen."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Phase(enum.Enum):
    """The life of a prefix: ``creating`` until every step is done, then ``created``, and ``verified`` after checks."""

    CREATING = "creating"
    CREATED = "created"
    VERIFIED = "verified"
    FAILED = "failed"


class Owner(Struct, frozen=True):
    """The process that is at work on a prefix: host, pid, its start time (clock ticks) and the boot it belongs to."""

    host: str
    pid: int
    started: int
    boot_id: str


class EnvState(Struct, frozen=True):
    """``conda-meta/llmenv/state.json``.

    Attributes:
        phase: see :class:`Phase`.
        reason: why it failed, or an empty string.
        owner: who is creating it; None once done.
        created: ISO 8601 UTC time.
        tier, recipe: names, or None.
        facts: JSON-ready extras (package counts, pip hashes, checks, host).
    """

    phase: Phase
    created: str
    reason: str = ""
    owner: Owner | None = None
    tier: str | None = None
    recipe: str | None = None
    llmenv: str = ""
    facts: Mapping[str, Any] = {}
