"""Bytes that real editors write are read; bytes that hide something are refused with their place."""

from __future__ import annotations

import codecs

import pytest

from conda_llmenv.errors import FileFormatError
from tests.compose.files import fragment

TEXT = "dependencies:\n  - numpy  # naïve\n  - scipy\n"


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16 little", "utf-16 big", "crlf", "cr"],
)
@pytest.mark.parametrize("pure", [False, True])
def test_every_way_to_save_a_file_reads_the_same(content: bytes, pure: bool) -> None:  # noqa: FBT001 - parametrised
    """The same lines and reasons whatever the editor wrote (conda#9749, #13882, #11623)."""
    read = fragment(content, pure=pure)
    assert [(spec.value, spec.origin.line, spec.why) for spec in read.specs] == [
        ("numpy", 2, "naïve"),
        ("scipy", 3, ""),
    ]


@pytest.mark.parametrize(
    ("content", "where", "word"),
    [
        (b"dependencies:\n  - a\x00b\n", "f.yml:2:6", "U+0000"),
        ("dependencies:\n  - a\u2028b\n".encode(), "f.yml:2:6", "U+2028"),
        ("dependencies:\n  - \u200bnumpy\n".encode(), "f.yml:2", "\\u200bnumpy"),
        (b"dependencies:\n  - a\n  - \xff\xfe\n", "f.yml:3", "UTF-8"),
        ("dependencies: []".encode("utf-16-le"), "f.yml:1", "U+0000"),
        (codecs.BOM_UTF32_LE + "a: 1".encode("utf-32-le"), "f.yml", "UTF-32"),
        (b"#" * (1024 * 1024 + 1), "f.yml", "1024 KiB"),
    ],
)
def test_what_cannot_be_seen_is_refused_with_its_place(content: bytes, where: str, word: str) -> None:
    """An invisible or undecodable character names file, line and what it is."""
    with pytest.raises(FileFormatError) as caught:
        fragment(content)
    assert caught.value.message.startswith(where)
    assert word in ascii(caught.value.message).replace("\\\\", "\\") or word in caught.value.message
    assert caught.value.exit_code == 2
