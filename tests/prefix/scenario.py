"""A program that changes one environment, and the judge of what a crash of it left: used by the fault tests.

``python -m tests.prefix.scenario ACTION PREFIX`` does one action; ``sweep`` tries a fault at every operation of one.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from conda_llmenv.errors import LlmenvError
from conda_llmenv.model import EnvState, Phase
from conda_llmenv.prefix.durable import disk_errors
from conda_llmenv.prefix.removal import recover, remove
from conda_llmenv.prefix.state import read_state
from conda_llmenv.prefix.transaction import PrefixTransaction
from tests.prefix.kill import Fault, run_with_fault

FILES = 6
"""Files of the tiny environment."""

OLD, NEW = "old", "new"


def registry(prefix: Path) -> Path:
    """Return the list of environments that goes with a prefix of these tests."""
    return prefix.parent / "home" / ".conda" / "environments.txt"


def make(prefix: Path, content: str, *, replace: bool = False, keep: bool = False, timeout: float = 60) -> None:
    """Create the tiny environment whose files all hold ``content``."""
    with PrefixTransaction(
        prefix, replace=replace, keep=keep, lock_timeout=timeout, registry=registry(prefix)
    ) as transaction:
        install(transaction.prefix, content)
        transaction.commit(
            spec={"content": content},
            state=EnvState(Phase.CREATED, "2026-01-01T00:00:00+00:00"),
            variables={"CONTENT": content},
            history_specs=("tiny",),
        )


def install(prefix: Path, content: str) -> None:
    """Write the files, as a linking tool would."""
    with disk_errors("link into", prefix):
        _install(prefix, content)


def _install(prefix: Path, content: str) -> None:
    for number in range(FILES):
        folder = prefix / f"lib{number % 2}"
        folder.mkdir(exist_ok=True)
        (folder / f"file{number}").write_text(content)
    record = {"name": "tiny", "version": content, "build": "0", "subdir": "noarch", "channel": "https://h.example/c"}
    (prefix / "conda-meta" / "tiny.json").write_text(json.dumps(record))


def fail(prefix: Path, *, replace: bool = False, keep: bool = False) -> None:
    """Begin like :func:`make` and break off in the middle; the failure itself is expected."""
    try:
        with PrefixTransaction(prefix, replace=replace, keep=keep, registry=registry(prefix)) as transaction:
            install(transaction.prefix, NEW)
            raise LlmenvError("the installation broke")  # noqa: TRY301 - what a failing step does
    except LlmenvError as error:
        if error.message != "the installation broke":
            raise


def discard(prefix: Path) -> None:
    """Remove the environment."""
    remove(prefix, registry=registry(prefix))


def judge(prefix: Path) -> str:
    """Return what is at the prefix.

    One of ``absent``, ``begun``, ``creating``, ``failed``, ``old``, ``new``, or a sentence that says what is wrong.
    """
    if not os.path.lexists(prefix):
        return "absent"
    state = read_state(prefix)
    if state is None:
        files = [path for path in prefix.rglob("*") if not path.is_dir() and "llmenv" not in path.parts]
        return "begun" if not files else f"unmarked prefix with {files}"
    if state.phase is not Phase.CREATED:
        listed = (prefix / "conda-meta/history").is_file() and (prefix / "conda-meta/history").stat().st_size == 0
        return "conda lists a half-made environment" if listed else state.phase.value
    contents = {(prefix / f"lib{number % 2}" / f"file{number}").read_text() for number in range(FILES)}
    variables = str(json.loads((prefix / "conda-meta/state").read_text())["env_vars"]["CONTENT"])
    if contents != {variables} or not (prefix / "conda-meta/history").read_text().startswith("==> "):
        return f"an environment called created holds {contents}, variables of {variables}"
    return variables


def litter(prefix: Path) -> list[str]:
    """Return what lies beside the prefix that should not."""
    return [path.name for path in prefix.parent.iterdir() if path.name not in (prefix.name, "home")]


ACTIONS: dict[str, tuple[Callable[[Path], None], bool, tuple[str, ...]]] = {
    "create": (lambda prefix: make(prefix, NEW), False, ("absent", NEW)),
    "replace": (lambda prefix: make(prefix, NEW, replace=True), True, (OLD, NEW)),
    "fail-create": (fail, False, ("absent",)),
    "fail-replace": (lambda prefix: fail(prefix, replace=True), True, (OLD,)),
    "remove": (discard, True, (OLD, "absent")),
}
"""Each action, whether an old environment is there before it, and what may be there in the end."""

AT_ONCE = {"absent", "begun", "creating", OLD, NEW}
"""What may be there right after a crash."""


def sweep(action: str, fault: str, *, second: bool = False, seed: int = 0) -> list[str]:
    """Try the fault at every operation of an action; return each violation found, and none if all is well.

    Args:
        action: a key of :data:`ACTIONS`.
        fault: ``kill``, ``once`` (one operation fails), ``full`` (the disk is full from then on) or ``read-only`` (it
            takes no change any more).
        second: kill the recovery too, at a random operation.
        seed: for the random operation.
    """
    chance = random.Random(seed)
    violations = []
    at = 0
    survived = False
    while not survived:
        at += 1
        problem, survived = _try(action, fault, at, chance.randint(1, 12) if second else None)
        if problem:
            violations.append(f"{action}, {fault} at operation {at}: {problem}")
    if at < 8:
        violations.append(f"{action} made only {at} operations; the harness does not see them")
    return violations


def _try(action: str, fault: str, at: int, again: int | None) -> tuple[str | None, bool]:
    act, has_old, allowed = ACTIONS[action]
    # In memory where that can be: flushing some thousand files to a disk takes minutes and changes nothing here.
    base = Path(tempfile.mkdtemp(prefix="llmenv-kill-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        prefix = base / "env"
        if has_old:
            make(prefix, OLD)
        error = {"kill": None, "once": errno.EIO, "full": errno.ENOSPC, "read-only": errno.EROFS}[fault]
        outcome = run_with_fault(lambda: act(prefix), Fault(at, error, lasting=fault != "once"))
        if outcome.failure and not outcome.failure.startswith("conda_llmenv.errors."):
            return f"a raw error: {outcome.failure}", False
        if judge(prefix) not in AT_ONCE:
            return judge(prefix), False
        if again is not None:
            run_with_fault(lambda: _settle(prefix), Fault(again))
            if judge(prefix) not in AT_ONCE:
                return f"after a second crash: {judge(prefix)}", False
        begun = time.monotonic()
        recover(prefix)
        took = time.monotonic() - begun
        if judge(prefix) not in allowed or litter(prefix) or took > 2:
            return f"recovered to {judge(prefix)} with {litter(prefix)} beside it in {took:.1f} s", False
        make(prefix, NEW, replace=True)
        final = judge(prefix)
        return (None if final == NEW else f"the next create gave {final}"), not outcome.met
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _settle(prefix: Path) -> None:
    recover(prefix)


def main(argv: list[str]) -> int:
    """Do one action, or sweep one and print what is wrong as JSON."""
    if argv[0] == "sweep":
        print(json.dumps(sweep(argv[1], argv[2], second="second" in argv[3:])))
        return 0
    try:
        ACTIONS[argv[0]][0](Path(argv[1]))
    except LlmenvError as error:
        print(json.dumps({"code": error.code, "message": error.message, "hint": error.hint, "details": error.details}))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
