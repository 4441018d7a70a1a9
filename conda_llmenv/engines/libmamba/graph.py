"""A graph of problems: who takes part in it, and whether it is only that something does not exist."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from msgspec import Struct


class Part(Struct, frozen=True):
    """A node: the package it is about (empty at the root), and whether no candidate fits what is asked of it."""

    name: str
    missing: bool = False


def parts(
    nodes: Mapping[int, Part], edges: Iterable[tuple[int, int]], root: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names in a graph and, if it says nothing but that something does not exist, the names of that.

    Args:
        nodes: by their numbers.
        edges: from what asks to what is asked for.
        root: the number of the request.

    Returns:
        All names, each before those it leads to; and the missing ones, empty if there is another reason as well. What a
        machine does not offer is no missing package.
    """
    led: dict[int, list[int]] = {}
    for source, target in edges:
        led.setdefault(source, []).append(target)
    reached = [nodes[number] for number in _breadth_first(led, root)]
    names = tuple(dict.fromkeys(part.name for part in reached if part.name))
    ends = [part for number, part in nodes.items() if part.name and number not in led]
    if not all(part.missing and not part.name.startswith("__") for part in ends):
        return names, ()
    return names, tuple(dict.fromkeys(part.name for part in ends))


def _breadth_first(led: Mapping[int, list[int]], root: int) -> list[int]:
    order, waiting, seen = [], deque([root]), {root}
    while waiting:
        number = waiting.popleft()
        order.append(number)
        fresh = [target for target in sorted(led.get(number, ())) if target not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    return order
