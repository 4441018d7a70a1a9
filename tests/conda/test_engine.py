"""The conda engine against a real conda: what it chooses, and that nothing but the request counts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.channel.interpreter import TAG, subdir
from tests.conda.conftest import CONDA_PYTHON, Conda
from tests.http_channel import ChannelServer, Fault, serve
from tests.program import ROOT

Call = Callable[..., dict[str, Any]]

CUDA = [["__unix", "0"], ["__linux", "6.8"], ["__glibc", "2.35"], ["__cuda", "12.8"]]
SUBDIRS = [subdir(), "noarch"]


@pytest.fixture
def call(conda: Conda, tmp_path: Path) -> Call:
    """Call the engine in conda's Python with caches of its own; nothing may be printed but the result."""

    def run(name: str, /, *, variables: dict[str, str] | None = None, **arguments: Any) -> dict[str, Any]:
        environ = {**conda.environ, "PYTHONPATH": str(ROOT), "CONDA_PKGS_DIRS": str(tmp_path / "pkgs")}
        done = subprocess.run(
            [CONDA_PYTHON, "-m", "tests.conda.calls", name],
            input=json.dumps(arguments),
            cwd=conda.cwd,
            env={**environ, **(variables or {})},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return dict(json.loads(done.stdout))

    return run


@pytest.fixture
def forge(offline_channel: Path) -> list[str]:
    """The main channel as a call names it."""
    return ["conda-forge", (offline_channel / "conda-forge").as_uri()]


@pytest.fixture
def other(offline_channel: Path) -> list[str]:
    """The second channel as a call names it."""
    return ["other", (offline_channel / "other").as_uri()]


def versions(outcome: dict[str, Any]) -> dict[str, str]:
    """Return the versions that were chosen, by name."""
    assert "records" in outcome, outcome["failure"]
    return {record["name"]: record["version"] for record in outcome["records"]}


def test_the_same_records_as_the_embedded_engine(call: Call, forge: list[str]) -> None:
    """Field by field: hashes, sizes, dates, dependencies, addresses, order."""
    question = {"specs": ["python", "numpy", "click", "pytorch-gpu"], "channels": [forge], "subdirs": SUBDIRS}
    ours = call("solve", **question, virtual_packages=CUDA)
    assert ours["records"] == call("solve", engine="rattler", **question, virtual_packages=CUDA)["records"]
    assert [entry[:2] for entry in ours["heard"]] == [["start", "solve"], ["finish", "solve"]]


@pytest.mark.parametrize("kind", ["token", "login"])
def test_credentials_reach_the_channel_and_come_back_in_the_records(
    call: Call, offline_channel: Path, tmp_path: Path, kind: str
) -> None:
    """The records can be fetched as they are; neither the environment nor a cache holds the secret afterwards."""
    secret = "ca-0a1b2c3d-1111-2222-3333-444455556666"
    given = {"token": secret} if kind == "token" else {"login": f"joe:{secret}"}
    with serve(offline_channel, **given) as server:
        solved = call(
            "solve", specs=["python", "click", "post-link-demo"], channels=[["lab", server.url()]], subdirs=SUBDIRS
        )
        assert all(record["url"].startswith(f"{server.url()}/") for record in solved["records"])
        prefix = tmp_path / "env"
        installed = call("install", records=solved["records"], prefix=str(prefix), package_cache=str(tmp_path / "pkgs"))
        assert "failure" not in installed
        server.token, server.login = ("other", None) if kind == "token" else (None, "joe:other")
        refused = call(
            "solve",
            specs=["confused"],
            channels=[["lab", server.url().replace("conda-forge", "other")]],
            subdirs=SUBDIRS,
            variables={"CONDA_PKGS_DIRS": str(tmp_path / "more")},
        )
    assert secret not in json.dumps([installed, refused])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
    assert (prefix / "conda-meta").is_dir()


def test_a_token_that_an_earlier_conda_noted_is_not_copied(call: Call, forge: list[str], tmp_path: Path) -> None:
    """Conda keeps the address a package was fetched from in its cache, and copies it into each environment."""
    target: dict[str, Any] = {"records": call("solve", specs=["gate-c"], channels=[forge], subdirs=SUBDIRS)["records"]}
    target["package_cache"] = str(tmp_path / "pkgs")
    call("install", prefix=str(tmp_path / "one"), **target)
    noted = tmp_path / "pkgs/gate-c-2.0-0/info/repodata_record.json"
    entry = json.loads(noted.read_text())
    noted.write_text(json.dumps({**entry, "url": "https://joe:geheim@host/t/to-123-456/c/noarch/gate-c-2.0-0.conda"}))
    assert "failure" not in call("install", prefix=str(tmp_path / "two"), **target)
    assert "geheim" not in (tmp_path / "two/conda-meta/gate-c-2.0-0.json").read_text()


def test_virtual_packages_are_the_requests_and_no_others(call: Call, forge: list[str]) -> None:
    """Neither this machine nor conda's variables add one or change one."""
    overrides = {"CONDA_OVERRIDE_CUDA": "12.9", "CONDA_OVERRIDE_GLIBC": "2.5"}
    question = {"channels": [forge], "subdirs": SUBDIRS, "variables": overrides}
    assert call("solve", specs=["pytorch"], **question)["records"][0]["name"] != ""
    chosen = {record["name"]: record["build"] for record in call("solve", specs=["pytorch"], **question)["records"]}
    assert chosen["pytorch"] == f"cpu_generic_py{TAG}_h0_1"
    refused = call("solve", specs=["pytorch-gpu"], **question)["failure"]
    assert {"pytorch-gpu", "__cuda"} <= set(refused["packages"])


def test_nothing_of_the_configuration_becomes_part_of_a_solve(
    call: Call, conda: Conda, forge: list[str], other: list[str]
) -> None:
    """Channels, pins, aggressive updates, track features and pip for Python are those of the request: none."""
    settings = {
        "CONDA_CHANNELS": other[1],
        "CONDA_PINNED_PACKAGES": "gate-c<2",
        "CONDA_AGGRESSIVE_UPDATE_PACKAGES": "click",
        "CONDA_TRACK_FEATURES": "pytorch-mutex",
        "CONDA_ADD_PIP_AS_PYTHON_DEPENDENCY": "true",
        "CONDA_CHANNEL_PRIORITY": "disabled",
        "CONDA_CREATE_DEFAULT_PACKAGES": "click",
    }
    found = call("solve", specs=["python", "gate-c", "confused"], channels=[forge], subdirs=SUBDIRS, variables=settings)
    assert versions(found) | {"python": ""} == {
        "ca-certificates": "2025.1.1",
        "confused": "1.0",
        "gate-c": "2.0",
        "python": "",
    }


@pytest.mark.parametrize(("priority", "version"), [("strict", "1.0"), ("flexible", "1.0"), ("disabled", "9.0")])
def test_channel_priority_is_the_requests(
    call: Call, forge: list[str], other: list[str], priority: str, version: str
) -> None:
    """In the order of the channels, whatever conda is configured to."""
    found = call("solve", specs=["confused"], channels=[forge, other], subdirs=SUBDIRS, channel_priority=priority)
    assert versions(found) == {"confused": version}


def test_a_channel_can_be_named_in_a_spec(call: Call, forge: list[str], other: list[str]) -> None:
    """By its name in the request, wherever its address is; a channel that is not there is refused."""
    question = {"channels": [forge, other], "subdirs": SUBDIRS}
    found = call("solve", specs=["other::confused"], **question)
    assert [(one["version"], one["channel"]) for one in found["records"]] == [("9.0", other[1])]
    refused = call("solve", specs=["bioconda::confused"], **question)["failure"]
    assert (refused["kind"], "not among the channels" in refused["message"]) == ("InputError", True)


def test_the_cutoff_leaves_out_what_is_newer_or_undated(call: Call, forge: list[str], tmp_path: Path) -> None:
    """The addresses are those of the channel all the same, and nothing stays in conda's repodata cache."""
    question = {"channels": [forge], "subdirs": SUBDIRS, "exclude_newer": "2025-03-01T00:00:00+00:00"}
    found = call("solve", specs=["dated"], **question)
    assert versions(found) == {"dated": "1.0"}
    assert found["records"][0]["url"].startswith(f"{forge[1]}/")
    kept = {json.loads(path.read_text())["url"] for path in (tmp_path / "pkgs/cache").glob("*.info.json")}
    assert kept == {f"{forge[1]}/{name}" for name in SUBDIRS}


def test_locked_records_and_constraints(call: Call, forge: list[str]) -> None:
    """Locked records are kept where they fit; a constraint holds and installs nothing."""
    question = {"channels": [forge], "subdirs": SUBDIRS}
    old = call("solve", specs=["gate-c <2"], **question)["records"]
    assert versions(call("solve", specs=["gate-c"], locked=old, **question)) == {"gate-c": "1.0"}
    assert versions(call("solve", specs=["gate-c >=2"], locked=old, **question)) == {"gate-c": "2.0"}
    held = call("solve", specs=["gate-c", "data-generic"], constraints=["gate-c <2", "click <1"], **question)
    assert versions(held) == {"data-generic": "2.0", "gate-c": "1.0"}


@pytest.mark.parametrize(
    ("specs", "kind", "packages"),
    [
        (["gate-a", "gate-b"], "Unsatisfiable", {"gate-a", "gate-b", "gate-c"}),
        (["pytroch", "numpy"], "Unsatisfiable", {"pytroch"}),
        (["numpy >=99"], "Unsatisfiable", {"numpy"}),
        (["numpy 2.2.*", "numpy 1.*"], "Unsatisfiable", {"numpy"}),
        (["gate-c >=2", "gate-c 1.0 0"], "Unsatisfiable", {"gate-c"}),
        (["numpy >>= 2"], "InputError", set()),
    ],
    ids=lambda value: " and ".join(value) if isinstance(value, list) else "",
)
def test_a_failure_names_what_takes_part(
    call: Call, forge: list[str], specs: list[str], kind: str, packages: set[str]
) -> None:
    """Conflicts, misspelt names, versions that nobody has, specs that exclude each other or are none."""
    failure = call("solve", specs=specs, channels=[forge], subdirs=SUBDIRS)["failure"]
    assert failure["kind"] == kind
    assert packages <= set(failure["packages"])
    assert failure["details"] or kind == "InputError"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("*repodata*", status=403), "refuses access"),
        (Fault("*repodata*", status=404), "does not exist at its address"),
        (Fault("*repodata*", status=500), "its server failed"),
        (Fault("*repodata.json", cut=700), "broke off while it was read"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_channel_that_fails_is_named(call: Call, http_channel: ChannelServer, fault: Fault, said: str) -> None:
    """By the request's name for it; the next run, with the channel well again, is none the worse."""
    where = [["conda-forge", http_channel.url()]]
    http_channel.faults = [fault]
    question = {
        "specs": ["gate-c"],
        "channels": where,
        "subdirs": SUBDIRS,
        "variables": {"CONDA_REMOTE_MAX_RETRIES": "0"},
    }
    failure = call("solve", **question)["failure"]
    assert (failure["kind"], failure["channel"]) == ("ChannelUnavailable", "conda-forge")
    assert said in failure["message"]
    http_channel.faults = []
    assert versions(call("solve", **question)) == {"gate-c": "2.0"}


def test_offline_means_what_is_cached(call: Call, http_channel: ChannelServer, tmp_path: Path) -> None:
    """Without repodata the channel is unavailable, not empty; with it nothing is asked of the network."""
    question = {"specs": ["gate-a"], "channels": [["conda-forge", http_channel.url()]], "subdirs": SUBDIRS}
    cold = call("solve", offline=True, **question)["failure"]
    assert (cold["kind"], "this run is offline" in cold["message"]) == ("ChannelUnavailable", True)
    solved = call("solve", **question)
    http_channel.requests.clear()
    assert call("solve", offline=True, **question)["records"] == solved["records"]
    target = {"records": solved["records"], "package_cache": str(tmp_path / "pkgs")}
    missing = call("install", prefix=str(tmp_path / "one"), offline=True, **target)["failure"]
    assert missing["message"].startswith("offline, and 2 packages are not in the package cache")
    assert http_channel.requests == []
    call("install", prefix=str(tmp_path / "two"), **target)
    http_channel.requests.clear()
    assert "failure" not in call("install", prefix=str(tmp_path / "three"), offline=True, **target)
    assert http_channel.requests == []


def test_everything_is_undone(call: Call, forge: list[str], tmp_path: Path) -> None:
    """Settings, plugins, what conda remembers, the streams and the environment are what they were."""
    question = {"channels": [forge], "subdirs": SUBDIRS}
    left = call(
        "undone",
        calls=[{"specs": ["gate-a"], **question}, {"specs": ["nobody-has-it"], **question}],
        prefix=str(tmp_path / "env"),
        package_cache=str(tmp_path / "pkgs"),
    )
    assert left.pop("virtual")[0].startswith("__")
    assert left == {"settings": [], "streams": True, "environ": True, "plugins": 0, "prefixes": []}


def test_work_that_nobody_needs_any_more_is_given_up(call: Call, http_channel: ChannelServer, tmp_path: Path) -> None:
    """Another part of the work has failed: nothing is linked."""
    solved = call("solve", specs=["big-blob"], channels=[["lab", http_channel.url()]], subdirs=SUBDIRS)
    for patience in (0, 3):
        outcome = call(
            "install",
            records=solved["records"],
            prefix=str(tmp_path / "env"),
            package_cache=str(tmp_path / f"pkgs{patience}"),
            given_up=patience,
        )
        assert outcome["failure"]["message"] == "stopped, because another part of the work has failed"
        assert not (tmp_path / "env/share").exists()


@pytest.mark.parametrize("order", [("conda", "rattler"), ("rattler", "conda")], ids="-".join)
def test_both_engines_share_a_package_cache(
    call: Call, http_channel: ChannelServer, tmp_path: Path, order: tuple[str, str]
) -> None:
    """What one has fetched the other links, without asking the channel, as the same files on disk."""
    solved = call("solve", specs=["big-blob", "click"], channels=[["lab", http_channel.url()]], subdirs=SUBDIRS)
    for number, engine in enumerate((*order, *order)):
        http_channel.requests.clear()
        outcome = call(
            "install",
            records=solved["records"],
            prefix=str(tmp_path / str(number)),
            package_cache=str(tmp_path / "pkgs"),
            engine=engine,
        )
        assert "failure" not in outcome
        assert bool(http_channel.requests) == (number == 0)
    inodes = {(tmp_path / str(number) / "share/big-blob.bin").stat().st_ino for number in range(4)}
    assert len(inodes) == 1
