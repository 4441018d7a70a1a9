"""Creating and replacing an environment: all of it or nothing of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from conda_llmenv.errors import InputError, Interrupted, LlmenvError, LockBusy, PrefixError
from conda_llmenv.model import EnvState, Owner, Phase
from conda_llmenv.prefix import owner as owners
from conda_llmenv.prefix.journal import Entry, Workplace
from conda_llmenv.prefix.removal import recover
from conda_llmenv.prefix.state import read_spec, read_state, write_state
from conda_llmenv.prefix.transaction import PrefixTransaction
from tests.prefix.scenario import NEW, OLD, fail, install, judge, litter, make, registry
from tests.prefix.test_crashes import environment, program

DONE = EnvState(Phase.CREATED, "2026-01-01T00:00:00+00:00")
SECRET = "s3cr3t-canary"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return a path for an environment, alone in its folder."""
    (tmp_path / "envs").mkdir()
    return tmp_path / "envs" / "env"


def inside(prefix: Path, work: Callable[[], None]) -> None:
    """Do ``work`` where an installation would be."""
    with PrefixTransaction(prefix, replace=True):
        work()


def test_a_new_environment_is_complete(prefix: Path) -> None:
    """State, variables, history and registration are there, and nothing lies beside the prefix."""
    make(prefix, NEW)
    assert judge(prefix) == NEW
    state = read_state(prefix)
    assert state is not None
    assert state.phase is Phase.CREATED
    assert state.owner is None
    assert registry(prefix).read_text() == f"{prefix}\n"
    history = (prefix / "conda-meta/history").read_text().splitlines()
    package = "+https://h.example/c/noarch::tiny-new-0"
    assert history[1:] == ["# cmd: llmenv create", package, "# update specs: ['tiny']"]
    assert litter(prefix) == []


def test_it_is_marked_and_unlisted_while_it_is_made(prefix: Path) -> None:
    """Between conda and pip the state says ``creating`` and conda does not take it for an environment (row 2)."""
    with PrefixTransaction(prefix) as transaction:
        install(prefix, NEW)
        (prefix / "conda-meta/history").touch()  # what rattler does unless something is there
        state = read_state(prefix)
        assert state is not None
        assert state.phase is Phase.CREATING
        assert state.owner == owners.current()
        assert not (prefix / "conda-meta/history").is_file()
        transaction.commit(spec={}, state=DONE, variables={"CONTENT": NEW})
    assert judge(prefix) == NEW


def test_a_failed_new_environment_is_gone(prefix: Path) -> None:
    """Nothing is left of it, of folders made for it, or of our own files."""
    deep = prefix / "a" / "b"
    fail(deep)
    assert not prefix.exists()
    assert list(prefix.parent.iterdir()) == []


def test_a_failed_replacement_brings_the_old_one_back(prefix: Path) -> None:
    """The environment that was there works as before (case 55)."""
    make(prefix, OLD)
    fail(prefix, replace=True)
    assert judge(prefix) == OLD
    assert litter(prefix) == []


def test_keep_leaves_a_failed_new_environment_with_the_reason(prefix: Path) -> None:
    """``--keep``: state ``failed``, the reason, and conda still does not list it."""
    fail(prefix, keep=True)
    state = read_state(prefix)
    assert state is not None
    assert (state.phase, state.reason) == (Phase.FAILED, "the installation broke")
    assert not (prefix / "conda-meta/history").is_file()
    assert litter(prefix) == []
    make(prefix, NEW, replace=True)
    assert judge(prefix) == NEW


def test_keep_never_stands_in_for_an_old_environment(prefix: Path) -> None:
    """With something to go back to, keeping a failure would lose it."""
    make(prefix, OLD)
    fail(prefix, replace=True, keep=True)
    assert judge(prefix) == OLD


def test_an_existing_environment_needs_a_yes(prefix: Path) -> None:
    """Without ``replace`` it is untouched."""
    make(prefix, OLD)
    with pytest.raises(PrefixError, match="is an environment already"):
        make(prefix, NEW)
    assert judge(prefix) == OLD


def test_a_block_without_commit_is_a_failure(prefix: Path) -> None:
    """An environment that nobody finished is never called good."""
    with pytest.raises(PrefixError, match="was not finished"), PrefixTransaction(prefix):
        install(prefix, NEW)
    assert not prefix.exists()


def test_an_empty_folder_is_used_and_given_back(prefix: Path) -> None:
    """A folder that was there before stays, whatever happens; only what we put in it goes (row 33)."""
    prefix.mkdir()
    inode = prefix.stat().st_ino
    fail(prefix)
    assert list(prefix.iterdir()) == []
    make(prefix, NEW)
    assert judge(prefix) == NEW
    assert prefix.stat().st_ino == inode


@pytest.mark.parametrize("kind", ["data", "file", "dangling"])
def test_what_is_not_ours_is_never_touched(kind: str, prefix: Path) -> None:
    """A folder with data, a file and a dangling link are refused, even with ``replace`` (row 33)."""
    if kind == "data":
        prefix.mkdir()
        (prefix / "thesis.tex").write_text("years of work")
    elif kind == "file":
        prefix.write_text("years of work")
    else:
        prefix.symlink_to("nowhere")
    before = sorted(path.lstat().st_ino for path in prefix.parent.rglob("*"))
    with pytest.raises(PrefixError):
        make(prefix, NEW, replace=True)
    assert sorted(path.lstat().st_ino for path in prefix.parent.rglob("*")) == before


def test_read_only_folders_inside_are_no_obstacle(prefix: Path) -> None:
    """Some packages ship folders that even their owner may not write; they go too."""

    def link() -> None:
        (prefix / "share" / "x").mkdir(parents=True)
        (prefix / "share" / "x" / "file").touch()
        (prefix / "share" / "x").chmod(0o500)
        (prefix / "share").chmod(0o500)
        raise LlmenvError("broke")

    with pytest.raises(LlmenvError, match="broke"):
        inside(prefix, link)
    assert not prefix.exists()


def test_links_out_of_the_prefix_are_not_followed(prefix: Path, tmp_path: Path) -> None:
    """Deleting a half-made environment deletes links, never what they point to."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "keep").touch()

    def link() -> None:
        (prefix / "data").symlink_to(tmp_path / "data")
        raise LlmenvError("broke")

    with pytest.raises(LlmenvError, match="broke"):
        inside(prefix, link)
    assert (tmp_path / "data" / "keep").exists()


def test_a_bad_variable_undoes_everything(prefix: Path) -> None:
    """The last step can still refuse; then nothing is left."""
    with pytest.raises(InputError, match="activate"), PrefixTransaction(prefix) as transaction:
        transaction.commit(spec={}, state=DONE, variables={"A": "it's"})
    assert not prefix.exists()


def test_no_secret_is_written(prefix: Path) -> None:
    """A canary in URLs of spec, state, specs and command is in no file (case 36, row 39)."""
    url = f"https://user:{SECRET}@h.example/t/{SECRET}/c?token={SECRET}"
    with PrefixTransaction(prefix, registry=registry(prefix)) as transaction:
        transaction.commit(
            spec={"channels": [url], url: 1, "nested": {"pip": [f"x @ git+{url}"]}},
            state=EnvState(Phase.CREATED, "now", reason=url, facts={"index": url}),
            variables={"A": "1"},
            history_specs=(f"{url}::tiny",),
            command=f"llmenv create -c {url} HF_TOKEN={SECRET}",
        )
    files = [path for path in prefix.parent.rglob("*") if path.is_file()]
    assert len(files) >= 4
    assert [path for path in files if SECRET in path.read_text()] == []
    assert read_spec(prefix) is not None
    private = [prefix / "conda-meta/llmenv" / name for name in ("state.json", "spec.json")]
    assert [path.stat().st_mode & 0o777 for path in private] == [0o600, 0o600]


def test_one_of_twenty_wins(prefix: Path) -> None:
    """Twenty processes create the same environment at once: one makes it, the others say it is there (row 22)."""
    command = program("create", str(prefix))
    runs = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(prefix.parent / "home"))
        for _ in range(20)
    ]
    outputs = [run.communicate(timeout=120)[0] for run in runs]
    assert sorted(run.returncode for run in runs) == [0] + [1] * 19
    assert all("is an environment already" in output for output in outputs if output)
    assert judge(prefix) == NEW
    assert litter(prefix) == []


def test_a_second_process_waits_and_names_the_first(prefix: Path) -> None:
    """The message comes within a second, and the refusal names host, pid and since when (row 22)."""
    said: list[tuple[float, str]] = []
    failures: list[LlmenvError] = []

    def second() -> None:
        begun = time.monotonic()
        waiting = PrefixTransaction(
            prefix, lock_timeout=0.6, on_wait=lambda text: said.append((time.monotonic() - begun, text))
        )
        try:
            with waiting:
                pass
        except LlmenvError as error:
            failures.append(error)

    with PrefixTransaction(prefix) as transaction:
        other = threading.Thread(target=second)
        other.start()
        other.join(30)
        transaction.commit(spec={}, state=DONE, variables={"CONTENT": NEW})
    holder = owners.current()
    assert [text for _, text in said] == [
        text for _, text in said if f"process {holder.pid} on {holder.host}" in text and "waiting for" in text
    ]
    assert len(said) == 1
    assert said[0][0] < 1
    assert [type(error) for error in failures] == [LockBusy]
    assert f"process {holder.pid} on {holder.host} (since 20" in failures[0].message


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("old", [True, False])
def test_signals_take_everything_back(number: int, code: int, *, old: bool, prefix: Path) -> None:
    """A signal in the middle ends with 128 + its number; the old environment is back, or nothing is there (row 3)."""
    if old:
        make(prefix, OLD)
    before = {signal.Signals(each): signal.getsignal(each) for each in (2, 15, 1)}

    def link() -> None:
        install(prefix, NEW)
        os.kill(os.getpid(), number)
        time.sleep(5)

    with pytest.raises(Interrupted) as caught:
        inside(prefix, link)
    assert caught.value.exit_code == code
    assert judge(prefix) == (OLD if old else "absent")
    assert litter(prefix) == []
    assert {signal.Signals(each): signal.getsignal(each) for each in (2, 15, 1)} == before


def test_a_second_signal_does_not_break_the_rollback(prefix: Path) -> None:
    """Whoever presses Ctrl-C twice gets the old environment back all the same."""
    make(prefix, OLD)
    script = """
import os, signal, sys
from pathlib import Path
from conda_llmenv.prefix.transaction import PrefixTransaction
from tests.prefix.scenario import install
armed = False
def again(event, arguments):
    if armed and event in ("os.rename", "os.remove", "os.rmdir"):
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(again)
with PrefixTransaction(Path(sys.argv[1]), replace=True) as transaction:
    install(transaction.prefix, "new")
    armed = True
    os.kill(os.getpid(), signal.SIGINT)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(prefix)],
        env=environment(prefix.parent / "home"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "conda_llmenv.errors.Interrupted" in done.stderr
    assert judge(prefix) == OLD
    assert litter(prefix) == []


def test_a_signal_during_the_last_step_waits_for_it(prefix: Path) -> None:
    """What is being committed is committed; the signal counts right after."""

    def create() -> None:
        with PrefixTransaction(prefix) as transaction:
            install(prefix, NEW)
            timer = _signal_when((prefix / "conda-meta/state").exists)
            transaction.commit(spec={"x": list(range(300_000))}, state=DONE, variables={"CONTENT": NEW})
            timer.join()

    with pytest.raises(KeyboardInterrupt):
        create()
    assert judge(prefix) == NEW


def _signal_when(ready: Callable[[], bool]) -> threading.Thread:
    """Send SIGINT from another thread once ``ready`` says so."""

    def watch() -> None:
        while not ready():
            time.sleep(0.0001)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_signals_that_were_ignored_stay_ignored(prefix: Path) -> None:
    """Under ``nohup`` a hang-up does not end the work."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with PrefixTransaction(prefix) as transaction:
            os.kill(os.getpid(), signal.SIGHUP)
            transaction.commit(spec={}, state=DONE, variables={"CONTENT": NEW})
    finally:
        signal.signal(signal.SIGHUP, before)
    assert read_state(prefix) is not None


def leave_unfinished(prefix: Path, owner: Owner) -> None:
    """Leave what a crash of another process leaves in the middle of replacing an environment."""
    make(prefix, OLD)
    work = Workplace(prefix)
    work.open(Entry("replace", "token", owner))
    prefix.rename(work.old)
    (prefix / "conda-meta/llmenv").mkdir(parents=True)
    write_state(prefix, EnvState(Phase.CREATING, "now", owner=owner, facts={"transaction": "token"}))
    install(prefix, NEW)


def other_host() -> Owner:
    """Return an owner that this machine cannot judge."""
    here = owners.current()
    return Owner("another-host.example", here.pid, here.started, here.boot_id)


def dead() -> Owner:
    """Return an owner with our pid, but an earlier start: the pid was used again."""
    here = owners.current()
    return Owner(here.host, here.pid, here.started - 1, here.boot_id)


def test_work_of_another_host_is_left_alone(prefix: Path) -> None:
    """Its owner may be alive; the message says what to do if it is not (row 27)."""
    leave_unfinished(prefix, other_host())
    for attempt in (partial(make, prefix, NEW, replace=True), partial(recover, prefix)):
        with pytest.raises(LockBusy, match=r"process \d+ on another-host.example") as caught:
            attempt()
        assert "llmenv remove --force" in caught.value.hint
    assert judge(prefix) == "creating"
    assert recover(prefix, assume_dead=True)
    assert judge(prefix) == OLD


def test_work_of_a_living_process_is_left_alone(prefix: Path) -> None:
    """Even where its lock has gone."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        start = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19])
        here = owners.current()
        leave_unfinished(prefix, Owner(here.host, child.pid, start, here.boot_id))
        with pytest.raises(LockBusy, match=f"process {child.pid} on"):
            make(prefix, NEW, replace=True)
        assert judge(prefix) == "creating"
    finally:
        child.communicate()
    make(prefix, NEW, replace=True)
    assert judge(prefix) == NEW


def test_a_dead_process_is_undone_by_the_next_call(prefix: Path) -> None:
    """A pid that somebody else has now, and a boot that is over, are dead (row 27)."""
    for owner in (dead(), Owner(owners.current().host, 1, 1, "an-earlier-boot/pid:[1]")):
        leave_unfinished(prefix, owner)
        with pytest.raises(PrefixError, match="is an environment already"):
            make(prefix, NEW)
        assert judge(prefix) == OLD
        assert litter(prefix) == []
        make(prefix, NEW, replace=True)
        recover(prefix)
        prefix.rename(prefix.with_name("home-of-the-last"))
        (prefix.with_name("home-of-the-last")).rename(prefix.parent.parent / f"done-{owner.started}")


def test_a_marked_prefix_without_journal_is_removed(prefix: Path) -> None:
    """Somebody deleted our files beside it; what says ``creating`` and has a dead owner is ours to delete."""
    (prefix / "conda-meta/llmenv").mkdir(parents=True)
    write_state(prefix, EnvState(Phase.CREATING, "now", owner=dead()))
    install(prefix, OLD)
    make(prefix, NEW)
    assert judge(prefix) == NEW


def test_what_somebody_put_in_place_meanwhile_is_kept(prefix: Path) -> None:
    """Another tool made an environment at the path before we could recover: theirs stays, ours waits, and we say so."""
    leave_unfinished(prefix, dead())
    prefix.rename(prefix.parent.parent / "half")
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta/history").write_text("==> 2026-01-01 00:00:00 <==\n")
    with pytest.raises(PrefixError, match="was made by somebody else"):
        recover(prefix)
    assert (prefix / "conda-meta/history").exists()
    assert judge(Workplace(prefix).old) == OLD


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\x00\x80", b"[]", b'{"version": 99}', b'{"version": 1, "kind": "dance"}', b"[" * 100_000],
    ids=["empty", "half", "binary", "list", "future", "unknown", "deep"],
)
def test_a_broken_journal_is_named_and_nothing_is_touched(content: bytes, prefix: Path) -> None:
    """Never a crash, never a guess (row 21)."""
    leave_unfinished(prefix, dead())
    journal = Workplace(prefix).journal
    journal.write_bytes(content)
    with pytest.raises(PrefixError) as caught:
        make(prefix, NEW, replace=True)
    assert str(journal) in caught.value.message
    assert caught.value.hint
    assert judge(Workplace(prefix).old) == OLD


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another account")
def test_a_work_folder_of_somebody_else_is_refused(prefix: Path) -> None:
    """In a shared folder another account may have made it to lead us astray (row 32)."""
    work = Workplace(prefix)
    work.folder.mkdir()
    os.chown(work.folder, 12345, 12345)
    with pytest.raises(PrefixError, match="belongs to somebody else"):
        make(prefix, NEW)
    work.folder.rmdir()
    (prefix.parent / "elsewhere").mkdir()
    work.folder.symlink_to(prefix.parent / "elsewhere")
    with pytest.raises(PrefixError, match="belongs to somebody else"):
        make(prefix, NEW)


def test_state_survives_a_round_trip(prefix: Path) -> None:
    """What the pipeline commits is what ``info`` reads."""
    state = EnvState(Phase.VERIFIED, "now", tier="a100", recipe="sft", llmenv="1", facts={"conda_packages": 3})
    with PrefixTransaction(prefix) as transaction:
        transaction.commit(spec={"a": [1, None, "ü"]}, state=state, variables={})
    read = read_state(prefix)
    assert read is not None
    assert (read.phase, read.tier, read.recipe, read.facts["conda_packages"]) == (Phase.VERIFIED, "a100", "sft", 3)
    assert read_spec(prefix) == {"a": [1, None, "ü"]}
    assert json.loads((prefix / "conda-meta/state").read_text()) == {
        "version": 1,
        "env_vars": {"PYTHONNOUSERSITE": "1"},
    }
