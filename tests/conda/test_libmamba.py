"""Solving with a real libmambapy: what the cases of the conformance suite cannot ask."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from conda_llmenv.model import Channel, Record, SolveRequest
from tests.channel.interpreter import subdir
from tests.conda.conftest import Conda
from tests.conformance.batch import EngineAbsent, ask
from tests.conformance.messages import Answer, Question
from tests.conftest import RECORDED
from tests.engines.support import CUDA, Recorder, channel, engine, solve_request
from tests.http_channel import Fault, serve

CANARY = "s3cr3t-canary"
KINDS = {
    "token": {"token": f"tk-{CANARY}"},
    "login": {"login": f"user:{CANARY}"},
    "both": {"token": f"tk-{CANARY}", "login": f"user:{CANARY}"},
}


def answers(folder: Path, *requests: SolveRequest) -> list[Answer]:
    """Ask libmamba, in one process; skip, visibly, where the base environment has none."""
    try:
        found = ask("libmamba", [Question(str(number), request) for number, request in enumerate(requests)], folder)
    except EngineAbsent as error:
        pytest.skip(str(error))
    assert found.printed == ""
    assert [one.crash for one in found.answers if one.crash] == []
    return list(found.answers)


def records(folder: Path, request: SolveRequest) -> tuple[Record, ...]:
    """Return the records of a solve that has to succeed."""
    (answer,) = answers(folder, request)
    assert answer.records is not None, answer.failure and answer.failure.text
    return answer.records


def holding(folder: Path) -> list[Path]:
    """Return the files under a folder that hold the canary."""
    return [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def entry(name: str, depends: list[str]) -> dict[str, object]:
    """Return a repodata entry."""
    return {
        "name": name,
        "version": "1.0",
        "build": "0",
        "build_number": 0,
        "subdir": "noarch",
        "noarch": "generic",
        "depends": depends,
        "sha256": "0" * 64,
        "size": 1,
        "timestamp": 1_700_000_000_000,
    }


def test_an_environment_is_the_same_in_every_field(offline_channel: Path, tmp_path: Path) -> None:
    """Records pass libmamba by: nothing of them is rounded, dropped or spelt anew, package URLs included."""
    request = solve_request("pytorch", "pip", channels=(channel(offline_channel),), virtual_packages=CUDA)
    assert records(tmp_path, request) == engine().solve(request, Recorder()).records


@pytest.mark.channels
def test_a_training_stack_on_recorded_metadata(tmp_path: Path) -> None:
    """Thousands of candidates; what is chosen has all that it needs, at the driver and libraries of the machine."""
    request = solve_request(
        "python 3.12.*", "pytorch-gpu", "transformers", channels=(channel(RECORDED.resolve()),), virtual_packages=CUDA
    )
    request = replace(request, subdirs=("linux-64", "noarch"))
    chosen = {record.name: record for record in records(tmp_path, request)}
    assert chosen["pytorch"].build.startswith("cuda")
    needed = {text.split()[0] for record in chosen.values() for text in record.depends}
    assert {name for name in needed if not name.startswith("__")} <= chosen.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_private_channel_works_and_leaves_no_secret(kind: str, offline_channel: Path, tmp_path: Path) -> None:
    """A record keeps what it takes to fetch it; the repodata cache does not."""
    cache = tmp_path / "repodata"
    with serve(offline_channel, **KINDS[kind]) as server:
        request = solve_request("gate-a", channels=(channel(server.url()),), repodata_cache=cache)
        found = records(tmp_path / "answers", request)
        (again,) = answers(tmp_path / "again", replace(request, offline=True))
        assert all(item.status == 200 for item in server.asked_for("repodata.json"))
    assert {record.name for record in found} == {"gate-a", "gate-c"}
    assert all(CANARY in record.url and record.url.startswith(f"{record.channel}/{subdir()}/") for record in found)
    assert again.records == found, "offline, from the cache"
    assert holding(cache) == []


def test_a_rejected_token_is_said_without_it(offline_channel: Path, tmp_path: Path) -> None:
    """The channel by its masked address, and no word of the secret."""
    with serve(offline_channel, token=f"tk-{CANARY}") as server:
        url = server.url().replace(CANARY, f"old-{CANARY}")
        (answer,) = answers(tmp_path, solve_request("gate-c", channels=(Channel(url, url),)))
    assert answer.failure is not None
    assert answer.failure.code == "channel-unavailable"
    assert "***" in answer.failure.channel
    assert CANARY not in answer.failure.text


def test_channels_that_fail_one_after_another_leave_the_next_solve_alone(offline_channel: Path, tmp_path: Path) -> None:
    """No state is kept between solves of one process: not of failures, and not of constraints (which are pins)."""
    with serve(offline_channel) as server:
        server.faults = [Fault("repodata.json", cut=300)]
        broken = solve_request("gate-c", channels=(channel(server.url()),))
        plain = solve_request("gate-c", channels=(channel(offline_channel),))
        bound = replace(plain, constraints=("gate-c <2",))
        found = answers(tmp_path, broken, bound, plain)
    assert found[0].failure is not None
    assert "broke off" in found[0].failure.message
    assert [[record.version for record in one.records or ()] for one in found[1:]] == [["1.0"], ["2.0"]]


def test_a_dependency_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    """It fits nothing; libmamba cannot explain that in its own words, and the package is named all the same."""
    entries = {
        "base-1.0-0.conda": entry("base", []),
        "odd-1.0-0.conda": entry("odd", ["base >=>2"]),
        "even-1.0-0.conda": entry("even", ["base"]),
    }
    for folder, content in (("noarch", entries), (subdir(), {})):
        (tmp_path / "small" / folder).mkdir(parents=True)
        repodata = {"info": {"subdir": folder}, "packages": {}, "packages.conda": content}
        (tmp_path / "small" / folder / "repodata.json").write_text(json.dumps(repodata), encoding="utf-8")
    where = (channel(tmp_path, "small"),)
    odd, even = answers(
        tmp_path / "answers", solve_request("odd", channels=where), solve_request("even", channels=where)
    )
    assert odd.failure is not None
    assert (odd.failure.code, odd.failure.packages) == ("unsatisfiable", ("odd",))
    assert "base >=>2" in odd.failure.text
    assert [record.name for record in even.records or ()] == ["base", "even"]


def test_the_command_creates_an_environment_with_it(
    conda: Conda, base_python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """`conda llmenv create --engine libmamba`: solved by the one library, linked by the other."""
    if base_python("import libmambapy").returncode:
        pytest.skip("the base environment has no libmambapy")
    (tmp_path / "mine.yml").write_text("name: mine\ndependencies:\n  - python\n  - gate-a\n")
    made = conda(
        "llmenv", "create", "--json", "--engine", "libmamba", "-f", tmp_path / "mine.yml", "-p", tmp_path / "env"
    )
    assert made.result()["engine"] == "libmamba"
    assert (tmp_path / "env" / "share" / "gate-a" / "about.txt").is_file()
    python = subprocess.run([tmp_path / "env" / "bin" / "python", "-c", ""], check=False)
    assert python.returncode == 0
