"""What the head of a lock carries: covered by its digest, and held to what a fragment may say."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from conda_llmenv.errors import FileFormatError
from conda_llmenv.locks.header import is_edited, read_head
from conda_llmenv.locks.registry import FORMATS
from tests.locks.samples import LOCK

CARRYING = replace(
    LOCK,
    specs=("python", "numpy >=2"),
    pip_options=("--extra-index-url https://h.example/simple",),
    variables={"GREETING": "hello", "LD_LIBRARY_PATH": "/opt/lib"},
    nodefaults=True,
    facts={"tier": "a100"},
    input_hash="sha256:0a",
)

LABELS = ("asked", "inputs", "variables", "allowed", "options", "nodefaults")
WITH_HEAD = ("pixi", "conda-lock", "explicit")


def edited(text: str, label: str, change: Callable[[str], str]) -> str:
    """Return a lock with the line of a label changed."""
    lines = text.split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith(f"# {label}:"))
    return "\n".join((*lines[:at], change(lines[at]), *lines[at + 1 :]))


def explicit_with(label: str, value: str) -> str:
    """Return an explicit list of ours in which a line of the head says something else."""
    return edited(FORMATS["explicit"].write(CARRYING), label, lambda _line: f"# {label}: {value}")


@pytest.mark.parametrize("name", WITH_HEAD)
@pytest.mark.parametrize("label", LABELS)
def test_an_edit_of_what_the_head_carries_shows(name: str, label: str) -> None:
    """What takes part in making the environment is under the digest, wherever in the file it stands."""
    text = FORMATS[name].write(CARRYING)
    assert not is_edited(text)
    assert is_edited(edited(text, label, lambda line: f"{line[:-1]}x{line[-1]}"))
    assert is_edited(edited(text, label, lambda _line: "# a remark"))


@pytest.mark.parametrize("name", WITH_HEAD)
def test_facts_for_people_and_remarks_are_free(name: str) -> None:
    """A note in the head, a changed fact, an empty line and other line ends are no edits."""
    text = FORMATS[name].write(CARRYING)
    assert not is_edited(edited(text, "tier", lambda line: f"{line}, our big one\n# for the team"))
    assert not is_edited(f"{text}\n# the end\n\n")
    assert not is_edited(text.replace("\n", "\r\n"))


@pytest.mark.parametrize(
    ("before", "after"),
    [("pip six @ ", "pip seven @ "), ("#sha256=cc", "#sha256=dd"), ("# pip six", "# six"), ("# pip six", "# pip  six")],
)
def test_an_edit_of_a_pip_line_shows(before: str, after: str) -> None:
    """``# pip`` lines of an explicit list install something: exchanging, breaking or dropping one is an edit."""
    text = FORMATS["explicit"].write(CARRYING)
    assert before in text
    assert is_edited(text.replace(before, after))
    assert is_edited("\n".join(line for line in text.split("\n") if not line.startswith("# pip six")))


def test_everything_carried_comes_back() -> None:
    """A variable that needs permission comes with it, as the environment that was locked had it."""
    for name in (*WITH_HEAD, "environment"):
        lock = FORMATS[name].read(FORMATS[name].write(CARRYING), name)
        assert lock.variables == CARRYING.variables
        assert lock.specs == CARRYING.specs
        assert lock.nodefaults


@pytest.mark.parametrize(
    ("label", "value", "reason"),
    [
        ("variables", '{"GREETING": ', "not written as a JSON object"),
        ("variables", '{"GREETING": 1}', "not written as a JSON object"),
        ("variables", "[" * 100_000, "not written as a JSON object"),
        ("variables", '{"LD_PRELOAD": "/tmp/x.so"}', "LD_PRELOAD changes how programs are found or loaded"),
        ("variables", '{"PYTHONPATH": "/tmp"}', "PYTHONPATH changes how programs are found or loaded"),
        ("variables", '{"A;touch x": "1"}', "variable name 'A;touch x' is not allowed"),
        ("variables", '{"greeting": "1"}', "has lower-case letters"),
        ("variables", '{"PATH": "/tmp"}', "set by conda itself"),
        ("variables", '{"GREETING": "$(touch x)"}', "would not survive `conda activate`"),
        ("variables", '{"GREETING": "a\\nb"}', "would not survive `conda activate`"),
        ("allowed", '"LD_LIBRARY_PATH"', "not written as a JSON list"),
        ("allowed", "[]", "LD_LIBRARY_PATH changes how programs are found or loaded"),
        ("asked", "{}", "not written as a JSON list"),
        ("asked", '["numpy >>1"]', "numpy >>1"),
        ("options", "[1]", "not written as a JSON list"),
        ("options", '["--run-this x"]', "is no option of a requirements file"),
        ("options", '["requests"]', "is no option line"),
        ("inputs", "yes", "is no hash of inputs"),
        ("nodefaults", "maybe", "can only be true"),
    ],
)
def test_what_is_broken_or_not_allowed_is_told_with_its_line(label: str, value: str, reason: str) -> None:
    """Nothing is dropped in silence, and a lock may set no more than a fragment may."""
    text = explicit_with(label, value)
    wanted = "variables" if reason.startswith("LD_LIBRARY_PATH") else label
    number = next(at for at, line in enumerate(text.split("\n"), 1) if line.startswith(f"# {wanted}:"))
    with pytest.raises(FileFormatError) as caught:
        FORMATS["explicit"].read(text, "l")
    told = "\n".join((caught.value.message, *caught.value.details))
    assert f"l:{number}: " in told
    assert reason in told


def test_a_label_that_stands_there_twice_is_refused() -> None:
    """Nobody has to know which of two lines holds."""
    text = edited(FORMATS["pixi"].write(CARRYING), "variables", lambda line: f"{line}\n{line}")
    with pytest.raises(FileFormatError, match="a second line `# variables:`"):
        FORMATS["pixi"].read(text, "l")


@pytest.mark.parametrize("line", ["# pip --index-url=https://h.example/ @ x", "# pip six", "# pip six @ two words"])
def test_a_malformed_pip_line_is_refused(line: str) -> None:
    """A line that says ``pip`` and nothing that can be installed is told, not skipped."""
    text = FORMATS["explicit"].write(CARRYING).rstrip("\n") + f"\n{line}\n"
    with pytest.raises(FileFormatError) as caught:
        FORMATS["explicit"].read(text, "l")
    assert str(caught.value).startswith(f"l:{text.count(chr(10))}: ")
    assert "is no distribution of pip" in str(caught.value)


def test_a_sentence_about_pip_in_another_tools_list_is_a_comment() -> None:
    """Only a line with an address is held to the form there."""
    url = "https://h.example/c/linux-64/a-1-0.conda"
    lock = FORMATS["explicit"].read(f"# pip is not for this\n@EXPLICIT\n{url}\n", "l")
    assert lock.platforms[0].pip == ()
    with pytest.raises(FileFormatError, match=r"l:2: .* is no distribution of pip"):
        FORMATS["explicit"].read(f"@EXPLICIT\n# pip -r x @ y\n{url}\n", "l")


def test_the_first_line_says_what_the_file_is_good_for() -> None:
    """``create --lock`` is named where it works, pip where it does not."""
    for entry in FORMATS.values():
        first = entry.write(replace(CARRYING, platforms=LOCK.platforms)).split("\n")[0]
        assert ("create --lock" in first) is entry.creates
        assert ("pip install" in first) is not entry.creates
        assert read_head(f"{first}\n").ours
