"""Bytes of a text file → text: UTF-8 or UTF-16 by byte order mark, one kind of line break, nothing invisible."""

from __future__ import annotations

import codecs
import re

from conda_llmenv.compose.problems import Unreadable

MAX_BYTES = 1024 * 1024
"""Largest file read, in bytes; an environment file of real life is a few kilobytes."""

_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")


def decode(content: bytes) -> str:
    """Return the text with line feeds only and without a byte order mark.

    Raises:
        Unreadable: too large, not UTF-8 or UTF-16, or holding characters that cannot be seen.
    """
    if len(content) > MAX_BYTES:
        raise Unreadable(
            f"larger than {MAX_BYTES // 1024} KiB", hint="split it, or check that it is the file you meant"
        )
    if content.startswith(_UTF32):
        raise Unreadable("written in UTF-32", hint="save it as UTF-8")
    bom, encoding = next(((bom, name) for bom, name in _BOMS if content.startswith(bom)), (b"", "utf-8"))
    try:
        text = content[len(bom) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise Unreadable("not valid UTF-8 or UTF-16 text", line=line, hint="save it as UTF-8") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    odd = _CONTROL.search(text)
    if odd:
        raise Unreadable(
            f"character U+{ord(odd[0]):04X} cannot be seen and is not allowed",
            line=text.count("\n", 0, odd.start()) + 1,
            column=odd.start() - text.rfind("\n", 0, odd.start()),
            hint="delete it",
        )
    return text
