"""Variables that conda's activation sets: byte for byte, or refused."""

from __future__ import annotations

import json
import shutil
import string
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conda_llmenv.activation import UNSET, survives_activation
from conda_llmenv.errors import InputError, PrefixError
from conda_llmenv.prefix.variables import STATE, read_variables, write_variables

TEMPLATES = {
    "bash": "export {}='{}'",
    "dash": "export {}='{}'",
    "zsh": "export {}='{}'",
    "fish": 'set -gx {} "{}"',
    "tcsh": 'setenv {} "{}"',
}
"""How conda writes a variable for each shell (conda/activate.py); the value is put in as it is."""


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return an environment without variables."""
    (tmp_path / "conda-meta").mkdir()
    return tmp_path


def activated(shell: str, value: str) -> bytes:
    """Return what a program sees after the shell has read the line that conda writes."""
    script = TEMPLATES[shell].format("LLMENV_TEST", value) + "\nexec printenv LLMENV_TEST\n"
    done = subprocess.run([shell, "-c", script], capture_output=True, check=False, timeout=30)
    return done.stdout.removesuffix(b"\n")


@pytest.mark.parametrize("shell", TEMPLATES)
@settings(max_examples=60, deadline=None)
@given(value=st.text(alphabet=[*string.printable, "é", "环", "😀", "\u00a0", "\u200b"], min_size=1, max_size=12))
def test_what_is_allowed_survives(shell: str, value: str) -> None:
    """A value that is not refused comes out of every shell at hand as it went in (case 26, row 35)."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    if survives_activation(value) is None:
        assert activated(shell, value) == value.encode()


CHANGED = [
    *(
        "it's",
        'a "b"',
        "$(id)",
        "${HOME}",
        "$HOME",
        "`id`",
        "a\nb",
        "a\rb",
        "a\0b",
        "a\\b",
        "wow!",
        "\x1b[31m",
        "a\u202eb",
    ),
    UNSET,
]


@pytest.mark.parametrize("value", CHANGED, ids=ascii)
def test_what_a_shell_would_change_is_refused(value: str, prefix: Path) -> None:
    """The message has the variable's name and the reason; nothing is written (row 35)."""
    assert survives_activation(value)
    with pytest.raises(InputError) as caught:
        write_variables(prefix, {"GOOD": "1", "NAME": value})
    assert [detail.partition(":")[0] for detail in caught.value.details] == ["NAME"]
    assert caught.value.exit_code == 2
    assert not (prefix / STATE).exists()


ORDINARY = ["", "1", "a b", "expandable_segments:True,max_split_size_mb:512", "/a/b:/c", "a=b;c|d&e*?[x]{y}~#%^<>()"]


@pytest.mark.parametrize("value", ORDINARY)
def test_ordinary_values_are_taken(value: str, prefix: Path) -> None:
    """What people set in practice."""
    write_variables(prefix, {"NAME": value})
    assert read_variables(prefix)["NAME"] == value


@pytest.mark.parametrize("name", ["lower", "bad-name", "1A", "", "A B", "PATH", "A\n", "Ä", "A=B"], ids=ascii)
def test_bad_names_are_refused(name: str, prefix: Path) -> None:
    """Names get upper case at activation, so a lower-case one would not be what was written (case 26)."""
    with pytest.raises(InputError):
        write_variables(prefix, {name: "1"})


def test_all_mistakes_come_at_once(prefix: Path) -> None:
    """One report, not one after the other."""
    with pytest.raises(InputError) as caught:
        write_variables(prefix, {"a": "1", "B": "'", "PATH": "x"})
    assert len(caught.value.details) == 3


def test_conda_reads_what_is_written(prefix: Path) -> None:
    """The file has conda's format, user packages are off, and null takes a variable away."""
    write_variables(prefix, {"A": "1", "B": "ü", "GONE": None})
    assert json.loads((prefix / STATE).read_text(encoding="utf-8")) == {
        "version": 1,
        "env_vars": {"PYTHONNOUSERSITE": "1", "A": "1", "B": "ü"},
    }
    write_variables(prefix, {"A": None, "PYTHONNOUSERSITE": None})
    assert read_variables(prefix) == {"B": "ü"}


def test_what_others_wrote_is_kept(prefix: Path) -> None:
    """Entries of conda and keys we do not know stay; what it calls unset is not shown."""
    (prefix / STATE).write_text(json.dumps({"version": 1, "env_vars": {"OLD": "x", "OFF": UNSET}, "more": [1]}))
    write_variables(prefix, {"A": "1"})
    written = json.loads((prefix / STATE).read_text())
    assert written["more"] == [1]
    assert written["env_vars"] == {"PYTHONNOUSERSITE": "1", "OLD": "x", "OFF": UNSET, "A": "1"}
    assert "OFF" not in read_variables(prefix)


BROKEN = [b"", b"{", b"[]", b"\xff", b'{"env_vars": []}', b'{"env_vars": {"A": 1}}', b"[" * 100_000]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_file_is_named(content: bytes, prefix: Path) -> None:
    """Never overwritten, never a crash (row 21)."""
    (prefix / STATE).write_bytes(content)
    for action in (lambda: read_variables(prefix), lambda: write_variables(prefix, {"A": "1"})):
        with pytest.raises(PrefixError, match="conda-meta/state"):
            action()
    assert (prefix / STATE).read_bytes() == content
