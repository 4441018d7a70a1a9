"""``environment.lock.yml``: what it says, and what it must never say."""

from __future__ import annotations

from pathlib import Path

from conda_llmenv.compose import merge, read_fragment
from conda_llmenv.locks.environment_lock import write, write_asked
from conda_llmenv.locks.header import CREATE, FIRST_LINE, is_edited, read_head
from conda_llmenv.model import (
    AskedEnvironment,
    Channel,
    EnvSpec,
    Kind,
    Layer,
    Lock,
    LockedPlatform,
    PipPackage,
    Record,
    Source,
)


def record(name: str, version: str) -> Record:
    """Return a record with the least there is."""
    return Record(
        name, version, "0", 0, "linux-64", f"https://h.example/c/linux-64/{name}", "https://h.example/c", name
    )


LOCK = Lock(
    platforms=(
        LockedPlatform(
            "linux-64",
            (record("_openmp_mutex", "4.5"), record("numpy", "2.2.6"), record("python", "3.11.7")),
            (
                PipPackage("torch", "2.13.0", "torch==2.13.0"),
                PipPackage("x", "1.0", "x @ git+https://h.example/x@0a1b"),
            ),
        ),
    ),
    channels=(
        Channel("pytorch", "https://h.example/pytorch"),
        Channel("https://h.example/t/tk-abc/private", "https://h.example/private"),
        Channel("conda-forge", "https://h.example/conda-forge"),
    ),
    nodefaults=True,
    specs=("python >=3.10", "numpy"),
    pip_options=("--extra-index-url https://me:secret@h.example/simple",),
    variables={"NCCL_DEBUG": "INFO", "HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz0123456789", "COLON": "a: b"},
    facts={"tier": "a100", "python": "3.11.7", "odd": "two\nlines"},
    input_hash="sha256:0a",
)


def read(text: str) -> EnvSpec:
    """Return a lockfile as it is composed from."""
    source = Source("lock", "lock.yml", Path(), text.encode(), Kind.FRAGMENT, Layer.COMMAND_LINE)
    return merge((read_fragment(source, lambda _path: b"", lambda _path: True),))


def test_what_is_written_can_be_read_again() -> None:
    """Versions, channels in order, the pip section and variables come back."""
    spec = read(write(LOCK))
    assert {merged.name: merged.texts for merged in spec.specs if merged.name != "pip"} == {
        "python": ("python 3.11.7.*",),
        "numpy": ("numpy 2.2.6.*",),
        "_openmp_mutex": ("_openmp_mutex 4.5.*",),
    }
    assert [channel.name for channel in spec.channels] == ["pytorch", "https://h.example/private", "conda-forge"]
    assert spec.nodefaults is not None
    assert [requirement.text for requirement in spec.pip.requirements] == [
        "torch==2.13.0",
        "x @ git+https://h.example/x@0a1b",
    ]
    assert {variable.name: variable.value for variable in spec.variables} == {"NCCL_DEBUG": "INFO", "COLON": "a: b"}


def test_no_secret_is_written() -> None:
    """Tokens, passwords and secret variables are left out; the variable's name tells who has to set it."""
    text = write(LOCK)
    assert not any(secret in text for secret in ("tk-abc", "secret@", "hf_abc"))
    assert "# HF_TOKEN holds a secret and is left out" in text


def test_no_build_and_no_prefix_is_written() -> None:
    """Each conda package is one line ``name=version``, sorted."""
    lines = write(LOCK).splitlines()
    start = lines.index("dependencies:")
    assert lines[start + 1 : start + 5] == ["  - _openmp_mutex=4.5", "  - numpy=2.2.6", "  - python=3.11.7", "  - pip:"]
    assert not any(line.startswith(("name:", "prefix:")) for line in lines)


def test_the_head_tells_what_it_is_for() -> None:
    """A reader sees the tier before anything else, one fact a line whatever the fact holds; a program reads it back."""
    text = write(LOCK)
    first = [f"{FIRST_LINE} {CREATE}", "# tier:     a100", "# python:   3.11.7", "# odd:      two lines"]
    assert text.splitlines()[:4] == first
    head = read_head(text)
    assert (head.ours, head.specs, head.input_hash) == (True, LOCK.specs, "sha256:0a")
    assert head.facts == {"tier": "a100", "python": "3.11.7", "odd": "two lines", "platform": "linux-64"}


def test_an_edit_shows() -> None:
    """A changed, added or dropped line shows; comments, blank lines and line ends do not. No digest: nothing shows."""
    text = write(LOCK)
    assert not is_edited(text)
    assert not is_edited(text.replace("\n", "\r\n"))
    assert not is_edited(text.replace("dependencies:", "\n# why not\ndependencies:"))
    assert is_edited(text.replace("numpy=2.2.6", "numpy=2.2.7"))
    assert is_edited(text.replace("  - numpy=2.2.6\n", ""))
    assert not is_edited("\n".join(line for line in text.splitlines() if not line.startswith("# digest")))


def test_an_empty_environment_is_a_valid_file() -> None:
    """Nothing at all still reads as an environment file."""
    assert read(write(Lock((LockedPlatform("linux-64"),)))).specs == ()


def test_what_was_asked_is_written_unpinned() -> None:
    """The same form without a head and without versions nobody asked for."""
    text = write_asked(AskedEnvironment(("python >=3.10", "six"), channels=("conda-forge",)))
    assert text == "channels:\n  - conda-forge\ndependencies:\n  - python >=3.10\n  - six\n"


def test_a_head_that_somebody_broke_says_nothing() -> None:
    """What is asked for is left open where its line is no list, even one that no reader of JSON would survive."""
    for asked in ("{}", "[", "[" * 100_000):
        assert read_head(f"{FIRST_LINE}\n# asked: {asked}\n").specs == ()
