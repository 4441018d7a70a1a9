"""The order in which tools that do not sort for themselves have to link packages: dependencies first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conda_llmenv.locks.dependencies import dependency_parts
from conda_llmenv.model import Record


def linking_order(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return records with each after what it depends on, else in the order of the alphabet; a circle is cut open."""
    by_name = {record.name: record for record in sorted(records, key=lambda record: record.name)}
    done: dict[str, None] = {}
    begun: set[str] = set()
    for name in by_name:
        stack = [name]
        while stack:
            top = stack[-1]
            waiting = [] if top in begun else [need for need in _needs(by_name, top) if need not in begun]
            begun.add(top)
            if waiting:
                stack += reversed(waiting)
            else:
                done[stack.pop()] = None
    return tuple(by_name[name] for name in done)


def _needs(by_name: Mapping[str, Record], name: str) -> list[str]:
    return sorted({dependency_parts(text)[0] for text in by_name[name].depends} & by_name.keys())
