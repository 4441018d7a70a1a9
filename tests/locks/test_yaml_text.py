"""Scalars of the YAML we write: text for every reader, and plain where tools write it plain."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from conda_llmenv.locks.yaml_text import scalar

_ODD = st.text("0123456789.:-+_eExXob~#!&*|>'\"%@`,[]{}? \t\n", max_size=12)
_ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(text=_ODD | _ANY)
@example("1e5")
@example("012")
@example("1:30:00")
@example("2020-01-01")
@example("a: b")
@example("a #b")
@example("a  b ")
@example("=")
@example("\x85\u2028\ufeff\U0001f600\x00")
def test_it_is_read_as_the_same_text(text: str) -> None:
    """YAML 1.1 (conda-lock, mamba) and 1.2 (rattler) both give the text back, in a list and in a mapping."""
    for version in ((1, 1), (1, 2)):
        yaml = YAML(typ="safe", pure=True)
        yaml.version = version
        assert yaml.load(f"---\n- {scalar(text)}\n- k: {scalar(text)}\n") == [text, {"k": text}]


@pytest.mark.parametrize(
    "text",
    [
        "2.2.6",
        "1!2.0",
        "https://conda.anaconda.org/conda-forge/linux-64/x264-1!164.3095-h166bdaf_2.tar.bz2",
        "python >=3.11,<3.12.0a0",
        "__glibc >=2.17,<3.0.a0",
        "python_abi 3.11.* *_cp311",
        "0a1b" * 16,
        "BSD-3-Clause AND (MIT OR Apache-2.0)",
    ],
)
def test_what_tools_write_plain_is_plain(text: str) -> None:
    """Versions, addresses, dependencies, hashes and licences have no quotes, as pixi and conda-lock write them."""
    assert scalar(text) == text


@pytest.mark.parametrize(
    "text", ["1.0", "12", "1e10", "123e4567", "yes", "null", "0x10", ">=3.11", "* *_cp311", "", "~"]
)
def test_what_is_read_as_something_else_is_quoted(text: str) -> None:
    """Numbers, words and what starts with a mark of YAML's own are quoted."""
    assert scalar(text) == f'"{text}"'
