"""Which engines there are and which one is chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
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
    assert choice.reason == f"rattler, first usable: py-rattler {version('py-rattler')}"
    assert choose("rattler").reason == "rattler, asked for"
    assert choose("rattler", by="configured").reason == "rattler, configured"


def test_an_unknown_engine_lists_the_known_ones() -> None:
    """A typing mistake is answered with what can be typed."""
    with pytest.raises(InputError, match="'ratler'") as caught:
        choose("ratler")
    assert all(name in caught.value.hint for name in ("auto", *ENGINES))


def test_every_engine_tells_whether_it_can_run() -> None:
    """`llmenv info` shows the whole table, whatever is installed."""
    states = availability()
    assert list(states) == ["rattler", "conda", "libmamba"]
    assert states["rattler"].usable
    assert all(state.reason for state in states.values())


BROKEN = {
    "raise ImportError('libfoo.so.3: cannot open shared object file')": "cannot be loaded: libfoo.so.3: cannot open",
    "import nosuchmodule": "lacks a module it needs: nosuchmodule",
    "raise SystemExit(3)": "cannot be loaded: 3",
    "raise RuntimeError": "cannot be loaded: RuntimeError",
}


@pytest.mark.parametrize("code", BROKEN)
@pytest.mark.parametrize(
    ("package", "engine"), [("rattler", "rattler"), ("conda", "conda"), ("libmambapy", "libmamba")]
)
def test_a_broken_library_is_a_sentence(tmp_path: Path, package: str, engine: str, code: str) -> None:
    """Whatever happens while a library is loaded, the others are there and the reason is told."""
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(f"{code}\n")
    told = run_with(
        tmp_path, f"from conda_llmenv.engines.registry import availability as a; print(a()['{engine}'].reason)"
    )
    assert BROKEN[code] in told


def test_ctrl_c_while_a_library_is_loaded_is_no_broken_library(tmp_path: Path) -> None:
    """Whoever asks for the end gets it."""
    (tmp_path / "rattler").mkdir()
    (tmp_path / "rattler" / "__init__.py").write_text("raise KeyboardInterrupt\n")
    code = (
        "from conda_llmenv.engines.registry import availability\n"
        "try: availability()\nexcept KeyboardInterrupt: print('ended')"
    )
    assert run_with(tmp_path, code) == "ended\n"


def test_a_missing_library_is_passed_over_with_its_reason(tmp_path: Path) -> None:
    """Without the embedded engine ``auto`` goes on, and where none is left it says why, of each."""
    for package in ("rattler", "conda", "libmambapy"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError('gone')\n")
    code = (
        "from conda_llmenv.engines.registry import choose\nfrom conda_llmenv.errors import InputError\n"
        "try: choose()\nexcept InputError as error: print(error.message, *error.details, sep='|')"
    )
    told = run_with(tmp_path, code).strip().split("|")
    assert told[0] == "no engine can run here"
    assert len(told) == 1 + len(ENGINES)


def test_what_only_conda_honours_asks_for_conda() -> None:
    """A setting the embedded engine cannot honour goes to conda where it is, and is passed over where it is not."""
    choice = choose("auto", Settings(conda_only=("client_ssl_cert (~/.condarc:3)",)))
    if availability()["conda"].usable:
        assert choice.reason == "conda, since only it honours client_ssl_cert (~/.condarc:3)"
    else:
        assert choice.engine.name == "rattler"


def run_with(folder: Path, code: str) -> str:
    """Return what code prints in a Python that finds the modules of a folder first."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{folder}{os.pathsep}{Path(__file__).parents[2]}", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
