"""What an environment says about itself, however broken the file is (reliability row 21)."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.errors import PrefixError
from conda_llmenv.model import EnvState, Phase
from conda_llmenv.plain_files import write_file
from conda_llmenv.prefix.state import SPEC_FILE, STATE_FILE, read_spec, read_state, write_state

BROKEN = {
    "empty": b"",
    "half": b'{"version": 1, "phase": "crea',
    "binary": bytes(range(256)),
    "list": b"[1, 2]",
    "number": b"3",
    "no version": b'{"phase": "created"}',
    "future": b'{"version": 2, "phase": "created"}',
    "odd version": b'{"version": "1"}',
    "unknown phase": b'{"version": 1, "phase": "dancing"}',
    "phase of a wrong kind": b'{"version": 1, "phase": ["created"]}',
    "owner of a wrong kind": b'{"version": 1, "phase": "creating", "owner": 3}',
    "facts of a wrong kind": b'{"version": 1, "phase": "created", "facts": []}',
    "text of a wrong kind": b'{"version": 1, "phase": "created", "tier": 3}',
    "deep": b"[" * 200_000,
}


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return a prefix with our folder in it."""
    (tmp_path / STATE_FILE).parent.mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_state_is_named(content: bytes, prefix: Path) -> None:
    """One sentence with the path and what to do, never a traceback of something else."""
    (prefix / STATE_FILE).write_bytes(content)
    with pytest.raises(PrefixError) as caught:
        read_state(prefix)
    assert str(prefix / STATE_FILE) in caught.value.message
    assert caught.value.hint


def test_a_folder_in_place_of_the_file_is_named(prefix: Path) -> None:
    """Whatever is there."""
    (prefix / STATE_FILE).mkdir()
    with pytest.raises(PrefixError, match="cannot be read"):
        read_state(prefix)


def test_an_environment_of_others_has_no_state(tmp_path: Path) -> None:
    """That is no error."""
    assert read_state(tmp_path) is None
    assert read_spec(tmp_path) is None
    (tmp_path / "conda-meta").touch()
    assert read_state(tmp_path) is None


def test_a_broken_spec_is_named(prefix: Path) -> None:
    """As the state is."""
    (prefix / SPEC_FILE).write_bytes(b"{")
    with pytest.raises(PrefixError, match=r"spec\.json"):
        read_spec(prefix)


def test_a_failed_write_leaves_the_old_file(prefix: Path) -> None:
    """What cannot be written whole is not written at all (row 6)."""
    write_state(prefix, EnvState(Phase.CREATED, "now"))
    with pytest.raises(ValueError, match="JSON"):
        write_state(prefix, EnvState(Phase.FAILED, "now", facts={"x": float("nan")}))
    state = read_state(prefix)
    assert state is not None
    assert state.phase is Phase.CREATED
    assert [path.name for path in (prefix / STATE_FILE).parent.iterdir()] == ["state.json"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """Somebody's link at the name of a file of ours does not make us write elsewhere (row 32)."""
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "state").symlink_to(tmp_path / "victim")
    write_file(tmp_path / "state", b"ours")
    assert (tmp_path / "victim").read_text() == "precious"
    assert (tmp_path / "state").read_bytes() == b"ours"


def test_odd_text_survives(prefix: Path) -> None:
    """Bytes of a path that are no UTF-8, and characters of every plane."""
    write_state(prefix, EnvState(Phase.CREATED, "now", reason="a \udcff b 😀", facts={"ключ": None}))
    state = read_state(prefix)
    assert state is not None
    assert (state.reason, state.facts) == ("a \udcff b 😀", {"ключ": None})
