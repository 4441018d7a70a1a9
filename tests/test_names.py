"""Names that reach the disk or a shell are matched whole, before anything is written."""

from __future__ import annotations

import re

import pytest

from conda_llmenv.errors import InputError
from conda_llmenv.names import SHOWN, check_name

NOBODYS = [
    "",
    ".",
    "..",
    "a..b",
    ".hidden",
    "-x",
    "--user",
    "_x",
    "a\n",
    "a\r\n",
    "\na",
    "a\0",
    "a b",
    " a",
    "a/b",
    "../a",
    "/etc",
    "a\\b",
    "~root",
    "$HOME",
    "$(id)",
    "`id`",
    "a;b",
    "a|b",
    "a*",
    "a'b",
    'a"b',
    "a\tb",
    "\x1b[31m",
    "ä",
    "é".encode().decode("latin-1"),
    "\uff41",
    "\u0430",
    "٣",
    "a\u200b",
    "a\u202eb",
    "a\ud800",
    "x" * 65,
    "x" * 300,
]
"""Refused as a name of any kind that becomes a file or folder."""


@pytest.mark.parametrize("kind", ["environment", "tier", "recipe", "fragment", "kernel"])
@pytest.mark.parametrize("name", NOBODYS, ids=lambda name: ascii(name[:20]))
def test_a_hostile_name_is_refused(kind: str, name: str) -> None:
    """With the rule as the next step, and with nothing in the message that a terminal would obey."""
    with pytest.raises(InputError) as caught:
        check_name(kind, name)
    assert caught.value.exit_code == 2
    assert caught.value.message.isascii()
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 6 * SHOWN + 60
    assert "letters, digits" in caught.value.hint


@pytest.mark.parametrize("name", ["A", "Python3", "a+b"])
def test_a_kernel_name_is_lower_case(name: str) -> None:
    """Jupyter looks kernels up in lower case, so another one would not be found by the name it was given."""
    with pytest.raises(InputError, match=f"kernel name '{re.escape(name)}' is not allowed"):
        check_name("kernel", name)


@pytest.mark.parametrize("name", ["a", "0", "sft-a100", "torch_2.13", "x" * 64, "a.b-c_d", "python3", "a."])
def test_an_ordinary_kernel_name_is_taken(name: str) -> None:
    """As it is, so that callers can use what comes back."""
    assert check_name("kernel", name) == name
