"""``llmenv history``: what has worked, how to get it back, and what has changed since."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from conda_llmenv.cli import remembering
from conda_llmenv.cli.console import JSON_VERSION
from conda_llmenv.history.store import INSIDE, Store
from conda_llmenv.model import Level, Report, Status
from conda_llmenv.prefix.fingerprint import fingerprint
from tests.history.reports import VERSIONS, environment, report, result, store
from tests.program import Program

FAILED = result(status=Status.FAIL, summary="the sum is wrong", figures={"bf16_tflops": 610.0})
OTHER: dict[str, Any] = {"versions": {**VERSIONS, "torch": "2.10.0"}, "fingerprint": "ab" * 32}


@pytest.fixture
def envs(llmenv: Program, tmp_path: Path) -> Path:
    """The folder of named environments."""
    llmenv.environ["CONDA_ENVS_DIRS"] = str(tmp_path / "envs")
    return tmp_path / "envs"


@pytest.fixture
def own(llmenv: Program) -> Store:
    """The person's own store, as the program finds it."""
    return store(Path(llmenv.environ["HOME"], ".local", "share", "llmenv", "history"))


def keep(kept: Store, *reports: Report) -> None:
    """Put reports on record."""
    for one in reports:
        assert kept.keep(one) == ()


def test_nothing_yet(llmenv: Program, envs: Path) -> None:
    """It says what makes a report; a script sees it by the exit code."""
    for arguments in ([], ["--last-good"], ["--diff"], ["-n", "sft"], ["-p", "/nowhere"]):
        ended = llmenv("history", *arguments)
        assert ended.code == 1
        assert ended.stdout == ""
        assert "no report is kept" in ended.stderr
        assert "llmenv verify --full" in ended.stderr
    ended = llmenv("history", "--json")
    assert ended.code == 1
    assert ended.json() == {"llmenv": JSON_VERSION, "command": "history", "ok": False, "result": None}


def test_each_combination_is_a_line(llmenv: Program, envs: Path, own: Store) -> None:
    """Newest first, with card and count, driver, versions, fingerprint, date, environment and what came of it."""
    keep(own, *(report("/envs/sft", day, gpus=8) for day in range(3)), report("/envs/new", 9, FAILED, gpus=8, **OTHER))
    ended = llmenv("history")
    assert ended.code == 0
    assert ended.stderr == ""
    title, new, old = ended.stdout.splitlines()
    assert title.split()[:2] == ["date", "(UTC)"]
    for word in ("2026-11-11 08:00", "failed", "2.10.0", "abababababab", "/envs/new"):
        assert word in new
    for word in ("2026-11-04 08:00", "passed (full)", "NVIDIA H200 ×8", "580.95.05", "12.8", "2.9.0",
                 "transformers 4.57.1", "accelerate 1.12.0", "5c5c5c5c5c5c", "/envs/sft"):  # fmt: skip
        assert word in old


def test_the_same_as_json(llmenv: Program, own: Store, envs: Path) -> None:
    """Every cell by its name, the number of runs, and the file."""
    keep(own, *(report("/envs/sft", day, gpus=8) for day in range(3)))
    (row,) = llmenv("history", "--json").result()
    file = Path(row.pop("file"))
    assert file.is_file()
    assert row == {
        "started": "2026-11-04T08:00:00+00:00",
        "verdict": "passed (full)",
        "level": "full",
        "prefix": "/envs/sft",
        "hostname": "gpu-01",
        "card": "NVIDIA H200 ×8",
        "driver": "580.95.05",
        "versions": VERSIONS,
        "model_libraries": "transformers 4.57.1",
        "accelerators": "accelerate 1.12.0",
        "fingerprint": "5c" * 32,
        "tier": None,
        "recipe": None,
        "runs": 3,
    }


def test_only_so_many(llmenv: Program, own: Store, envs: Path) -> None:
    """And it says that there are more."""
    keep(own, *(report("/envs/sft", day, fingerprint=f"{day:064x}") for day in range(5)))
    ended = llmenv("history", "--limit", "2")
    assert len(ended.stdout.splitlines()) == 3
    assert "3 older ones are not shown; --limit 5 shows all" in ended.stderr
    assert len(llmenv("history", "--limit", "2", "--json").result()) == 2
    assert llmenv("history", "--limit", "0").code == 2


def test_of_one_environment(llmenv: Program, own: Store, envs: Path) -> None:
    """By name or path; and by either of one that is not there any more, which is when one needs it."""
    keep(own, report(environment(envs / "sft"), 1), report("/gone/lora", 2, **OTHER))
    assert [row["prefix"] for row in llmenv("history", "-n", "sft", "--json").result()] == [str(envs / "sft")]
    assert [row["prefix"] for row in llmenv("history", "-n", "lora", "--json").result()] == ["/gone/lora"]
    assert [row["prefix"] for row in llmenv("history", "-p", "/gone/lora", "--json").result()] == ["/gone/lora"]
    assert llmenv("history", "-n", "other").code == 1
    assert llmenv("history", "-n", "../x").code == 2


def test_reports_inside_known_environments_are_listed(llmenv: Program, envs: Path, tmp_path: Path) -> None:
    """Whoever made a shared environment has left the pass in it; my own folder has none."""
    keep(store(tmp_path / "admin"), report(environment(envs / "sft")))
    assert len(llmenv("history", "--json").result()) == 1


def test_a_team_s_folder(llmenv: Program, envs: Path, tmp_path: Path) -> None:
    """By the variable or by .condarc, where the variable wins."""
    keep(store(tmp_path / "team", asked="x"), report("/envs/team"))
    keep(store(tmp_path / "mine", asked="x"), report("/envs/mine"))
    condarc = Path(llmenv.environ["HOME"], ".condarc")
    condarc.write_text(f"plugins:\n  llmenv_history: {tmp_path}/team\n")
    assert [row["prefix"] for row in llmenv("history", "--json").result()] == ["/envs/team"]
    shown = llmenv("history", "--json", LLMENV_HISTORY=str(tmp_path / "mine")).result()
    assert [row["prefix"] for row in shown] == ["/envs/mine"]


def test_what_others_have_left_in_a_team_s_folder_is_told_briefly(llmenv: Program, envs: Path, tmp_path: Path) -> None:
    """Three files by name and the others by number; the reports are shown, and nothing moves the cursor."""
    team = tmp_path / "team"
    keep(store(team, asked="x"), report("/envs/\x1b[2J\x07evil", 0, hostname="a\rb"))
    for number in range(9):
        (team / f"20261103T08000{number}Z-full-none-host-00000000.json").write_text("{")
    ended = llmenv("history", LLMENV_HISTORY=str(team))
    assert ended.code == 0
    assert ended.stderr.count("is passed over: it holds no report") == 3
    assert "and 6 more files are passed over" in ended.stderr
    assert "\x1b[2J" not in ended.text
    assert "\x07" not in ended.text


def facts(text: str) -> dict[str, str]:
    """A report of facts, label by label."""
    return {line[:10].strip(): line[10:] for line in text.splitlines()}


def test_the_last_good_one_as_it_still_is(llmenv: Program, envs: Path, own: Store) -> None:
    """What it was, and what to type to use it and to have it elsewhere; a later failure of another one is no matter."""
    prefix = environment(envs / "sft")
    good = report(prefix, 1, gpus=8, fingerprint=fingerprint(prefix), tier="h200", recipe="sft")
    keep(own, report(prefix, 0), good, report(prefix, 2, level=Level.QUICK), report("/envs/new", 3, FAILED))
    ended = llmenv("history", "--last-good")
    assert ended.code == 0
    told = facts(ended.stdout)
    assert told["passed"] == "2026-11-03 08:00 UTC, full, 1 check, on gpu-01"
    assert told["env"] == f"{prefix} (tier h200, recipe sft)"
    assert told["machine"] == "NVIDIA H200 ×8, driver 580.95.05"
    assert told["versions"].startswith("python 3.12.4, torch 2.9.0, cuda 12.8")
    assert told["state"] == "the environment is there, and as it was then"
    assert told["use it"] == "conda activate sft"
    assert told["lock"] == "none was kept"
    assert told["lock it"] == "llmenv export -n sft --format conda-lock -o conda-lock.yml"


def test_the_last_good_one_that_was_changed_since(llmenv: Program, envs: Path, own: Store) -> None:
    """Where no lockfile was kept, it promises nothing: it says how near one can get."""
    prefix = environment(envs / "sft")
    keep(own, report(prefix, 1, tier="h200", recipe="sft"))
    told = facts(llmenv("history", "-n", "sft", "--last-good").stdout)
    assert told["state"] == "the environment is there, but was changed since"
    assert told["lock"] == "none was kept"
    assert told["compare"] == "llmenv history -n sft --diff"
    assert told["again"] == "llmenv create --tier h200 --recipe sft -n sft-again"
    assert "this solves anew" in told[""]
    assert "use it" not in told


def test_the_last_good_one_is_made_again(llmenv: Program, envs: Path, own: Store, tmp_path: Path) -> None:
    """With a proof goes a lockfile; when the environment is gone, what is told to be typed brings it back as it was."""
    llmenv.write("llmenv.yml", "channels: [conda-forge, nodefaults]\ndependencies: [python, six]\n")
    assert llmenv("create", "-n", "sft", "--no-verify").code == 0
    prefix = envs / "sft"
    made = sorted(path.name for path in (prefix / "conda-meta").glob("*.json"))
    assert remembering.keep(own, report(prefix, fingerprint=fingerprint(prefix))) == ()
    told = facts(llmenv("history", "--last-good").stdout)
    assert told["use it"] == "conda activate sft"
    assert told["again"].endswith("-n sft-again")
    assert llmenv("remove", "-n", "sft", "-y").code == 0
    llmenv.write("llmenv.yml", "dependencies: []\n")
    ended = llmenv("history", "--last-good")
    assert facts(ended.stdout)["lock"].endswith(f"{fingerprint_in(own)[:12]}.conda-lock.yml, written by you")
    program, *arguments = shlex.split(facts(ended.stdout)["again"])
    assert program == "llmenv"
    assert llmenv(*arguments, "--no-verify").code == 0
    assert sorted(path.name for path in (prefix / "conda-meta").glob("*.json")) == made


def fingerprint_in(kept: Store) -> str:
    """The fingerprint of the newest report."""
    return next(kept.reports()).fingerprint


def test_a_lock_is_kept_with_a_proof_alone(llmenv: Program, envs: Path, own: Store, tmp_path: Path) -> None:
    """Not with a preflight, a failure or a part, nor where the environment has changed while it was verified."""
    prefix = environment(envs / "sft")
    now = fingerprint(prefix)
    others: list[dict[str, Any]] = [
        {"level": Level.QUICK},
        {"whole": False},
        {"unproven": "why"},
        {"fingerprint": "ab" * 32},
    ]
    for day, fields in enumerate(others):
        remembering.keep(own, report(prefix, day, **{"fingerprint": now, **fields}))
    remembering.keep(own, report(prefix, 5, FAILED, fingerprint=now))
    assert list((prefix / INSIDE).glob("*lock*")) == []
    remembering.keep(own, report(prefix, 6, fingerprint=now))
    assert len(list((prefix / INSIDE).glob("*lock*"))) == 1


def test_an_environment_keeps_one_lock(llmenv: Program, envs: Path, own: Store) -> None:
    """The newest; the folder keeps them all."""
    prefix = environment(envs / "sft")
    for number in range(3):
        (prefix / "bin").mkdir(exist_ok=True)
        (prefix / "bin" / f"tool{number}").touch()
        remembering.keep(own, report(prefix, number, fingerprint=fingerprint(prefix)))
    (lock,) = (prefix / INSIDE).glob("*.conda-lock.yml")
    assert lock.name.startswith(fingerprint(prefix)[:12])
    assert len(list(Path(llmenv.environ["HOME"], ".local/share/llmenv/history").glob("*.conda-lock.yml"))) == 3


def test_the_last_good_one_that_is_gone(llmenv: Program, envs: Path, own: Store) -> None:
    """With a path that has to be quoted."""
    keep(own, report("/gone/my env; rm -rf ~", 1, recipe="sft"))
    told = facts(llmenv("history", "--last-good").stdout)
    assert told["state"] == "the environment is not there any more"
    assert told["again"] == "llmenv create --recipe sft -p '/gone/my env; rm -rf ~'"
    assert "compare" not in told
    result_json = llmenv("history", "--last-good", "--json").result()
    assert result_json["environment"] == "gone"
    assert result_json["ways"][0]["type"] == told["again"]


def test_no_good_one(llmenv: Program, envs: Path, own: Store) -> None:
    """Only preflights and failures."""
    keep(own, report("/envs/sft", 0, FAILED), report("/envs/sft", 1, level=Level.QUICK))
    ended = llmenv("history", "--last-good")
    assert (ended.code, ended.stdout) == (1, "")
    assert "no whole run has passed yet" in ended.stderr
    assert llmenv("history", "--diff").code == 1


def test_what_changed_since_the_last_good_one(llmenv: Program, envs: Path, own: Store) -> None:
    """From the last good run of an environment to its newest."""
    good = report("/envs/sft", 1, result(figures={"bf16_tflops": 700.0}), gpus=8)
    keep(own, report("/envs/other", 0), good, report("/envs/sft", 2, FAILED, gpus=8, **OTHER))
    ended = llmenv("history", "--diff")
    assert ended.code == 0
    text = ended.stdout
    assert text.startswith("from      2026-11-03 08:00 UTC, passed (full), /envs/sft, on gpu-01\n")
    rows = [line.split() for line in text.splitlines()]
    assert ["version", "torch", "2.9.0", "→", "2.10.0"] in rows
    assert ["environment", "fingerprint", "5c5c5c5c5c5c", "→", "abababababab"] in rows
    assert ["check", "matmul", "pass", "→", "fail:", "the", "sum", "is", "wrong"] in rows
    assert ["figure", "matmul", "bf16_tflops", "700", "→", "610"] in rows
    found = llmenv("history", "-p", "/envs/sft", "--diff", "--json").result()
    assert {"kind": "version", "name": "torch", "before": "2.9.0", "after": "2.10.0"} in found["differences"]
    assert found["before"]["verdict"] == "passed (full)"


def test_nothing_changed(llmenv: Program, envs: Path, own: Store) -> None:
    """Said in words."""
    keep(own, report("/envs/sft", 1), report("/envs/sft", 2))
    assert "nothing has changed" in llmenv("history", "--diff").stdout


@pytest.mark.parametrize("first", ["sft", "{envs}/sft", "2026-11-02 08:00", "20261102", "5c5c5c5c5c5c", "{file}"])
def test_two_named_ones(llmenv: Program, envs: Path, own: Store, first: str) -> None:
    """An environment, a time or a fingerprint as the list shows it, or a file."""
    keep(own, report(environment(envs / "sft"), 0), report("/envs/new", 5, **OTHER))
    file = next((envs / "sft" / INSIDE).iterdir())
    found = llmenv("history", "--diff", first.format(envs=envs, file=file), "abab", "--json").result()
    assert (found["before"]["prefix"], found["after"]["prefix"]) == (str(envs / "sft"), "/envs/new")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--diff", "a"], "two reports, or none"),
        (["--diff", "a", "b", "c"], "two reports, or none"),
        (["a", "b"], "two reports with --diff"),
        (["--diff", "--last-good"], "give one of"),
        (["--diff", "nosuch", "other"], "no report is kept that 'nosuch' could mean"),
        (["--diff", "/no/such", "other"], "no report is kept that '/no/such' could mean"),
        (["--diff", "work.json", "other"], "work.json is no report: it holds no report"),
    ],
)
def test_mistakes(llmenv: Program, envs: Path, own: Store, arguments: list[str], told: str) -> None:
    """With the way out, and exit code 2."""
    keep(own, report("/envs/sft"))
    llmenv.write("work.json", "{}")
    ended = llmenv("history", *arguments)
    assert ended.code == 2
    assert told in ended.stderr
    assert "hint" in ended.stderr


def test_secrets_stay_where_they_are(llmenv: Program, envs: Path, own: Store) -> None:
    """What a check has said of an address with a password is neither kept nor shown."""
    leaky: Any = result(status=Status.FAIL, summary="cannot reach https://me:hunter2@host.example/x")
    keep(own, report("/envs/sft", 0), report("/envs/sft", 1, leaky))
    kept = Path(llmenv.environ["HOME"], ".local", "share", "llmenv", "history")
    assert not any("hunter2" in path.read_text() for path in kept.iterdir())
    assert "https://***@host.example" in llmenv("history", "--diff").stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_may_not_be_listed(llmenv: Program, envs: Path, tmp_path: Path) -> None:
    """It is told, and is no failure of its own."""
    (tmp_path / "team").mkdir(mode=0)
    ended = llmenv("history", LLMENV_HISTORY=str(tmp_path / "team"))
    assert ended.code == 1
    assert "cannot be listed: Permission denied" in ended.stderr
