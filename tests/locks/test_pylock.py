"""``pylock.toml``: what comes back, what other tools make of it, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from conda_llmenv.errors import FileFormatError, InputError
from conda_llmenv.locks.header import is_edited, read_head
from conda_llmenv.locks.pip_platforms import MARKERS
from conda_llmenv.locks.pip_targets import local_path_notices
from conda_llmenv.locks.pip_toml import loads, written
from conda_llmenv.locks.pylock import read, write
from conda_llmenv.model import Lock, LockedPlatform, PipArtifact, PipPackage
from conda_llmenv.pypi.uvcommand import find_uv
from tests.index.artifacts import sdist, source_files, wheel
from tests.index.fixtures import MakePrefix, installed
from tests.index.server import write_flat
from tests.locks.pip_locks import CANARY, PACKAGES, indexed, lock, package

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def refused(text: str) -> FileFormatError:
    """Return the error that a text is refused with."""
    with pytest.raises(FileFormatError) as caught:
        read(text, "p.toml")
    assert re.match(r"p\.toml:\d+(:\d+)?: ", caught.value.message)
    return caught.value


@settings(deadline=None)
@given(PACKAGES, st.sampled_from(sorted(MARKERS)))
def test_what_is_written_comes_back(packages: tuple[PipPackage, ...], subdir: str) -> None:
    """Every file, hash, size, address, commit and folder; and writing it again gives the same text."""
    made = lock(*packages, options=("--extra-index-url https://h.example/simple", "--pre"), subdir=subdir)
    text = write(made)
    found = read(text, "p.toml")
    assert found.platforms == (LockedPlatform(subdir, (), packages),)
    assert found.pip_options == made.pip_options
    assert text == write(made)
    python = made.platforms[0].records
    again = structs.replace(found, platforms=(structs.replace(found.platforms[0], records=python),))
    assert write(again) == text


@settings(deadline=None)
@given(PACKAGES)
def test_the_standards_own_reader_takes_it(packages: tuple[PipPackage, ...]) -> None:
    """``packaging.pylock`` validates what is written."""
    pylock = pytest.importorskip("packaging.pylock", reason="this packaging has no reader of pylock.toml")
    found = pylock.Pylock.from_dict(loads(write(lock(*packages))))
    found.validate()
    assert [str(one.name) for one in found.packages] == [one.name for one in packages]
    assert str(found.requires_python) == "==3.11.*"


@given(st.recursive(st.one_of(st.text(), st.integers(), st.booleans()), st.lists, max_leaves=5))
def test_any_value_is_written_as_toml(value: Any) -> None:
    """Quotes, control characters and any other text survive."""
    assert loads(f"key = {written({'a b': value})}") == {"key": {"a b": value}}


def test_lines_options_and_the_head_come_back() -> None:
    """Each package has the line its table starts at; the head is the one all our locks have."""
    one = indexed(wheel("one", "1.0"), version="1.0")
    two = indexed(wheel("two", "2.0"), version="2.0")
    text = write(lock(one, two, facts={"tier": "a100"}, specs=("python",), input_hash="sha256:0a"))
    found = read(text, "p.toml")
    lines = text.splitlines()
    assert {name: lines[number - 1 : number + 1] for name, number in found.lines.items()} == {
        "one": ["[[packages]]", 'name = "one"'],
        "two": ["[[packages]]", 'name = "two"'],
    }
    assert (found.facts, found.specs, found.input_hash) == ({"tier": "a100"}, ("python",), "sha256:0a")
    assert read_head(text).ours
    assert not is_edited(text)
    assert is_edited(text.replace("1.0-py3", "1.1-py3"))


def test_no_secret_is_written() -> None:
    """36: tokens in addresses of files, repositories, indexes and options are left out."""
    url = f"https://u:{CANARY}@h.example/t/{CANARY}/one-1.0-py3-none-any.whl?token={CANARY}"
    digest = f"sha256:{'0' * 64}"
    packages = (
        PipPackage("one", "1.0", "one==1.0", (digest,), artifacts=(PipArtifact(url, (digest,)),)),
        PipPackage("two", "1.0", f"two @ git+https://x-access:{CANARY}@h.example/two@{COMMIT}", direct=True),
        PipPackage("zip", "1.0", f"zip @ https://u:{CANARY}@h.example/zip-1.0.tar.gz", (digest,), direct=True),
    )
    made = lock(
        *packages,
        options=(f"--extra-index-url https://u:{CANARY}@h.example/simple",),
        facts={"x": f"HF_TOKEN={CANARY}"},
    )
    text = write(made)
    assert CANARY not in text
    assert read(text, "p.toml").platforms[0].pip[1].requirement == f"two @ git+https://h.example/two@{COMMIT}"


def test_the_index_is_named_where_it_is_known() -> None:
    """30: PyTorch's own index by the address of the wheel, PyPI by its host, another by its option line."""
    torch = indexed(
        wheel("torch", "2.1.0+cu121"), version="2.1.0+cu121", folder="https://download.pytorch.org/whl/cu121"
    )
    plain = indexed(wheel("six", "1.0"), version="1.0", folder="https://files.pythonhosted.org/packages/0a")
    own = indexed(wheel("own", "1.0"), version="1.0", folder="https://h.example/files")
    data = loads(write(lock(own, plain, torch, options=("--extra-index-url https://h.example/simple",))))
    assert [one["index"] for one in data["packages"]] == [
        "https://h.example/simple",
        "https://pypi.org/simple",
        "https://download.pytorch.org/whl/cu121",
    ]


def test_what_the_standard_cannot_say_is_named_at_once() -> None:
    """No hash, no address, no commit: one error that lists all of them, with a way out."""
    packages = (
        PipPackage("bare", "1.0", "bare==1.0"),
        PipPackage("branch", "1.0", "branch @ git+https://h.example/branch", direct=True),
        PipPackage("tagged", "1.0", "tagged @ git+https://h.example/tagged@v1.0", direct=True),
        PipPackage("hashed", "1.0", "hashed==1.0", (f"sha256:{'0' * 64}",)),
    )
    with pytest.raises(InputError) as caught:
        write(lock(*packages))
    assert caught.value.message == "pylock.toml cannot hold 4 of 4 distributions"
    assert [line.split(":")[0] for line in caught.value.details] == ["bare", "branch", "hashed", "tagged"]
    assert "llmenv lock" in caught.value.hint


def test_what_lies_on_this_machine_is_said() -> None:
    """A folder, an editable one, a local repository and a find-links file: a teammate's machine has none of them."""
    packages = (
        package(name="a", directory={"path": "/home/me/a"}),
        package(name="b", directory={"path": "/home/me/b", "editable": True}),
        package(name="c", vcs={"type": "git", "url": "file:///home/me/c", "commit-id": COMMIT}),
        indexed(wheel("d", "1.0"), version="1.0", folder="file:///home/me/wheels"),
        indexed(wheel("e", "1.0"), version="1.0"),
    )
    notices = local_path_notices(lock(*packages))
    assert [notice.message.split(" ")[0] for notice in notices] == ["a", "b", "c", "d"]
    assert "at /home/me/b:" in notices[1].message


def test_a_file_whose_name_is_a_secret_is_refused() -> None:
    """An address that loses its file with its token would be a lock nobody can install from."""
    digest = f"sha256:{'0' * 64}"
    files = (PipArtifact(f"https://h.example/t/{CANARY}", (digest,)),)
    with pytest.raises(InputError) as caught:
        write(lock(PipPackage("x", "1.0", "x==1.0", (digest,), artifacts=files)))
    assert CANARY not in str(caught.value.details)


def test_an_empty_pip_section_is_a_valid_lock() -> None:
    """Nothing to install is still a lock file."""
    assert read(write(lock()), "p.toml").platforms[0].pip == ()


def test_a_lock_of_another_tool_is_read() -> None:
    """Another tool's lock: the platform is not said, and the indexes of its packages become option lines."""
    torch = "torch-2.1.0%2Bcu121-cp311-cp311-linux_x86_64.whl"
    text = f"""# This file was autogenerated by uv
lock-version = "1.0"
created-by = "uv"
requires-python = ">=3.11"

[[packages]]
name = "torch"
version = "2.1.0+cu121"
index = "https://download.pytorch.org/whl/cu121"
[[packages.wheels]]
url = "https://download.pytorch.org/whl/cu121/{torch}"
upload-time = 2024-01-02T03:04:05Z
size = 5
hashes = {{ sha256 = "{"0" * 64}" }}

[[packages]]
name = "Colorama"
version = "0.4.6"
marker = "sys_platform == 'win32'"
index = "https://pypi.org/simple"
[packages.sdist]
url = "https://files.pythonhosted.org/packages/x/colorama-0.4.6.tar.gz"
hashes = {{ sha256 = "{"1" * 64}" }}
"""
    found = read(text, "p.toml")
    (platform,) = found.platforms
    assert platform.subdir == "noarch"
    assert [(one.name, one.requirement, one.built) for one in platform.pip] == [
        ("colorama", 'colorama==0.4.6 ; sys_platform == "win32"', True),
        ("torch", "torch==2.1.0+cu121", False),
    ]
    assert found.pip_options == ("--extra-index-url https://download.pytorch.org/whl/cu121",)
    assert found.lines == {"torch": 6, "colorama": 16}


@pytest.mark.parametrize(
    ("marker", "left"),
    [
        ("'dev' in dependency_groups", None),
        ("'Default' in dependency_groups", "x==1"),
        ("'dev' not in dependency_groups", "x==1"),
        ("('dev' in dependency_groups or 'default' in dependency_groups)", "x==1"),
        ("'gpu' in extras and 'default' in dependency_groups", None),
        ("sys_platform == 'win32'", 'x==1 ; sys_platform == "win32"'),
        ("'default' in dependency_groups and sys_platform == 'win32'", 'x==1 ; sys_platform == "win32"'),
        ("os_name == 'nt' and 'dev' in dependency_groups and sys_platform == 'win32'", None),
        (
            "'default' in dependency_groups and (sys_platform == 'win32' or os_name == 'nt')",
            'x==1 ; python_version >= "0" and (sys_platform == "win32" or os_name == "nt")',
        ),
    ],
)
def test_extras_and_groups_are_settled_as_by_an_installer(marker: str, left: str | None) -> None:
    """Pdm and others lock several selections into one file: without options, its default groups are meant."""
    text = f'{TOP}default-groups = ["default"]\n{ENTRY}marker = "{marker}"\nwheels = [{GOOD}]\n'
    found = [one.requirement for one in read(text, "p.toml").platforms[0].pip]
    assert found == ([] if left is None else [left])


TOP = 'lock-version = "1.0"\ncreated-by = "x"\n'
FILE = "url = 'https://h.example/x-1-py3-none-any.whl'"
ENTRY = "[[packages]]\nname = 'x'\nversion = '1'\n"
GOOD = f"{{ {FILE}, hashes = {{ sha256 = '{'0' * 64}' }} }}"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "lock-version None is not known"),
        ('lock-version = "2.0"', 1, "lock-version '2.0' is not known"),
        ("lock-version = 1.0", 1, "not known"),
        (TOP, 1, "not an array"),
        (f"{TOP}packages = 3", 3, "not an array"),
        (f"{TOP}packages = [3]", 3, "Expected `object`"),
        (f"{TOP}[[packages]]\nname = 'x'\n[[packages", 5, "not valid TOML"),
        (f"{TOP}[[packages]]\nname = 3", 3, "name: Expected `str`"),
        (f"{TOP}[[packages]]\nname = 'x'\nversion = '1'", 3, "nothing says where to take it from"),
        (f"{TOP}[[packages]]\nname = 'x'\nversion = 'one'\nwheels = [{GOOD}]", 3, "'one' is no version"),
        (f"{TOP}{ENTRY}wheels = [{{ {FILE} }}]", 6, "has no hash"),
        (
            f"{TOP}{ENTRY}wheels = [{{ {FILE}, hashes = {{ sha256 = 'a' }} }}]",
            6,
            "64",
        ),
        (
            f"{TOP}{ENTRY}wheels = [{{ {FILE}, hashes = {{ crc = 'a' }} }}]",
            6,
            "'crc'",
        ),
        (f"{TOP}[[packages]]\nname = 'x'\nversion = '2'\nwheels = [\n {GOOD}\n]", 7, "is not x 2"),
        (f"{TOP}[[packages]]\nname = 'y'\nversion = '1'\nwheels = [{GOOD}]", 6, "is not y 1"),
        (f"{TOP}[[packages]]\nname = 'x'\nvcs = {{ type = 'git', url = 'https://h/x' }}", 3, "commit-id"),
        (f"{TOP}[[packages]]\nname = 'x'\nvcs = {{ type = 'ext', url = 'sh:x', commit-id = 'a' }}", 3, "no address"),
        (f"{TOP}[[packages]]\nname = 'x'\ndirectory = {{ path = '.' }}", 3, "depends on the folder"),
        (f'{TOP}[[packages]]\nname = "x\\n--pre"\ndirectory = {{ path = "/x" }}', 3, "no name of a distribution"),
        (f'{TOP}[[packages]]\nname = "x"\nversion = "1\\n--pre"\ndirectory = {{ path = "/x" }}', 3, "no version"),
        (
            f'{TOP}[[packages]]\nname = "x"\nvcs = {{ type = "git", url = "https://h/x", commit-id = "\\n-r" }}',
            3,
            "control",
        ),
        (
            f"{TOP}[[packages]]\nname = 'x'\nmarker = 'a in b'\ndirectory = {{ path = '/x' }}",
            3,
            "'a in b' is no marker",
        ),
        (f"{TOP}packages = []\n[tool.llmenv]\nplatform = 'sun-4'", 4, "no platform that is known"),
        (f"{TOP}packages = []\n[tool.llmenv]\nplatform = 'linux-64'\npip-options = ['-r x']", 6, "no option line"),
        (f"{TOP}packages = []\n[tool.llmenv]\nplatform = 'linux-64'\npip-options = ['--pre\\nx']", 6, "no option line"),
        (f"{TOP}x = {'[' * 50_000}", 1, "too deep"),
        (f"{TOP}packages = []\nx = 'https://h/t/<TOKEN>/c'", 4, "placeholder"),
        ("x" * 17_000_000, 1, "longer than"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(text: str, line: int, said: str) -> None:
    """Half a file, other types, other versions, exchanged files: one sentence that starts with file and line."""
    error = refused(text)
    place, _, reason = error.message.partition(": ")
    assert said in reason
    assert place.split(":")[1] == str(line)


def test_all_problems_are_in_one_report() -> None:
    """A name that is locked twice and a changed address are both named; a flood of them is cut."""
    entry = f"[[packages]]\nname = 'x'\nversion = '1'\nwheels = [{GOOD}]\n"
    error = refused(f"{TOP}{entry}{entry}[[packages]]\nname = 'z'\n")
    assert error.message == "p.toml:7: x is locked twice, first in line 3"
    assert error.details == ("p.toml:11: z: nothing says where to take it from",)
    assert len(refused(TOP + "[[packages]]\nname = 'z'\n" * 100_000).details) < 60


@settings(deadline=None)
@given(st.text(max_size=200), st.integers(min_value=0, max_value=2000))
def test_a_damaged_lock_is_refused_or_read(noise: str, cut: int) -> None:
    """Whatever is cut off or put in, the answer is a lock or a sentence, never a crash."""
    text = write(lock(indexed(wheel("one", "1.0"), version="1.0"), package(name="d", directory={"path": "/d"})))
    for damaged in (text[:cut], text[:cut] + noise + text[cut:]):
        with suppress(FileFormatError):
            read(damaged, "p.toml")


def local_lock(folder: Path, **changes: str) -> Lock:
    """Return a lock of files in a folder, a wheel with a local version, sources, and nothing of any index."""
    one, torch = wheel("one", "1.0"), wheel("torch", "2.1.0+cu121")
    source = sdist("pure", "3.0", source_files("pure", "3.0"))
    write_flat(folder, [one, torch, source])
    files = (
        indexed(one, version="1.0", folder=folder.as_uri()),
        indexed(source, version="3.0", folder=folder.as_uri()),
        indexed(torch, version="2.1.0+cu121", folder=folder.as_uri()),
    )
    wrong = f"sha256:{'0' * 64}"
    packages = (
        structs.replace(
            file, hashes=(wrong,), artifacts=tuple(structs.replace(one, hashes=(wrong,)) for one in file.artifacts)
        )
        if file.name in changes
        else file
        for file in files
    )
    made = lock(*packages)
    version = ".".join(map(str, sys.version_info[:3]))
    python = structs.replace(made.platforms[0].records[0], version=version)
    return structs.replace(made, platforms=(structs.replace(made.platforms[0], records=(python,)),))


def run(argv: list[str], environ: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a tool away from any network."""
    return subprocess.run(argv, env=environ, cwd=folder, capture_output=True, text=True, check=False)


def uv(command: str, prefix: Path, environ: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``uv pip install -r`` or ``uv pip sync`` with the lock in a folder."""
    program = find_uv()
    assert program is not None
    lead = ["-r"] if command == "install" else []
    argv = [program, "pip", command, "--python", str(prefix / "bin/python"), "--offline", *lead, "pylock.toml"]
    return run(argv, environ, folder)


@pytest.mark.parametrize("command", ["install", "sync"])
def test_uv_installs_from_it(command: str, environ: dict[str, str], make_prefix: MakePrefix, tmp_path: Path) -> None:
    """``uv pip install -r pylock.toml`` and ``uv pip sync``: the locked files, and none with another hash."""
    prefix = make_prefix()
    (tmp_path / "pylock.toml").write_text(write(local_lock(tmp_path / "a b", torch="changed")))
    bad = uv(command, prefix, environ, tmp_path)
    assert (bad.returncode != 0, "Hash mismatch" in bad.stderr, installed(prefix)) == (True, True, {})
    (tmp_path / "pylock.toml").write_text(write(local_lock(tmp_path / "a b")))
    done = uv(command, prefix, environ, tmp_path)
    assert done.returncode == 0, done.stderr
    assert installed(prefix) == {"one": "1.0", "pure": "3.0", "torch": "2.1.0+cu121"}


@pytest.mark.skipif(int(metadata.version("pip").split(".")[0]) < 26, reason="this pip does not know pylock.toml")
def test_pip_installs_from_it(environ: dict[str, str], make_prefix: MakePrefix, tmp_path: Path) -> None:
    """``pip install -r pylock.toml`` of pip 26 and later."""
    prefix = make_prefix(pip=True)
    argv = [str(prefix / "bin/python"), "-m", "pip", "install", "--no-index", "-r", "pylock.toml"]
    (tmp_path / "pylock.toml").write_text(write(local_lock(tmp_path / "a b", torch="changed")))
    bad = run(argv, environ, tmp_path)
    assert (bad.returncode != 0, "DO NOT MATCH" in bad.stderr, installed(prefix)) == (True, True, {})
    (tmp_path / "pylock.toml").write_text(write(local_lock(tmp_path / "a b")))
    done = run(argv, environ, tmp_path)
    assert done.returncode == 0, done.stderr
    assert installed(prefix) == {"one": "1.0", "pure": "3.0", "torch": "2.1.0+cu121"}


def test_another_python_is_told(environ: dict[str, str], make_prefix: MakePrefix, tmp_path: Path) -> None:
    """The lock says which Python its wheels are for: uv refuses it with another."""
    made = local_lock(tmp_path / "w")
    platform = made.platforms[0]
    other = structs.replace(platform, records=(structs.replace(platform.records[0], version="3.9.1"),))
    (tmp_path / "pylock.toml").write_text(write(structs.replace(made, platforms=(other,))))
    assert "Python requirement: `==3.9.*`" in uv("install", make_prefix(), environ, tmp_path).stderr


def test_the_platform_is_told() -> None:
    """Pip 26 and later uv refuse a lock whose marker is not theirs."""
    assert loads(write(lock(subdir="osx-arm64")))["environments"] == [MARKERS["osx-arm64"]]
    assert "environments" not in loads(write(lock(subdir="linux-riscv64")))
