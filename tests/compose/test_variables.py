"""Variables reach programs byte for byte, or are refused; nothing loads code without being allowed to."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.compose.variables import check_variable_value
from conda_llmenv.errors import FileFormatError
from tests.compose.files import fragment, report

HOSTILE = [
    "a'; touch /tmp/x; '",
    'a"b',
    "$(id)",
    "`id`",
    "$HOME/lib",
    "a\\b",
    "line\\nbreak",
    "!!",
    "a\tb",
    "\x7f",
    "\ud800",
]


@pytest.mark.parametrize("value", [value for value in HOSTILE if value not in {"line\\nbreak", "\ud800", "\x7f"}])
def test_a_value_that_activation_would_change_is_refused(value: str) -> None:
    """A quote in a value would run code at `conda activate`: its scripts do not escape."""
    import json

    with pytest.raises(FileFormatError, match=r"^f\.yml:1:13: the value of A would not survive") as caught:
        fragment(f"variables: {{A: {json.dumps(value)}}}")
    assert "conda activate" in report(caught.value)


TEMPLATES = {"bash": "export A='{}'", "sh": "export A='{}'"}


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_every_accepted_value_survives_the_shells_quotes(value: str) -> None:
    """What passes the check is the same bytes behind conda's `export NAME='VALUE'` template."""
    try:
        check_variable_value("A", value)
    except Unreadable:
        return
    for shell, template in TEMPLATES.items():
        if shutil.which(shell):
            script = template.format(value) + '; printf %s "$A"'
            done = subprocess.run([shell, "-c", script], capture_output=True, check=True)
            assert done.stdout == value.encode()


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "BASH_ENV", "PIP_INDEX_URL",
                                  "CONDA_OVERRIDE_CUDA", "HTTPS_PROXY", "GIT_SSH_COMMAND"])  # fmt: skip
def test_loader_and_interpreter_variables_need_a_word_in_the_same_file(name: str) -> None:
    """Said, it is fine; unsetting one needs no permission."""
    with pytest.raises(FileFormatError) as caught:
        fragment(f"variables: {{{name}: /x}}")
    assert f"llmenv: {{allow_variables: [{name}]}}" in report(caught.value)
    allowed = fragment(f"variables: {{{name}: /x}}\nllmenv: {{allow_variables: [{name}]}}")
    assert [(one.name, one.value) for one in allowed.variables] == [(name, "/x")]
    assert fragment(f"variables: {{{name}: null}}").variables[0].value is None


def test_path_is_condas_own() -> None:
    """In an environment conda ignores it, so a permission would change nothing."""
    with pytest.raises(FileFormatError, match="PATH is set by conda itself"):
        fragment("variables: {PATH: /x}\nllmenv: {allow_variables: [PATH]}")


@pytest.mark.parametrize("name", ["A\\n", "A B", "A=B", "", "Ä", "A" * 200, "$(id)"])
def test_hostile_names_are_refused(name: str) -> None:
    """Matched whole, trailing line feed included."""
    with pytest.raises(FileFormatError, match=r"^f\.yml:1:13: variable name"):
        fragment(f'variables: {{"{name}": 1}}')


def test_a_placeholder_is_no_value() -> None:
    """What an export left in place of a token would be used literally."""
    with pytest.raises(FileFormatError, match="placeholder"):
        fragment("variables: {HF_TOKEN: <TOKEN>}")


@pytest.mark.parametrize("value", ["[1, 2]", "{a: 1}"])
def test_a_value_that_is_no_single_value_is_refused(value: str) -> None:
    """An environment variable is text."""
    with pytest.raises(FileFormatError, match="must be one value"):
        fragment(f"variables: {{A: {value}}}")
