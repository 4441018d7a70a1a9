"""Verdicts of plan checks and the change that would make a failed one pass."""

from __future__ import annotations

import enum

from msgspec import Struct

from conda_llmenv.model.provenance import Origin


class Status(enum.Enum):
    """The outcome of a check; one that could not run is never a pass.

    ``skip`` is for what does not apply or cannot be tried here, ``error`` for what should have run and could not.
    """

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    ERROR = "error"


class Change(Struct, frozen=True):
    """One edit that works, shown as ``file:line   new text`` and applicable to a request.

    Attributes:
        kind: ``channels`` (replace the whole list by ``new``), ``spec`` (replace the package ``name`` by the one spec
            in ``new``), ``add`` (add the spec in ``new``), ``drop`` (remove the package ``name``), ``pip`` (replace the
            requirement ``name`` by ``new``), ``pip-option`` (add the option in ``new``), ``tier`` or ``host`` (a thing
            to do that is not a file edit).
        origin: the line to edit; None where there is none.
        new: channel names, or the new spec or sentence.
        name: the package concerned.
    """

    kind: str
    new: tuple[str, ...]
    origin: Origin | None = None
    name: str = ""


class Verdict(Struct, frozen=True):
    """What one check found.

    Attributes:
        check: stable kebab-case id such as ``cpu-build`` or ``driver-floor``.
        link: which link of the chain it belongs to: card, driver, cuda, framework, model-library, accelerator, pip.
        summary: one sentence.
        detail: further facts, one line each.
        why: the reason, in the field's words.
        origins: the lines a person can change.
        changes: the edits that make it pass, all of them together.
    """

    check: str
    link: str
    status: Status
    summary: str
    detail: tuple[str, ...] = ()
    why: str = ""
    origins: tuple[Origin, ...] = ()
    changes: tuple[Change, ...] = ()
