"""What a file of a package was before conda, mamba or rattler put the prefix in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from conda_llmenv.prefix.integrity import commands, content
from conda_llmenv.prefix.integrity.inventory import Inventory
from conda_llmenv.prefix.integrity.model import Entry, Recorded

_LONGEST_LINE = 127
"""Bytes of a first line that every Linux kernel reads; installers rewrite longer ones, and those with a space."""

_FOUND_ON_PATH = re.compile(rb"#!/usr/bin/env (?P<name>[^ \n]+)(?P<options>[^\n]*)\n")
_THROUGH_SHELL = re.compile(
    rb"#!/bin/sh\n'''exec' \"(?P<program>/[^\n\"]+)\"(?P<options>[^\n]*?) \"\$0\" \"\$@\" #'''\n"
)


def original_checksum(inventory: Inventory, entry: Entry, noted: Recorded) -> str:
    """Return the sha256 of a file with the placeholder where the prefix is.

    Of a file nobody touched it is the one that the package has, in every prefix.

    Raises:
        OSError: it cannot be read.
    """
    path = f"{inventory.prefix}/{entry.path}"
    placeholder = os.fsencode(noted.placeholder)
    if noted.padded:
        return _unpadded(path, entry, noted, inventory.prefixes, placeholder)
    checksum = _unplaced(content.pieces(path, entry.size), inventory.prefixes, placeholder)
    if checksum != noted.original:
        return _with_first_line(path, entry, noted, inventory.prefixes, placeholder) or checksum
    return checksum


def _unpadded(path: str, entry: Entry, noted: Recorded, prefixes: tuple[bytes, ...], placeholder: bytes) -> str:
    checksum = ""
    for prefix in prefixes:
        checksum = content.fingerprint(content.unpadded(content.pieces(path, entry.size), prefix, placeholder))
        if checksum == noted.original:
            break
    return checksum


def _unplaced(pieces: Iterator[memoryview], prefixes: tuple[bytes, ...], placeholder: bytes) -> str:
    pattern = content.place_pattern(prefixes, exact=True)
    return content.fingerprint(content.replaced(pieces, pattern, len(prefixes[0]), placeholder))


def _with_first_line(
    path: str, entry: Entry, noted: Recorded, prefixes: tuple[bytes, ...], placeholder: bytes
) -> str | None:
    """Return the checksum in the package, if all that differs is a first line that is too long with these prefixes."""
    if entry.size > commands.LARGEST:
        return None
    text = Path(path).read_bytes()
    for prefix in prefixes:
        line = _first_line(text, prefix)
        if line is not None and _unplaced(iter([memoryview(line)]), prefixes, placeholder) == noted.original:
            return noted.original
    return None


def _first_line(text: bytes, prefix: bytes) -> bytes | None:
    """Return a text with the first line it would have had in a short prefix; None where it was not rewritten."""
    if match := _THROUGH_SHELL.match(text):
        line = b"#!" + match["program"] + match["options"]
    elif match := _FOUND_ON_PATH.match(text):
        line = b"#!" + prefix + b"/bin/" + match["name"] + match["options"]
    else:
        return None
    if len(line) <= _LONGEST_LINE and b" " not in prefix:
        return None
    return line + b"\n" + text[match.end() :]
