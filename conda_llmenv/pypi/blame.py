"""Which line of a fragment a tool's output is about: tools name lines of the files that were written for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from msgspec import Struct

from conda_llmenv.model import Origin, PipKind, PipRequirement
from conda_llmenv.pypi.credentials import without_login
from conda_llmenv.redact import mask


class AskedFile(Struct, frozen=True):
    """A file written for a tool: each line with where it comes from."""

    name: str
    lines: Sequence[str]
    origins: Sequence[Origin]

    def located(self, output: str) -> tuple[str, tuple[int, ...]]:
        """Return an output that names fragments instead of this file, and the 0-based lines it named."""
        named: list[int] = []
        file = rf"`?(?:[^\s`'\"(]*/)?{re.escape(self.name)}`?"

        def place(line: int) -> str:
            """Return the place of a 0-based line in a fragment, and note that the line was named."""
            if not 0 <= line < len(self.origins):
                return "the pip section"
            named.append(line)
            return str(self.origins[line])

        output = re.sub(rf"{file} at position (\d+)", lambda match: place(self._line_at(int(match[1]))), output)
        output = re.sub(rf"{file} at line (\d+)", lambda match: place(int(match[1]) - 1), output)
        output = re.sub(rf"(?:from )?line (\d+) of {file}", lambda match: place(int(match[1]) - 1), output)
        output = re.sub(rf"{file}:(\d+)(?::\d+)?", lambda match: place(int(match[1]) - 1), output)
        return re.sub(file, "the pip section", output), tuple(dict.fromkeys(named))

    def _line_at(self, position: int) -> int:
        """Return the line that a byte offset lies in."""
        end = 0
        for number, line in enumerate(self.lines):
            end += len(line.encode()) + 1
            if position < end:
                return number
        return -1


def mentioned(requirements: Iterable[PipRequirement], output: str) -> list[PipRequirement]:
    """Return the requirements whose address, path or name a tool's output holds; addresses and paths come first."""
    known = list(requirements)
    located = [one for one in known if (place := _place(one)) and place in output]
    return located or [one for one in known if one.name and _is_word(one.name, output)]


def _is_word(name: str, output: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", output) is not None


def _place(requirement: PipRequirement) -> str:
    if requirement.path is not None:
        return str(PurePath(requirement.path))
    match = re.search(r"(?:git\+)?(?P<url>\w+://[^\s;#]+)", without_login(requirement.text))
    if match is None:
        return ""
    url = match["url"]
    return re.sub(r"@[^/@]*\Z", "", url) if requirement.kind in (PipKind.VCS, PipKind.EDITABLE) else url


def shown(requirement: PipRequirement) -> str:
    """Return what a requirement is called in a message: its name, or its line without secrets."""
    return requirement.name or mask(requirement.text)
