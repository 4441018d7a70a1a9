"""What a file of a package was before conda, mamba or rattler put the prefix in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from conda_llmenv.prefix.integrity import commands, content
from conda_llmenv.prefix.integrity.content import Fingerprint
from conda_llmenv.prefix.integrity.inventory import Inventory
from conda_llmenv.prefix.integrity.model import Entry, Recorded

_LONGEST_LINE = 127
"""Bytes of a first line that every Linux kernel reads; installers rewrite longer ones, and those with a space."""

_FOUND_ON_PATH = re.compile(rb"#!/usr/bin/env (?P<name>[^ \n]+)(?P<options>[^\n]*)\n")
_THROUGH_SHELL = re.compile(
    rb"#!/bin/sh\n'''exec' \"(?P<program>/[^\n\"]+)\"(?P<options>[^\n]*?) \"\$0\" \"\$@\" #'''\n"
)


def original(inventory: Inventory, entry: Entry, noted: Recorded) -> Fingerprint:
    """Return the fingerprint of a file with the placeholder where the prefix is.

    Of a file nobody touched its checksum is the one that the package has, in every prefix.

    Raises:
        OSError: it cannot be read.
    """
    path = f"{inventory.prefix}/{entry.path}"
    if noted.padded:
        return _unpadded(path, entry, noted, inventory.prefixes)
    found = _split(content.pieces(path, entry.size), noted, inventory.prefixes)
    if found.checksum == noted.original or entry.size > commands.LARGEST:
        return found
    return _with_first_line(Path(path).read_bytes(), noted, inventory.prefixes) or found


def _unpadded(path: str, entry: Entry, noted: Recorded, prefixes: tuple[bytes, ...]) -> Fingerprint:
    placeholder = os.fsencode(noted.placeholder)
    found = []
    for prefix in prefixes:
        parts = content.unpadded(content.pieces(path, entry.size), prefix, placeholder)
        found.append(content.fingerprint(parts, placeholder))
        if found[-1].places:
            return found[-1]
    return found[0]


def _split(pieces: Iterator[memoryview], noted: Recorded, prefixes: tuple[bytes, ...]) -> Fingerprint:
    pattern = content.place_pattern(prefixes, exact=True)
    return content.fingerprint(content.split(pieces, pattern, len(prefixes[0])), os.fsencode(noted.placeholder))


def _with_first_line(text: bytes, noted: Recorded, prefixes: tuple[bytes, ...]) -> Fingerprint | None:
    """Return the fingerprint with the first line that a short prefix would have; None where it was not rewritten.

    A program that is looked up on PATH was perhaps so in the package: there only the package's checksum is proof.
    """
    for prefix in prefixes:
        line, certain = _first_line(text, prefix)
        if line:
            found = _split(iter([memoryview(line)]), noted, prefixes)
            if certain or found.checksum == noted.original:
                return found
    return None


def _first_line(text: bytes, prefix: bytes) -> tuple[bytes, bool]:
    """Return a text with the first line it would have had in a short prefix, and whether that is certain."""
    if match := _THROUGH_SHELL.match(text):
        line = b"#!" + match["program"] + match["options"]
    elif match := _FOUND_ON_PATH.match(text):
        line = b"#!" + prefix + b"/bin/" + match["name"] + match["options"]
    else:
        return b"", False
    if len(line) <= _LONGEST_LINE and b" " not in prefix:
        return b"", False
    return line + b"\n" + text[match.end() :], match.re is _THROUGH_SHELL
