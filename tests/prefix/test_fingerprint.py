"""The fingerprint of an environment changes with what decides whether it works, and with nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conda_llmenv.errors import PrefixError
from conda_llmenv.prefix.fingerprint import fingerprint

SITE = "lib/python3.12/site-packages"
LATER = 1_900_000_000

FILES = {
    "conda-meta/history": "",
    "conda-meta/python-3.12.4-h1_0.json": "{}",
    "conda-meta/state": '{"env_vars": {"A": "1"}}',
    "conda-meta/llmenv/state.json": "{}",
    "bin/python3.12": "program",
    "bin/nvcc": "program",
    "etc/conda/activate.d/cuda.sh": "export X=1",
    "lib/libcudart.so.12.8": "library",
    "lib/libz.so.1": "library",
    "lib/notes.txt": "text",
    "lib/python3.12/os.py": "code",
    "lib/python3.12/lib-dynload/_ssl.so": "library",
    f"{SITE}/torch/__init__.py": "code",
    f"{SITE}/torch/lib/libtorch.so": "library",
    f"{SITE}/torch-2.9.0.dist-info/RECORD": "rows",
    f"{SITE}/torch-2.9.0.dist-info/METADATA": "Name: torch",
    f"{SITE}/torch/__pycache__/x.cpython-312.pyc": "compiled",
    "targets/x86_64-linux/lib/libcublas.so.12": "library",
    "share/doc/readme": "text",
}


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment with one of everything."""
    root = tmp_path / "env"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "bin" / "python").symlink_to("python3.12")
    (root / "lib" / "libcublas.so.12").symlink_to("../targets/x86_64-linux/lib/libcublas.so.12")
    (root / "lib64").symlink_to("lib")
    return root


def touch(name: str) -> Callable[[Path], None]:
    """Write a file anew, later and with the same size."""

    def change(root: Path) -> None:
        os.utime(root / name, (LATER, LATER))

    return change


def write(name: str, text: str = "new") -> Callable[[Path], None]:
    """Put a file there."""

    def change(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return change


def remove(name: str) -> Callable[[Path], None]:
    """Take a file away."""
    return lambda root: (root / name).unlink()


def link(name: str, target: str) -> Callable[[Path], None]:
    """Put a link in a file's place."""

    def change(root: Path) -> None:
        (root / name).unlink(missing_ok=True)
        (root / name).symlink_to(target)

    return change


CHANGES: dict[str, Callable[[Path], None]] = {
    "a package comes": write("conda-meta/numpy-2.0-h1_0.json"),
    "a package goes": remove("conda-meta/python-3.12.4-h1_0.json"),
    "a package is replaced": touch("conda-meta/python-3.12.4-h1_0.json"),
    "a variable": write("conda-meta/state", '{"env_vars": {"A": "2"}}'),
    "all variables": remove("conda-meta/state"),
    "a script of activation": write("etc/conda/activate.d/cuda.sh", "export X=2"),
    "another script of activation": write("etc/conda/activate.d/zzz.sh"),
    "a script of deactivation": write("etc/conda/deactivate.d/cuda.sh"),
    "python itself": touch("bin/python3.12"),
    "python is another one": link("bin/python", "/usr/bin/python3"),
    "the compiler": touch("bin/nvcc"),
    "a module": touch(f"{SITE}/torch/__init__.py"),
    "a module by its size": write(f"{SITE}/torch/__init__.py", "other code"),
    "a module comes": write(f"{SITE}/sitecustomize.py"),
    "a module goes": remove(f"{SITE}/torch/__init__.py"),
    "a path file": write(f"{SITE}/evil.pth"),
    "a library of a wheel": touch(f"{SITE}/torch/lib/libtorch.so"),
    "a record of pip": touch(f"{SITE}/torch-2.9.0.dist-info/RECORD"),
    "metadata": touch(f"{SITE}/torch-2.9.0.dist-info/METADATA"),
    "a second distribution": write(f"{SITE}/torch-2.8.0.dist-info/METADATA"),
    "a module of Python": touch("lib/python3.12/os.py"),
    "a library of Python": touch("lib/python3.12/lib-dynload/_ssl.so"),
    "a shared library": touch("lib/libcudart.so.12.8"),
    "a shared library comes": write("lib/libstub.so"),
    "what a library's link leads to": touch("targets/x86_64-linux/lib/libcublas.so.12"),
    "a library's link": link("lib/libcublas.so.12", "/usr/lib/libcublas.so.12"),
    "a library becomes a link": link("lib/libz.so.1", "/usr/lib/libz.so.1"),
    "a mode": lambda root: (root / "bin/nvcc").chmod(0o600),
    "a virtual environment's settings": write("pyvenv.cfg"),
}


def _read_all(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_file():
            path.read_bytes()


NO_CHANGES: dict[str, Callable[[Path], None]] = {
    "nothing": lambda root: None,
    "compiled files": write(f"{SITE}/torch/__pycache__/y.cpython-312.pyc"),
    "our own notes": write("conda-meta/llmenv/state.json", '{"phase": "verified"}'),
    "a report": write("conda-meta/llmenv/reports/1.json"),
    "conda's history": write("conda-meta/history", "==> now <=="),
    "documents": write("share/doc/readme", "other"),
    "a log": write(f"{SITE}/torch/run.log"),
    "a file that NFS keeps": write(f"{SITE}/torch/.nfs0000000000000001"),
    "variables written anew": touch("conda-meta/state"),
    "no library": write("lib/notes.txt", "other text"),
    "files are read": _read_all,
    "a hard link to a file": lambda root: os.link(root / "lib/libz.so.1", root / "share/clone"),
    "written to another inode, as it was": lambda root: _rewritten(root / f"{SITE}/torch/__init__.py"),
}


def _rewritten(path: Path) -> None:
    shutil.copy2(path, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_it_changes_with_what_matters(prefix: Path, change: Callable[[Path], None]) -> None:
    """Records, activation, programs, modules and libraries: what comes, goes or is replaced."""
    before = fingerprint(prefix)
    change(prefix)
    assert fingerprint(prefix) != before


@pytest.mark.parametrize("change", NO_CHANGES.values(), ids=NO_CHANGES)
def test_it_stays_with_what_does_not(prefix: Path, change: Callable[[Path], None]) -> None:
    """What running leaves behind, and our own notes, since to verify must not change what was verified."""
    before = fingerprint(prefix)
    change(prefix)
    assert fingerprint(prefix) == before


def test_it_is_64_hex_digits(prefix: Path) -> None:
    """As names of reports expect."""
    assert len(fingerprint(prefix)) == 64
    assert int(fingerprint(prefix), 16)


def test_the_order_of_a_listing_does_not_matter(prefix: Path, tmp_path: Path) -> None:
    """The same files, made in another order, in the same place."""
    before = fingerprint(prefix)
    prefix.rename(tmp_path / "aside")
    for path in sorted((tmp_path / "aside").rglob("*"), reverse=True):
        target = prefix / path.relative_to(tmp_path / "aside")
        if not path.is_dir() or path.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target, follow_symlinks=False)
    assert fingerprint(prefix) == before


def test_the_place_counts(prefix: Path, tmp_path: Path) -> None:
    """What an environment runs has its place written into it: a copy elsewhere is another one that nobody has tried."""
    subprocess.run(["cp", "-a", prefix, tmp_path / "copy"], check=True)
    assert fingerprint(tmp_path / "copy") != fingerprint(prefix)


def test_links_that_lead_nowhere_or_in_a_circle(prefix: Path) -> None:
    """Packages ship some; they count by where they point to."""
    (prefix / "lib" / "libgone.so").symlink_to("nowhere")
    (prefix / "lib" / "libloop.so").symlink_to("libloop.so")
    (prefix / SITE / "loop").symlink_to("loop")
    (prefix / SITE / "up").symlink_to("..")
    before = fingerprint(prefix)
    (prefix / "lib" / "nowhere").touch()
    assert fingerprint(prefix) != before


def test_names_that_are_no_text(prefix: Path) -> None:
    """Bytes that are not UTF-8, and a line break: two names are never taken for one."""
    before = fingerprint(prefix)
    (prefix / SITE / "\udcff.py").touch()
    (prefix / SITE / "a\nb.py").touch()
    assert fingerprint(prefix) != before


@pytest.mark.parametrize("parts", [[], ["conda-meta"], ["lib"], ["bin"]])
def test_an_environment_with_little_in_it(tmp_path: Path, parts: list[str]) -> None:
    """No Python, no libraries, no records."""
    for part in parts:
        (tmp_path / part).mkdir()
    assert len(fingerprint(tmp_path)) == 64


def test_no_environment(tmp_path: Path) -> None:
    """A path with nothing there, or a file."""
    for path in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(PrefixError, match="there is no environment at"):
            fingerprint(path)
        (tmp_path / "file").touch()


UNREADABLE = """
import sys
from pathlib import Path
from conda_llmenv.errors import PrefixError
from conda_llmenv.prefix.fingerprint import fingerprint
import os
if os.geteuid() == 0:
    os.setresuid(12345, 12345, 12345)
try:
    fingerprint(Path(sys.argv[1]))
except PrefixError as error:
    print(error.message)
"""


@pytest.mark.parametrize("part", [f"{SITE}/torch", "lib", "bin", "conda-meta", "conda-meta/state"])
def test_what_may_not_be_read_is_an_error(prefix: Path, part: str) -> None:
    """Half of an environment has no fingerprint; the message says which part."""
    for place in (prefix, *prefix.parents):
        place.chmod(place.stat().st_mode | 0o055)
        if place.name.startswith("pytest-of"):
            break
    (prefix / part).chmod(0)
    done = subprocess.run(
        [sys.executable, "-c", UNREADABLE, prefix],
        env={"PYTHONPATH": str(Path(__file__).parent.parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    (prefix / part).chmod(0o700)
    assert done.stdout == f"cannot read {prefix / part}: Permission denied\n", done.stderr


def test_twenty_thousand_files_take_less_than_half_a_second(tmp_path: Path) -> None:
    """A preflight in a job script has seconds."""
    for number in range(200):
        folder = tmp_path / SITE / f"package{number}"
        folder.mkdir(parents=True)
        for file in range(100):
            (folder / f"m{file}.py").touch()
    best = min(_seconds(tmp_path) for _ in range(3))
    assert best < 0.5


def _seconds(prefix: Path) -> float:
    begun = time.perf_counter()
    fingerprint(prefix)
    return time.perf_counter() - begun
