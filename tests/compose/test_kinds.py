"""A file given by its path is what its settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.compose import kind_of
from conda_llmenv.model import Kind, Layer, Source


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("dependencies: [python]\n", Kind.FRAGMENT),
        ("dependencies: [python]\nllmenv: {extends: [base], verify: {imports: [six]}}\n", Kind.FRAGMENT),
        ("llmenv: {fragments: [base]}\n", Kind.RECIPE),
        ("dependencies: [python]\nllmenv: {tiers: [cpu]}\n", Kind.RECIPE),
        ("llmenv: {gpu: {match: [A100]}}\n", Kind.TIER),
        ("llmenv: {fragments: [base], gpu: {match: [A100]}}\n", Kind.FRAGMENT),
        ("llmenv: {fragmnts: [base]}\n", Kind.FRAGMENT),
        ("llmenv: [fragments]\n", Kind.FRAGMENT),
        ("", Kind.FRAGMENT),
        ("{", Kind.FRAGMENT),
        ("just text", Kind.FRAGMENT),
    ],
)
def test_the_settings_tell_the_kind(text: str, kind: Kind) -> None:
    """Only settings that one kind alone has decide; what is wrong or contradicts itself stays what it was taken for."""
    source = Source("x", "x.yml", Path(), text.encode(), Kind.FRAGMENT, Layer.COMMAND_LINE)
    assert kind_of(source) is kind
