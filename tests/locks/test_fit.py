"""Whether a lock still fits what is asked for, and in what words it is told if it does not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from conda_llmenv.compose import merge
from conda_llmenv.compose.input_hash import input_hash
from conda_llmenv.locks.fit import changes
from conda_llmenv.locks.markers import applies
from conda_llmenv.locks.pip_fit import pip_misfits
from conda_llmenv.model import Channel, EnvSpec, Lock, LockedPlatform, PipArtifact, PipPackage, Record
from tests.compose.files import fragment

ASKED = """\
channels: [pytorch, conda-forge]
dependencies:
  - python >=3.10
  - numpy
  - pip
  - pip:
      - --index-url https://h.example/simple
      - --extra-index-url https://a.example/simple
      - --extra-index-url https://b.example/simple
      - trl>=0.9
      - -c constraints.txt
variables:
  NCCL_DEBUG: INFO
  HF_TOKEN: hf_canary
"""
FILES = {"constraints.txt": "idna==3.7\n"}


def asked(text: str = ASKED, files: dict[str, str] | None = None) -> EnvSpec:
    """Return what a file asks for."""
    return merge([fragment(text, "team", files=files or FILES)])


def locked(spec: EnvSpec) -> Lock:
    """Return the lock that is written for it, without its packages."""
    return Lock(
        (LockedPlatform("linux-64"),),
        channels=tuple(Channel(one.name, f"https://conda.anaconda.org/{one.name}") for one in spec.channels),
        nodefaults=spec.nodefaults is not None,
        specs=tuple(text for one in spec.specs for text in one.texts),
        pip_options=tuple(option.text for option in spec.pip.options),
        variables={
            "PYTHONNOUSERSITE": "1",
            **{one.name: one.value for one in spec.variables if one.value is not None and one.name != "HF_TOKEN"},
        },
        input_hash=input_hash(spec),
    )


def test_an_unchanged_request_fits() -> None:
    """However it is written, and wherever a lock of another tool says nothing of it."""
    assert changes(asked(), locked(asked())) == ()
    assert changes(asked("# why\n" + ASKED.replace("trl>=0.9", "TRL >= 0.9")), locked(asked())) == ()
    theirs = replace(locked(asked()), input_hash="", specs=("something else",))
    assert changes(asked(), theirs) == ()


CHANGES = [
    pytest.param(
        "- python >=3.10",
        "- python >=3.11",
        ["python >=3.11 is asked for now (team.yml:3), and python >=3.10 was"],
        id="a bound",
    ),
    pytest.param("  - numpy\n", "  - numpy\n  - six\n", ["six is asked for now (team.yml:5)"], id="one more"),
    pytest.param("  - numpy\n", "", ["numpy is no longer asked for"], id="one less"),
    pytest.param(
        "pytorch, conda-forge",
        "conda-forge, pytorch",
        ["channels are conda-forge > pytorch now (team.yml:1), and were pytorch > conda-forge"],
        id="the order of channels",
    ),
    pytest.param("forge]", "forge, nodefaults]", ["nodefaults is asked for now (team.yml:1)"], id="nodefaults"),
    pytest.param(
        "https://h.example",
        "https://other.example",
        [
            "--index-url https://other.example/simple is asked for now (team.yml:7)",
            "--index-url https://h.example/simple is no longer asked for",
        ],
        id="the index",
    ),
    pytest.param(
        "      - --extra-index-url https://a.example/simple\n      - --extra-index-url https://b.example/simple\n",
        "      - --extra-index-url https://b.example/simple\n      - --extra-index-url https://a.example/simple\n",
        [
            "option lines stand in another order now (team.yml:7, team.yml:8, team.yml:9)",
        ],
        id="the order of indexes",
    ),
    pytest.param(": INFO", ": WARN", ["NCCL_DEBUG is WARN now (team.yml:13), and was INFO"], id="a variable"),
    pytest.param("variables:", "variables:\n  A: x", ["A is x now (team.yml:13), and was not set"], id="a new one"),
    pytest.param("  NCCL_DEBUG: INFO\n", "", ["NCCL_DEBUG is no longer set"], id="a variable less"),
    pytest.param(
        "variables:",
        "variables:\n  PYTHONNOUSERSITE: null",
        ["PYTHONNOUSERSITE is no longer set (team.yml:13)"],
        id="a usual variable that is taken away",
    ),
    pytest.param(
        "- trl>=0.9", "- trl>=0.10", ["the pip section, an included file or a setting has changed"], id="a requirement"
    ),
]


@pytest.mark.parametrize(("old", "new", "told"), CHANGES)
def test_each_change_is_one_sentence_with_its_line(old: str, new: str, told: list[str]) -> None:
    """What is asked for now is in a file; what is gone is in none."""
    now = asked(ASKED.replace(old, new))
    assert list(changes(now, locked(asked()))) == told


def test_an_included_file_that_changed() -> None:
    """Its lines are in no lock, so no more can be said."""
    now = asked(files={"constraints.txt": "idna==3.8\n"})
    assert changes(now, locked(asked())) == ("the pip section, an included file or a setting has changed",)


def test_the_layers_that_ask_are_named() -> None:
    """Each with its line."""
    layers = [fragment("dependencies: [numpy >=1]", "base"), fragment("dependencies:\n- numpy <3", "team")]
    (told,) = changes(merge(layers), locked(asked("dependencies: [numpy >=1]")))
    assert told == "numpy >=1,<3 is asked for now (base.yml:1, team.yml:2), and numpy >=1 was"


def test_channels_by_address() -> None:
    """A lock of addresses, with the configured channels behind them, has the same channels."""
    lock = locked(asked())
    addresses = tuple(Channel(one.url, one.url) for one in lock.channels)
    more = (*addresses, Channel("defaults", "https://repo.anaconda.com/pkgs/main"))
    now = asked(ASKED.replace("- numpy", "- numpy >=2"))
    for channels in (addresses, more):
        (told,) = changes(now, replace(lock, channels=channels))
        assert told.startswith("numpy >=2 is asked for now")


def test_no_secret_is_told() -> None:
    """Neither a variable's nor an address's; what differs in nothing else is no change."""
    text = ASKED.replace("hf_canary", "hf_canary2").replace("https://a.e", "https://me:canary@a.e")
    assert changes(asked(text), locked(asked())) == ()
    told = changes(
        asked(text.replace("a.example", "z.example").replace("numpy", "https://u:canary@h/c::numpy")), locked(asked())
    )
    assert len(told) > 1
    assert "canary" not in repr(told)


def record(name: str, version: str, *depends: str) -> Record:
    """Return a record."""
    return Record(name, version, "0", 0, "linux-64", "", "", "", depends=depends)


COMMIT, OTHER = "0a" * 20, "1b" * 20
FILE = "https://h.example/files/wheelhouse-1.0-py3-none-any.whl"
PLATFORM = LockedPlatform(
    "linux-64",
    (record("python", "3.11.7"), record("pytorch", "2.6.0", "python >=3.11"), record("zstd", "1.5.7", "libzlib")),
    (
        PipPackage("flash-attn", None, "flash-attn==2.7.4"),
        PipPackage("local", "2.5.1+cu124", "local==2.5.1+cu124"),
        PipPackage("main", "1.0", f"main @ git+https://h.example/main.git@{COMMIT}", direct=True),
        PipPackage("odd", "not a version", "odd===not-a-version"),
        PipPackage("pre", "1.0rc1", "pre==1.0rc1"),
        PipPackage("trl", "0.9.4", "trl==0.9.4"),
        PipPackage("wheelhouse", "1.0", "wheelhouse==1.0", url=FILE, artifacts=(PipArtifact(FILE),)),
    ),
)

FITS = [
    "trl",
    "TRL>=0.9",
    "trl[peft, vllm]>=0.9,<1",
    "Flash_Attn==2.7.4",
    "local==2.5.1",
    "pre",
    "odd",
    "torch>=2.5",
    "missing ; sys_platform == 'win32'",
    "missing ; python_version < '3.11'",
    "missing ; platform_machine == 'aarch64'",
    "missing ; implementation_name == 'pypy'",
    f"main @ git+https://h.example/main@{COMMIT}",
    "main @ git+https://me:token@h.example/main.git",
    "git+https://h.example/main@some/branch#egg=main",
    "main @ git+https://h.example/main ; sys_platform == 'linux'",
    FILE,
    f"wheelhouse @ {FILE}#sha256={'a' * 64}",
    "./folder",
]
MISFITS = [
    ("missing", "is not in the lock"),
    ("missing ; python_version >= '3.11'", "is not in the lock"),
    ("missing ; sys_platform == 'linux' and platform_machine == 'x86_64'", "is not in the lock"),
    ("trl>=0.10", "is not what is locked: 0.9.4"),
    ("trl[peft]==0.9", "is not what is locked: 0.9.4"),
    ("local==2.5.1+cpu", "is not what is locked: 2.5.1+cu124"),
    ("torch>=2.7", "is not in the lock, which has conda's pytorch 2.6.0"),
    ("zstd", "is not in the lock"),
    (f"main @ git+https://h.example/main@{OTHER}", f"is not what is locked: 1.0 from git+https://h.example/main.git@{COMMIT}"),
    ("main @ git+https://h.example/fork", f"is not what is locked: 1.0 from git+https://h.example/main.git@{COMMIT}"),
    ("main @ git+https://h.example/main#subdirectory=x", f"is not what is locked: 1.0 from git+https://h.example/main.git@{COMMIT}"),
    ("trl @ https://h.example/trl-0.9.4-py3-none-any.whl", "is not what is locked: 0.9.4 from index"),
    ("trl @ git+https://h.example/trl", "is not what is locked: 0.9.4 from index"),
]  # fmt: skip


def told(line: str, platform: LockedPlatform = PLATFORM) -> list[str]:
    """Return what is told of one line of a pip section."""
    text = (
        f"dependencies:\n- python\n- pip\n- pip:\n  - {line!r}\n"
        if "'" not in line
        else (f'dependencies:\n- python\n- pip\n- pip:\n  - "{line}"\n')
    )
    spec = merge([fragment(text, "team", files={"folder/pyproject.toml": ""})])
    return list(pip_misfits(spec.pip.requirements, platform))


@pytest.mark.parametrize("line", FITS)
def test_what_is_locked_fits(line: str) -> None:
    """Whatever the spelling, extras, markers and addresses; what nobody can tell is not held against a lock."""
    assert told(line) == []


@pytest.mark.parametrize(("line", "why"), MISFITS)
def test_what_is_not_locked_is_told(line: str, why: str) -> None:
    """With file and line, and what is locked instead."""
    (sentence,) = told(line)
    assert sentence.endswith(f"(team.yml:5) {why}")


def test_a_token_is_not_told() -> None:
    """In neither address."""
    (sentence,) = told(f"main @ git+https://me:canary@h.example/fork@{COMMIT}")
    assert "canary" not in sentence


@pytest.mark.parametrize(
    ("subdir", "marker"),
    [
        ("linux-64", "sys_platform == 'linux' and platform_machine == 'x86_64' and os_name == 'posix'"),
        ("linux-aarch64", "platform_system == 'Linux' and platform_machine == 'aarch64'"),
        ("osx-arm64", "sys_platform == 'darwin' and platform_machine == 'arm64'"),
        ("osx-64", "platform_system == 'Darwin' and platform_machine == 'x86_64'"),
        ("win-64", "sys_platform == 'win32' and platform_machine == 'AMD64' and os_name == 'nt'"),
    ],
)
def test_a_marker_is_that_of_the_platform_not_of_this_machine(subdir: str, marker: str) -> None:
    """Every platform of a lock is judged by itself."""
    python = (record("python", "3.12.1"),)
    assert applies(f"{marker} and python_full_version == '3.12.1' and extra == ''", LockedPlatform(subdir, python))
    other = LockedPlatform("linux-ppc64le", python)
    assert not applies(marker, other)


@pytest.mark.parametrize("marker", ["", "python_version > 'x'", "platform_release >= '5'", "nonsense", "extra == 'a'"])
def test_a_marker_nobody_can_judge(marker: str) -> None:
    """Holds where the platform or Python is unknown, or it is none; and is no crash anywhere."""
    for platform in (LockedPlatform("noarch"), LockedPlatform("linux-64")):
        assert applies(marker, platform)
    applies(marker, PLATFORM)
