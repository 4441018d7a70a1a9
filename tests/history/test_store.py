"""Reports are kept in two places and found again, whatever else lies there and whoever else writes."""

from __future__ import annotations

import datetime as dt
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from conda_llmenv.errors import InputError
from conda_llmenv.history.places import history_folder
from conda_llmenv.history.report_file import LARGEST, encode, file_name
from conda_llmenv.history.store import INSIDE, KEPT_INSIDE, MOST, Store, read_report
from conda_llmenv.model import Level, Notice, Status
from tests.history.reports import STATE, environment, report, result, store

ROOT = Path(__file__).parent.parent.parent
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts a file system, or acts for another account")


def names(folder: Path) -> list[str]:
    """Every name in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_it_is_kept_in_the_environment_and_in_the_folder(tmp_path: Path) -> None:
    """Under the same name, and found once."""
    prefix = environment(tmp_path / "env")
    one = report(prefix)
    kept = store(tmp_path / "history")
    assert kept.keep(one) == ()
    assert names(prefix / INSIDE) == names(tmp_path / "history") == [file_name(one, encode(one))]
    assert list(kept.reports()) == list(kept.reports(prefix)) == [one]


def test_newest_first_and_by_environment(tmp_path: Path) -> None:
    """Whatever the order in which they were written."""
    kept = store(tmp_path / "history")
    for day in (3, 1, 2):
        kept.keep(report("/envs/a", day))
        kept.keep(report("/envs/b", day + 0.5))
    assert [one.started[8:10] for one in kept.reports(Path("/envs/a"))] == ["05", "04", "03"]
    assert [one.prefix for one in kept.reports()] == ["/envs/b", "/envs/a"] * 3


def test_an_environment_shows_its_reports_to_who_has_another_folder(tmp_path: Path) -> None:
    """Of a shared environment, somebody else finds the pass of whoever made it."""
    prefix = environment(tmp_path / "env")
    store(tmp_path / "admin").keep(report(prefix))
    mine = store(tmp_path / "mine")
    assert len(list(mine.reports(prefix))) == 1
    assert list(mine.reports()) == []
    assert len(list(mine.reports(also=[prefix, prefix]))) == 1


def test_a_copied_environment_does_not_inherit_reports(tmp_path: Path) -> None:
    """What is in its folder is about another path."""
    prefix = environment(tmp_path / "env")
    kept = store(tmp_path / "history")
    kept.keep(report(prefix))
    subprocess.run(["cp", "-a", prefix, tmp_path / "copy"], check=True)
    assert list(kept.reports(tmp_path / "copy")) == []


def test_a_link_to_an_environment_finds_its_reports(tmp_path: Path) -> None:
    """A report about the place itself is found by either way."""
    prefix = environment(tmp_path / "env")
    kept = store(tmp_path / "history")
    kept.keep(report(prefix))
    (tmp_path / "link").symlink_to(prefix)
    assert len(list(kept.reports(tmp_path / "link"))) == 1


def test_by_fingerprint_only_what_matches_is_read(tmp_path: Path) -> None:
    """Others are not even opened, so a large folder costs little."""
    told: list[Notice] = []
    kept = store(tmp_path / "history", told)
    kept.keep(report("/envs/a", 1))
    kept.keep(report("/envs/a", 2, fingerprint="ab" * 32))
    broken = next(path for path in (tmp_path / "history").iterdir() if "abab" in path.name)
    broken.write_text("{")
    assert len(list(kept.reports(Path("/envs/a"), fingerprint=STATE))) == 1
    assert told == []


def test_the_person_s_own_folder_is_private(tmp_path: Path) -> None:
    """Made where it is missing, with the folders above it, and nobody else may look."""
    folder = tmp_path / "share" / "llmenv" / "history"
    store(folder).keep(report())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_in_a_shared_folder_the_umask_decides(tmp_path: Path, umask: int, mode: int) -> None:
    """As for every file somebody puts there."""
    folder = tmp_path / "team"
    folder.mkdir()
    folder.chmod(0o775)
    before = os.umask(umask)
    try:
        store(folder, asked="LLMENV_HISTORY").keep(report())
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [mode]


def test_a_folder_somebody_named_is_made_but_not_what_is_above_it(tmp_path: Path) -> None:
    """Where a disk is not mounted, nothing is put beneath its mount point; the warning says who named the folder."""
    assert store(tmp_path / "team", asked="LLMENV_HISTORY").keep(report()) == ()
    (notice,) = store(tmp_path / "nfs" / "team", asked="LLMENV_HISTORY").keep(report())
    assert "which LLMENV_HISTORY names: No such file" in notice.message
    assert not (tmp_path / "nfs").exists()


def test_an_environment_that_is_gone_is_no_problem(tmp_path: Path) -> None:
    """Somebody removed it while it was verified: the folder has the report, and no stub of the environment appears."""
    kept = store(tmp_path / "history")
    assert kept.keep(report(tmp_path / "env")) == ()
    assert not (tmp_path / "env").exists()
    assert len(list(kept.reports(tmp_path / "env"))) == 1


@pytest.mark.parametrize("thing", ["file", "link that leads nowhere", "folder nobody may enter"])
def test_a_folder_that_cannot_be_used_is_a_warning(tmp_path: Path, thing: str) -> None:
    """Never a failure: the report is in the environment all the same."""
    prefix, folder = environment(tmp_path / "env"), tmp_path / "history"
    if thing == "file":
        folder.touch()
    elif thing == "folder nobody may enter":
        folder.mkdir(mode=0)
    else:
        folder.symlink_to(tmp_path / "nowhere")
    told: list[Notice] = []
    kept = store(folder, told, asked="LLMENV_HISTORY")
    notices = kept.keep(report(prefix))
    if not (os.geteuid() == 0 and thing == "folder nobody may enter"):
        assert [notice.code for notice in notices] == ["report-unkept"]
        assert "see that the folder is there" in notices[0].hint
    assert len(list(kept.reports(prefix))) == 1


@as_root
def test_a_read_only_folder_is_a_warning(tmp_path: Path) -> None:
    """A team's folder that is mounted read-only: the reports in it are read, and the environment has the new one."""
    folder, prefix = tmp_path / "team", environment(tmp_path / "env")
    folder.mkdir()
    store(folder, asked="LLMENV_HISTORY").keep(report(prefix, 1))
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        kept = store(folder, asked="llmenv_history")
        (notice,) = kept.keep(report(prefix, 2))
        assert notice.message == (
            f"the report is not kept in {folder}, which llmenv_history names: Read-only file system"
        )
        assert len(list(kept.reports(prefix))) == 2
    finally:
        subprocess.run(["umount", folder], check=True)


@as_root
def test_a_full_disk_is_a_warning_and_leaves_nothing(tmp_path: Path) -> None:
    """Not half a report, nor the rest of one."""
    folder = tmp_path / "full"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], check=True)
    try:
        (folder / "filler").write_bytes(b"x" * 60_000)
        long = report("/envs/a", 0, *(result(f"c{n}", detail=("x" * 100,) * 10) for n in range(50)))
        told: list[Notice] = []
        kept = store(folder, told)
        (notice,) = kept.keep(long)
        assert "No space left on device" in notice.message
        assert names(folder) == ["filler"]
        assert list(kept.reports()) == []
        assert told == []
    finally:
        subprocess.run(["umount", folder], check=True)


@as_root
def test_an_environment_on_a_full_disk_is_told_as_well(tmp_path: Path) -> None:
    """It is ours to write, and still has no report: the next preflight of somebody else will not find one."""
    prefix = environment(tmp_path / "env")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=3", "none", prefix / "conda-meta"], check=True)
    try:
        notices = store(tmp_path / "history").keep(report(prefix))
        assert [notice.code for notice in notices] == ["report-unkept"]
        assert str(INSIDE) in notices[0].message
    finally:
        subprocess.run(["umount", prefix / "conda-meta"], check=True)


def test_the_environment_keeps_the_last_fifty_and_the_last_pass(tmp_path: Path) -> None:
    """Preflights of a year do not push out the proof; the folder keeps everything."""
    prefix = environment(tmp_path / "env")
    kept = store(tmp_path / "history")
    kept.keep(report(prefix, 0))  # an older pass, which may go
    kept.keep(report(prefix, 1))
    kept.keep(report(prefix, 2, result(status=Status.FAIL)))
    kept.keep(report(prefix, 3, whole=False))
    kept.keep(report(prefix, 4, unproven="no GPU here"))
    for number in range(KEPT_INSIDE + 5):
        kept.keep(report(prefix, 5 + number, level=Level.QUICK))
    inside = names(prefix / INSIDE)
    assert len(inside) == KEPT_INSIDE + 1
    assert [name[:15] for name in inside if "full" in name] == ["20261103T080000"]
    assert len(names(tmp_path / "history")) == KEPT_INSIDE + 10


def test_preflights_by_the_thousand_do_not_hide_a_pass(tmp_path: Path) -> None:
    """A team's folder with a job array a day: the pass of last week is found, and of the preflights the newest."""
    folder = tmp_path / "team"
    folder.mkdir()
    for number in range(MOST + 100):
        one = report("/envs/sft", 1 + number / 1000, level=Level.QUICK)
        (folder / file_name(one, encode(one))).write_bytes(encode(one))
    kept = store(folder, asked="LLMENV_HISTORY")
    kept.keep(report("/envs/sft", 0))
    found = list(kept.reports())
    assert len(found) == MOST + 1
    assert found[-1].level is Level.FULL
    assert found[0] == report("/envs/sft", 1 + (MOST + 99) / 1000, level=Level.QUICK)


def test_a_lockfile_is_kept_beside_and_found_again(tmp_path: Path) -> None:
    """In both places, by the state it is of; of an unknown state none is kept."""
    prefix = environment(tmp_path / "env")
    kept, one = store(tmp_path / "history"), report(prefix)
    assert kept.lock_of(one) is None
    assert kept.keep(one, "version: 1") == ()
    for folder in (tmp_path / "history", prefix / INSIDE):
        assert (folder / f"{STATE[:12]}.conda-lock.yml").read_text() == "version: 1"
    found = kept.lock_of(report(prefix, 5))
    assert found is not None
    assert (found.path.parent, found.owner) == (tmp_path / "history", os.geteuid())
    assert store(tmp_path / "elsewhere").lock_of(one) is not None
    assert kept.lock_of(report(prefix, fingerprint="ab" * 32)) is None
    unknown = report(prefix, 6, fingerprint="")
    kept.keep(unknown, "version: 1")
    assert kept.lock_of(unknown) is None
    assert list(kept.reports()) == [unknown, one]


def test_lockfiles_of_others_are_left_alone(tmp_path: Path) -> None:
    """Where the folder in the environment is a link to one in which somebody works."""
    prefix, work = environment(tmp_path / "env"), tmp_path / "work"
    work.mkdir()
    (work / "my.conda-lock.yml").touch()
    (work / "conda-lock.yml").touch()
    (prefix / INSIDE).parent.mkdir()
    (prefix / INSIDE).symlink_to(work)
    for number in range(3):
        store(tmp_path / "history").keep(report(prefix, number, fingerprint=f"{number:064x}"), "version: 1")
    locks = [name for name in names(work) if name.endswith("lock.yml")]
    assert set(locks) > {"my.conda-lock.yml", "conda-lock.yml"}


def test_a_link_in_the_place_of_a_lockfile_is_not_followed(tmp_path: Path) -> None:
    """In a shared folder anybody could make one."""
    folder = tmp_path / "team"
    folder.mkdir()
    (tmp_path / "other").touch()
    (folder / f"{STATE[:12]}.conda-lock.yml").symlink_to(tmp_path / "other")
    assert store(folder).lock_of(report()) is None


def test_within_the_last_fifty_the_pass_is_one_of_them(tmp_path: Path) -> None:
    """Then there are fifty and no more."""
    prefix = environment(tmp_path / "env")
    kept = store(tmp_path / "history")
    for number in range(KEPT_INSIDE + 5):
        kept.keep(report(prefix, number))
    assert len(names(prefix / INSIDE)) == KEPT_INSIDE


WRITER = """
import sys
from pathlib import Path
from tests.history.reports import report, store
folder, prefix, number = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
for turn in range(10):
    notices = store(folder, asked="LLMENV_HISTORY").keep(report(prefix, turn, hostname=f"node-{number}"))
    assert notices == (), notices
"""


def test_twenty_processes_write_into_one_folder(tmp_path: Path) -> None:
    """Without a lock, as on NFS: every report is whole at every moment, and pruning does not get in the way."""
    prefix, folder = environment(tmp_path / "env"), tmp_path / "team"
    told: list[Notice] = []
    kept = store(folder, told)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, folder, prefix, str(number)],
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(20)
    ]
    try:
        while any(one.poll() is None for one in running):
            list(kept.reports(prefix))
            time.sleep(0.05)
    finally:
        errors = [one.communicate()[1] for one in running]
    assert [one.returncode for one in running] == [0] * 20, errors
    assert told == []
    found = list(kept.reports())
    assert len(found) == len({(one.started, one.hostname) for one in found}) == 200
    assert all(name.endswith(".json") for name in names(folder))
    assert KEPT_INSIDE <= len(names(prefix / INSIDE)) <= KEPT_INSIDE + 1


def plant(folder: Path, stamp: str, content: bytes | None) -> Path:
    """Put a file among the reports that looks like one by its name; None for the name alone."""
    path = folder / f"{stamp}-full-{STATE[:12]}-evil-00000000.json"
    if content is not None:
        path.write_bytes(content)
    return path


def test_hostile_files_in_a_shared_folder(tmp_path: Path) -> None:
    """Huge, deep, a link, a pipe, a folder, of the future, of a later format: each is named with its reason."""
    folder = tmp_path / "team"
    told: list[Notice] = []
    kept = store(folder, told, asked="LLMENV_HISTORY")
    good = report()
    kept.keep(good)
    secret = tmp_path / "secret"
    secret.write_bytes(encode(good))
    plant(folder, "20261101T000001Z", b"[" * 1_000_000)
    plant(folder, "20261101T000002Z", None).symlink_to(secret)
    os.mkfifo(plant(folder, "20261101T000003Z", None))
    plant(folder, "20261101T000004Z", None).mkdir()
    plant(folder, "20261101T000005Z", b'{"llmenv_report": 99}')
    plant(folder, "20261101T000006Z", encode(good))
    plant(folder, "20261101T000007Z", b"")
    with plant(folder, "20261101T000008Z", b"").open("wb") as sparse:
        sparse.truncate(LARGEST * 100_000)
    plant(folder, "20991101T080000Z", encode(replace(good, started="2099-11-01T08:00:00+00:00")))
    begun = time.monotonic()
    assert list(kept.reports()) == [good]
    assert time.monotonic() - begun < 2
    reasons = {notice.message.split(" is passed over: ")[1] for notice in told}
    assert reasons == {
        "it holds no report",
        "it is a link",
        "it is no plain file",
        "a later llmenv wrote it (format 99, known here is 1); upgrade conda-llmenv to read it",
        "its name gives another time than it holds",
        f"it is larger than {LARGEST} bytes",
        "it is dated in the future",
    }
    assert len(told) == 9


def test_odd_names_are_no_reports(tmp_path: Path) -> None:
    """A folder may hold what it likes: notes, hidden files, what is being written at this moment."""
    folder = tmp_path / "team"
    kept = store(folder)
    kept.keep(report())
    for name in (
        "README.md",
        ".hidden.json",
        ".0123.tmp",
        "a.json",
        "20261101T000000Z-full-x.json",
        "\udcff.json",
        "a\n",
    ):
        (folder / name).write_text("{")
    assert len(list(kept.reports())) == 1


def test_a_clock_that_is_a_little_ahead_is_no_forgery(tmp_path: Path) -> None:
    """Machines disagree by minutes."""
    soon = dt.datetime.now(dt.timezone.utc) + dt.timedelta(minutes=30)
    kept = store(tmp_path / "history")
    kept.keep(replace(report(), started=soon.isoformat(timespec="seconds")))
    assert len(list(kept.reports())) == 1


def test_a_link_in_the_way_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    """In a folder where anybody may make links, nothing outside is touched."""
    folder, victim = tmp_path / "team", tmp_path / "victim"
    folder.mkdir()
    victim.write_text("precious")
    one = report()
    (folder / file_name(one, encode(one))).symlink_to(victim)
    assert store(folder, asked="LLMENV_HISTORY").keep(one) == ()
    assert victim.read_text() == "precious"


def give_away(folder: Path) -> None:
    """Let everything in a folder belong to another account."""
    for path in folder.iterdir():
        os.chown(path, 12345, 12345)


@as_root
def test_a_pass_that_somebody_else_wrote_is_shown_and_proves_nothing(tmp_path: Path) -> None:
    """Whoever may write into a team's folder could put a pass there; only who could change the environment may."""
    prefix = environment(tmp_path / "env")
    folder = tmp_path / "team"
    theirs = report(prefix)
    folder.mkdir()
    (folder / file_name(theirs, encode(theirs))).write_bytes(encode(theirs))
    mine = store(folder, asked="LLMENV_HISTORY")
    assert list(mine.reports(prefix, trusted=True)) == [theirs]
    give_away(folder)
    assert list(mine.reports(prefix)) == [theirs]
    assert list(mine.reports(prefix, trusted=True)) == []
    os.chown(prefix, 12345, 12345)
    assert list(mine.reports(prefix, trusted=True)) == [theirs]


def test_the_variable_wins_over_the_setting_and_the_setting_over_home(tmp_path: Path, isolated_home: Path) -> None:
    """In this order, and an empty variable is none."""
    team, mine = tmp_path / "team", tmp_path / "mine"
    assert history_folder({"LLMENV_HISTORY": str(mine)}, team).path == mine
    assert history_folder({"LLMENV_HISTORY": "~/reports"}, team).path == isolated_home / "reports"
    assert history_folder({"LLMENV_HISTORY": " "}, team).path == team
    own = history_folder({})
    assert own.path == isolated_home / ".local" / "share" / "llmenv" / "history"
    assert own.asked == ""


def test_a_named_file_is_read_by_link_or_not_at_all(tmp_path: Path) -> None:
    """A person may link to a report; what is none is a mistake in the command, with the file's name."""
    one = report()
    kept = store(tmp_path / "history")
    kept.keep(one)
    path = next((tmp_path / "history").iterdir())
    (tmp_path / "good.json").symlink_to(path)
    assert read_report(tmp_path / "good.json") == one
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match=r"bad\.json is no report: it holds no report"):
        read_report(tmp_path / "bad.json")
    with pytest.raises(InputError, match="No such file"):
        read_report(tmp_path / "none.json")


def test_a_thousand_reports_are_read_quickly(tmp_path: Path) -> None:
    """A team's folder of a year does not slow a preflight down."""
    folder = tmp_path / "team"
    folder.mkdir()
    for number in range(1000):
        lines, level = (result(f"c{index}") for index in range(40)), Level.FULL if number < 500 else Level.QUICK
        one = report(f"/envs/{number % 10}", -number / 100, *lines, level=level)
        content = encode(one)
        (folder / file_name(one, content)).write_bytes(content)
    kept: Store = store(folder)
    begun = time.monotonic()
    assert len(list(kept.reports(Path("/envs/3")))) == 100
    assert time.monotonic() - begun < 2
