"""Which engines there are and which one is chosen."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conda_llmenv.engines.registry import ENGINES, availability, choose
from conda_llmenv.errors import InputError


@dataclass
class Settings:
    """The network part of a configuration."""

    ssl_verify: bool | str = True
    proxy_servers: dict[str, str] = field(default_factory=dict)
    remote_max_retries: int = 3
    remote_read_timeout_secs: float = 60.0
    conda_only: tuple[str, ...] = ()


def test_auto_says_which_engine_and_why() -> None:
    """A person who wonders gets a sentence."""
    choice = choose("auto", Settings())
    assert choice.engine.name == "rattler"
    assert choice.reason == "rattler, first usable: py-rattler is installed"
    assert choose("rattler").reason == "rattler, asked for"


def test_an_unknown_engine_lists_the_known_ones() -> None:
    """A typing mistake is answered with what can be typed."""
    with pytest.raises(InputError, match="'ratler'") as caught:
        choose("ratler")
    assert all(name in caught.value.hint for name in ("auto", *ENGINES))


def test_every_engine_tells_whether_it_can_run() -> None:
    """`llmenv info` shows the whole table."""
    assert {name: state.usable for name, state in availability().items()} == dict.fromkeys(ENGINES, True)
    assert all(state.reason for state in availability().values())


def test_looking_at_the_table_loads_no_library() -> None:
    """Listing engines costs no solver: rattler alone takes as long to load as the rest of the program."""
    code = (
        "import sys; from conda_llmenv.engines import registry as r; r.availability(); print('rattler' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
