"""Dependencies of records, and specs, as texts: which package they are about and what they ask of it."""

from __future__ import annotations


def dependency_parts(text: str) -> tuple[str, str]:
    """Return a dependency of a record, such as ``python >=3.11,<3.12.0a0``, as name and constraint."""
    words = text.split(None, 1)
    head = words[0] if words else ""
    end = next((index for index, letter in enumerate(head) if letter in "=<>!~[;"), len(head))
    rest = " ".join((head[end:], *words[1:])).strip()
    return head[:end], rest


def spec_name(text: str) -> str:
    """Return the package that a spec is about, as records call it; the channel it names is left out."""
    return dependency_parts(text.partition("[")[0].rpartition("::")[2])[0].lower()
