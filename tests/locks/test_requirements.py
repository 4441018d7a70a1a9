"""Hashed ``requirements.txt``: what comes back, what pip and uv make of it, and what is refused."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from conda_llmenv.errors import FileFormatError, InputError
from conda_llmenv.locks.header import is_edited
from conda_llmenv.locks.pip_index import local_version_notices
from conda_llmenv.locks.requirements import read, unhashable, write
from conda_llmenv.model import Lock, PipPackage
from conda_llmenv.pypi.uvcommand import find_uv
from tests.index.artifacts import sdist, source_files, wheel
from tests.index.fixtures import MakePrefix, installed
from tests.index.server import write_flat
from tests.locks.pip_locks import CANARY, PACKAGES, indexed, lock

HASH = f"sha256:{'0' * 64}"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPOSITORY = PipPackage("repo", "1.0", f"repo @ git+https://h.example/repo@{COMMIT}", built=True, direct=True)
FOLDER = PipPackage("folder", None, "-e /data/folder", built=True, direct=True)
BARE = PipPackage("bare", "1.0", "bare==1.0")
SIX = PipPackage("six", "1.16.0", "six==1.16.0", (HASH,))


def body(text: str) -> list[str]:
    """Return the lines below the head."""
    return [line for line in text.splitlines() if not line.startswith("#")]


@settings(deadline=None)
@given(PACKAGES)
def test_hashed_lines_come_back(packages: tuple[PipPackage, ...]) -> None:
    """Name, line and every hash of all that can have one; the rest is beside it, so nothing is lost."""
    made = lock(*packages, options=("--index-url https://h.example/simple",))
    text = write(made)
    (platform,) = read(text, "r.txt").platforms
    hashed = [one for one in packages if one.hashes]
    assert platform.subdir == "linux-64"
    assert [(one.name, one.requirement, set(one.hashes)) for one in platform.pip] == [
        (one.name, one.requirement, set(one.hashes)) for one in hashed
    ]
    assert {one.name: one.version for one in platform.pip if not one.direct} == {
        one.name: one.version for one in hashed if not one.direct
    }
    assert len([line for line in unhashable(made) if not line.startswith("--")]) == len(packages) - len(hashed)
    assert write(made) == text
    assert not is_edited(text)


def test_options_come_first_and_what_has_no_hash_stands_in_comments() -> None:
    """Pip refuses a file in which one line lacks a hash: such lines are comments with the reason, and a second file."""
    made = lock(BARE, FOLDER, REPOSITORY, SIX, options=("--index-url https://h.example/simple", "-c /home/me/c.txt"))
    text = write(made)
    assert body(text) == [
        "--index-url https://h.example/simple",
        "six==1.16.0 \\",
        f"    --hash={HASH}",
        "",
    ]
    assert "#   bare==1.0   (its hash is not known)" in text
    assert "#   -e /data/folder   (a folder has no hash)" in text
    assert f"#   repo @ git+https://h.example/repo@{COMMIT}   (a repository has no file to hash)" in text
    assert unhashable(made) == (
        "--index-url https://h.example/simple",
        "bare==1.0",
        "-e /data/folder",
        f"repo @ git+https://h.example/repo@{COMMIT}",
    )
    assert unhashable(lock(SIX)) == ()


def test_weak_hashes_are_not_proof() -> None:
    """Pip takes no md5 under --require-hashes: a package that has nothing else counts as without a hash."""
    weak = structs.replace(SIX, hashes=(f"md5:{'0' * 32}",))
    assert body(write(lock(weak))) == [""]
    assert unhashable(lock(weak)) == ("six==1.16.0",)


def test_no_secret_is_written() -> None:
    """36: no token of an index, a repository or an archive, in the file or in the lines beside it."""
    made = lock(
        structs.replace(
            SIX, requirement=f"six @ https://u:{CANARY}@h.example/t/{CANARY}/six-1.16.0.tar.gz", direct=True
        ),
        structs.replace(REPOSITORY, requirement=f"repo @ git+https://x-access:{CANARY}@h.example/repo@{COMMIT}"),
        options=(f"--extra-index-url https://u:{CANARY}@h.example/simple",),
    )
    assert CANARY not in write(made) + "\n".join(unhashable(made))
    assert f"repo @ git+https://h.example/repo@{COMMIT}" in unhashable(made)


CU121 = "https://download.pytorch.org/whl/cu121"
TORCH = PipPackage("torch", "2.1.0+cu121", "torch==2.1.0+cu121", (HASH,))


@pytest.mark.parametrize(
    "made",
    [
        lock(TORCH, options=(f"--extra-index-url {CU121}",)),
        lock(TORCH, options=("--index-url https://pypi.org/simple", f"--extra-index-url {CU121}/")),
        lock(indexed(wheel("torch", "2.1.0+cu121"), version="2.1.0+cu121", folder=CU121)),
        lock(
            indexed(
                wheel("torch", "2.1.0+cu121"),
                version="2.1.0+cu121",
                folder="https://download-r2.pytorch.org/whl/cu121",
            )
        ),
    ],
)
def test_a_local_version_gets_the_index_it_came_from(made: Lock) -> None:
    """30 (conda#14297): by an option line, or by where its wheel lies; the line stands before it, once."""
    lines = [line.rstrip("/") for line in body(write(made))]
    assert lines.count(f"--extra-index-url {CU121}") == 1
    assert lines.index(f"--extra-index-url {CU121}") < lines.index("torch==2.1.0+cu121 \\")
    assert local_version_notices(made) == ()


@pytest.mark.parametrize(
    ("package", "options", "hint"),
    [
        (TORCH, (), CU121),
        (TORCH, ("--index-url https://pypi.org/simple",), CU121),
        (structs.replace(TORCH, version="2.1.0+mine"), (), "URL"),
        (
            indexed(wheel("torch", "2.1.0+cu121"), version="2.1.0+cu121", folder="https://elsewhere.example/x"),
            ("--extra-index-url https://h.example/simple",),
            CU121,
        ),
    ],
)
def test_an_unknown_index_is_said(package: PipPackage, options: tuple[str, ...], hint: str) -> None:
    """30 (wusongbai139/controlnet_train_webUI#1): nobody knows the index; the notice names package and likely index."""
    (notice,) = local_version_notices(lock(package, SIX, options=options))
    assert notice.message.startswith(f"torch {package.version} is on no public index")
    assert f"--extra-index-url {hint}`" in notice.hint


def test_a_private_index_may_hold_it() -> None:
    """A distribution whose files nobody noted may well be on the index that the lock names."""
    assert local_version_notices(lock(TORCH, options=("--index-url https://h.example/simple",))) == ()
    direct = structs.replace(TORCH, requirement="torch @ https://h.example/torch-2.1.0%2Bcu121.tar.gz", direct=True)
    assert local_version_notices(lock(direct)) == ()


def test_a_file_of_another_tool_is_read() -> None:
    """pip-compile and uv export: comments, continuation lines, markers, extras, addresses, a BOM and CRLF."""
    text = "\ufeff" + "\r\n".join(
        [
            "# made by pip-compile",
            "-i https://h.example/simple",
            "Numpy==1.26.4 \\",
            f"    --hash=sha256:{'A' * 64} \\",
            f"    --hash={HASH}",
            "    # via torch",
            f"uvicorn[standard]===0.30 ; python_version >= '3.8' --hash={HASH}",
            "zip @ https://u:p@h.example/zip-1.5.tar.gz \\",
            f"  --hash {HASH}",
            f"git+https://h.example/r@{COMMIT}#egg=r",
            "",
        ]
    )
    found = read(text, "r.txt")
    (platform,) = found.platforms
    assert platform.subdir == "noarch"
    assert [(one.name, one.version, one.requirement) for one in platform.pip] == [
        ("numpy", "1.26.4", "Numpy==1.26.4"),
        ("r", None, f"git+https://h.example/r@{COMMIT}#egg=r"),
        ("uvicorn", "0.30", "uvicorn[standard]===0.30 ; python_version >= '3.8'"),
        ("zip", "1.5", "zip @ https://u:p@h.example/zip-1.5.tar.gz"),
    ]
    assert platform.pip[0].hashes == (f"sha256:{'a' * 64}", HASH)
    assert [one.direct for one in platform.pip] == [False, True, False, True]
    assert found.pip_options == ("--index-url https://h.example/simple",)
    assert found.lines == {"numpy": 3, "uvicorn": 7, "zip": 8, "r": 10}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-r other.txt", "--requirement 'other.txt' is in another file"),
        ("-c other.txt", "--constraint 'other.txt' is in another file"),
        ("numpy", "numpy is not pinned to one version"),
        ("numpy>=1", "numpy is not pinned to one version"),
        ("numpy==1.*", "numpy is not pinned to one version"),
        ("numpy==1,!=2", "numpy is not pinned to one version"),
        (f"numpy==1 --hash=sha256:{'0' * 63}", "64 hex digits"),
        (f"numpy==1 --hash=sha256:{'g' * 64}", "is no sha256"),
        ("numpy==1 --hash=crc32:00", "'crc32' is no known kind of hash"),
        ("numpy==1 --hash=00", "no known kind"),
        ("numpy==1 --config-settings=a=b", "settings for a build"),
        (f"r @ git+https://h.example/r@{COMMIT} --hash={HASH}", "a repository has no file to hash"),
        ("./folder", "does not say its name"),
        ("numpy==1 numpy==2", "not a pip requirement"),
        ("--index-url https://h.example/t/<TOKEN>/simple", "placeholder"),
        ("--frobnicate", "no option of a requirements file"),
        ("numpy==1 --hash='x", "quotes"),
        ("<<<<<<< HEAD", "not a pip requirement"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(line: str, said: str) -> None:
    """Includes, open versions, hashes that are none, placeholders: one sentence that starts with file and line."""
    with pytest.raises(FileFormatError) as caught:
        read(f"six==1 \\\n  --hash={HASH}\n{line}\n", "dir/r.txt")
    assert caught.value.message.startswith("dir/r.txt:3: ")
    assert said in caught.value.message


def test_all_problems_are_in_one_report() -> None:
    """A name that stands twice and an open version are both named, with a secret of neither."""
    with pytest.raises(FileFormatError) as caught:
        read(f"six==1\nSix==2\nnumpy\nx @ https://u:{CANARY}@[h/x\n", "r.txt")
    assert caught.value.message == "r.txt:2: six is locked twice, first in line 1"
    assert caught.value.details[0] == "r.txt:3: numpy is not pinned to one version"
    assert CANARY not in str(caught.value.details)
    with pytest.raises(FileFormatError) as caught:
        read("numpy\n" * 300_000, "r.txt")
    assert len(caught.value.details) < 60
    with pytest.raises(FileFormatError, match="longer than"):
        read("#" * 17_000_000, "r.txt")


@settings(deadline=None)
@given(st.text(max_size=200), st.integers(min_value=0, max_value=600))
def test_a_damaged_file_is_refused_or_read(noise: str, cut: int) -> None:
    """Whatever is cut off or put in, the answer is a lock or a sentence, never a crash."""
    text = write(lock(SIX, TORCH, options=("--pre",)))
    for damaged in (text[:cut], text[:cut] + noise + text[cut:], noise):
        with suppress(FileFormatError):
            read(damaged, "r.txt")


def test_a_line_that_would_say_more_is_refused() -> None:
    """A package whose line carries a line break, and an option behind it, never reaches the file."""
    evil = PipPackage("six", "1.0", "six==1.0\n--index-url https://evil.example", (HASH,))
    with pytest.raises(InputError) as caught:
        write(lock(evil, SIX))
    assert caught.value.details == ("six: 'six==1.0\\n--index-url https://evil.example' holds a control character",)


def local_lock(folder: Path, *, changed: str = "") -> Lock:
    """Return a lock of files in a folder, where ``changed`` has another hash than its file."""
    one, torch = wheel("one", "1.0"), wheel("torch", "2.1.0+cu121")
    pure = sdist("pure", "3.0", source_files("pure", "3.0"))
    write_flat(folder, [one, torch, pure])
    packages = [
        PipPackage(
            file.name, version, f"{file.name}=={version}", (HASH if changed == file.name else f"sha256:{file.sha256}",)
        )
        for file, version in ((one, "1.0"), (pure, "3.0"), (torch, "2.1.0+cu121"))
    ]
    return lock(*packages, options=("--no-index", f"--find-links {folder}"))


@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_uv_and_pip_install_from_it(
    tool: str, environ: dict[str, str], make_prefix: MakePrefix, tmp_path: Path
) -> None:
    """With hashes required: the locked files, and nothing at all where one has another hash."""
    prefix = make_prefix(pip=True)
    python = str(prefix / "bin/python")
    program = (
        [python, "-m", "pip", "install"] if tool == "pip" else [str(find_uv()), "pip", "install", "--python", python]
    )

    def install(made: Lock) -> subprocess.CompletedProcess[str]:
        (tmp_path / "requirements.txt").write_text(write(made))
        argv = [*program, "--no-deps", "--require-hashes", "-r", "requirements.txt"]
        return subprocess.run(argv, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)

    bad = install(local_lock(tmp_path / "wheels", changed="torch"))
    assert (bad.returncode != 0, installed(prefix)) == (True, {})
    assert "torch" in bad.stderr
    done = install(local_lock(tmp_path / "wheels"))
    assert done.returncode == 0, done.stderr
    assert installed(prefix) == {"one": "1.0", "pure": "3.0", "torch": "2.1.0+cu121"}
