"""The texts of ``texts.txt``: which rule each shows, or must not show."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

TEXTS = Path(__file__).parent / "texts.txt"


class Text(Struct, frozen=True):
    """A short log, the rule it is about, whether it shows it, and which other rules it shows."""

    rule: str
    log: str
    shows: bool
    others: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """A name for the test."""
        return f"{self.rule}: {self.log[:60]}".encode("ascii", "replace").decode()


def texts() -> list[Text]:
    """Return every text of the corpus."""
    found: list[Text] = []
    rule = ""
    for line in TEXTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            rule = line[3:]
        elif rule and (begin := re.match(r"([+-])(?:\[([\w, -]+)\])? ", line)):
            others = frozenset((begin[2] or "").split(", ")) - {""}
            log = line[begin.end() :].replace("\\n", "\n") + "\n"
            found.append(Text(rule, log, shows=begin[1] == "+", others=others))
        elif line.startswith("| "):
            last = found.pop()
            found.append(Text(last.rule, f"{last.log}{line[2:]}\n", shows=last.shows, others=last.others))
    return found
