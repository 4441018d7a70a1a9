"""What a person may have meant by a tier that is not there: a card's name, or upper case."""

from __future__ import annotations

import re

from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.compose.reader import read_fragment
from conda_llmenv.compose.reading import did_you_mean
from conda_llmenv.errors import InputError
from conda_llmenv.model import Kind
from conda_llmenv.ports import Library


def meant_tier(word: str, library: Library) -> str:
    """Return a hint: the tier of the card that ``word`` names, else the closest name of a tier."""
    names = library.names(Kind.TIER.value)
    lower = word.strip().lower()
    if lower != word and lower in names:
        return f"tiers are lower case: {lower}"
    found: dict[str, list[str]] = {}
    for name in names:
        card = next((card for card in _cards(name, library) if _is_card(card, lower)), None)
        if card is not None:
            found.setdefault(card, []).append(name)
    return "; ".join(f"{card} belongs to tier {' or '.join(tiers)}" for card, tiers in found.items()) or did_you_mean(
        lower, names
    )


def _cards(name: str, library: Library) -> tuple[str, ...]:
    """The cards that a tier lists; none where its file cannot be read, which is not what was asked."""
    source = library.tier(name)
    try:
        tier = read_fragment(source, library.read, library.exists) if source else None
    except (InputError, Unreadable):
        return ()
    return tier.gpu.match if tier is not None and tier.gpu is not None else ()


def _is_card(card: str, word: str) -> bool:
    """Whether a word is a card, one of the words of its name, or a product name that holds it, in any spelling."""
    words = re.findall(r"[a-z0-9]+", card.lower())
    typed = re.findall(r"[a-z0-9]+", word)
    joined = "".join(words)
    return (
        "".join(typed) == joined
        or (len(typed) == 1 and typed[0] in words)
        or f" {' '.join(words)} " in (f" {' '.join(typed)} ")
    )
