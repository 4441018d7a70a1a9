"""Makes kernelspecs with the environment's own ipykernel and puts them in place, and takes ours away again."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from conda_llmenv import entering, process
from conda_llmenv.errors import InputError, LlmenvError
from conda_llmenv.kernels.reading import FILE, read_kernelspec
from conda_llmenv.model.kernels import Kernelspec, Registration
from conda_llmenv.plain_files import flush

INSIDE = Path(__file__).parent / "inside"
DESCRIBE, LAUNCH = INSIDE / "describe.py", INSIDE / "launch.py"
ENTERING = Path(entering.__file__).parent

ENVIRON: Mapping[str, str] = {"PYTHONNOUSERSITE": "1"}
"""Set in every kernel: a package in ``~/.local`` must not win over the environment's own."""

SECONDS = 120.0
"""How long making a kernelspec may take: importing ipykernel from a cold network disk takes its time."""

TRIES = 5
"""Times to look at what is not ours: where ours are exchanged, there is nothing for a moment."""

PAUSE = 0.02

LEFT_SECONDS = 86400.0

WORK = ".llmenv-"
"""How the folder begins in which a kernelspec is made; without a kernel.json of its own it is none to Jupyter."""


def launcher_files() -> dict[str, Path]:
    """Return what starts a kernel in its activated environment, by the path it has to have in a kernelspec."""
    modules = {f"entering/{path.name}": path for path in sorted(ENTERING.glob("*.py"))}
    return {"launch.py": LAUNCH, **modules}


def register(asked: Registration) -> Kernelspec:
    """Make a kernelspec and put it where it was asked for, in the place of one of ours or of none.

    Raises:
        InputError: something that is not ours is there; it is left alone.
        LlmenvError: it cannot be made, or not be written.
    """
    target = asked.kernels / asked.name
    check_replaceable(target)
    with _failures("write", asked.kernels), _workplace(asked.kernels) as work:
        made = work / "new"
        _make(asked, made, work / "answer.json")
        _publish(made, target)
    spec = read_kernelspec(target)
    if spec is None or not spec.ours:
        raise LlmenvError(f"{target} was changed by somebody else meanwhile", hint="see who registers kernels there")
    return spec


def install(folder: Path, kernels: Path, name: str) -> Path:
    """Put a copy of a finished kernelspec in place, as :func:`register` does, and return where it is.

    Raises:
        InputError, LlmenvError: see :func:`register`.
    """
    target = kernels / name
    check_replaceable(target)
    with _failures("write", kernels), _workplace(kernels) as work:
        shutil.copytree(folder, work / "new")
        _publish(work / "new", target)
    return target


def check_replaceable(target: Path) -> None:
    """Refuse anything that is not ours; links are never followed.

    Raises:
        InputError: something is there that is not ours.
    """
    for _ in range(TRIES):  # one of ours may be exchanged for another just now
        if not os.path.lexists(target):
            return
        spec = None if target.is_symlink() else read_kernelspec(target)
        if spec is not None and spec.ours:
            return
        time.sleep(PAUSE)
    what = f"a link to {target.readlink()}" if target.is_symlink() else "not a kernelspec of llmenv"
    raise InputError(f"{target} is {what}; it is left alone", hint="choose another name with --name, or another place")


def remove(spec: Kernelspec) -> None:
    """Remove a kernelspec of ours.

    Raises:
        InputError: it is not ours.
        LlmenvError: it cannot be removed.
    """
    check_replaceable(spec.folder)
    kernels = spec.folder.parent
    with _failures("remove", spec.folder), _workplace(kernels) as work, _alone(kernels), suppress(FileNotFoundError):
        _aside(spec.folder, work / "old")
    flush(spec.folder.parent)


def _make(asked: Registration, folder: Path, answer: Path) -> None:
    question: dict[str, Any] = {
        "folder": str(folder),
        "answer": str(answer),
        "python": str(asked.prefix / "bin" / "python"),
        "launcher": str(asked.kernels / asked.name / LAUNCH.name),
        "sources": {"launch": str(LAUNCH), "entering": str(ENTERING)},
        "display_name": asked.display_name,
        "metadata": dict(asked.metadata),
        "env": dict(ENVIRON),
    }
    argv = [question["python"], "-I", str(DESCRIBE), json.dumps(question)]
    environ = {**os.environ, **ENVIRON, "PYTHONDONTWRITEBYTECODE": "1"}
    done = process.run(argv, env=environ, cwd=asked.prefix, timeout=SECONDS)
    told = _answer(answer)
    if told.get("error") or done.returncode or not (folder / FILE).is_file():
        last = "it took too long" if done.timed_out else (done.stderr.strip().splitlines() or ["it was ended"])[-1]
        raise LlmenvError(
            f"the ipykernel in {asked.prefix} makes no kernelspec: {told.get('error') or last}",
            hint=f"see whether `{asked.prefix}/bin/python -m ipykernel --version` works",
        )


def _answer(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


@contextmanager
def _workplace(kernels: Path) -> Iterator[Path]:
    """Make a folder beside the kernelspecs, on their file system, and remove it at the end."""
    kernels.mkdir(parents=True, exist_ok=True)
    _sweep(kernels)
    work = Path(tempfile.mkdtemp(prefix=WORK, dir=kernels))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sweep(kernels: Path) -> None:
    """Remove what runs that were killed left long ago."""
    for left in kernels.glob(f"{WORK}*"):
        with suppress(OSError):
            if not left.is_symlink() and time.time() - left.stat().st_mtime > LEFT_SECONDS:
                shutil.rmtree(left)


def _publish(made: Path, target: Path) -> None:
    """Put a folder in the place of what is there; not by one exchange, which network file systems do not have."""
    for folder, _, names in os.walk(made, topdown=False):
        for name in names:
            flush(Path(folder, name))
        flush(Path(folder))
    old = made.with_name("old")
    with _alone(target.parent):
        with suppress(FileNotFoundError):
            _aside(target, old)
        try:
            made.rename(target)
        except BaseException:
            if os.path.lexists(old) and not os.path.lexists(target):
                old.rename(target)
            raise
        flush(target.parent)


@contextmanager
def _alone(kernels: Path) -> Iterator[None]:
    """Keep other processes of ours from exchanging what is in the folder, where its file system has such locks."""
    descriptor = os.open(kernels, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _aside(target: Path, old: Path) -> None:
    """Move one of ours away; what turns out to be somebody else's by then goes back."""
    target.rename(old)
    spec = None if old.is_symlink() else read_kernelspec(old)
    if spec is None or not spec.ours:
        old.rename(target)
        raise InputError(f"{target} was changed by somebody else meanwhile; it is left alone")


@contextmanager
def _failures(doing: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hints = {
            errno.EACCES: "choose a place you may write to with --user, --sys-prefix or --prefix",
            errno.EROFS: "it is mounted read-only; choose another place with --user, --sys-prefix or --prefix",
            errno.ENOSPC: "free some room",
            errno.EDQUOT: "the disk quota of this account is used up",
        }
        hint = hints.get(error.errno or 0, "check the path and its permissions")
        raise LlmenvError(f"cannot {doing} {path}: {error.strerror or error}", hint=hint) from error
