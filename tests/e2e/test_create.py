"""``llmenv create`` from the first file to an environment that conda, Python and a person can use."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from tests.http_channel import ChannelServer, Fault
from tests.index import artifacts
from tests.index.server import write_flat
from tests.program import Program

SMALL = "dependencies:\n- python\n- six\nvariables:\n  GREETING: hello\nllmenv:\n  verify: {imports: [six]}\n"


def test_an_environment_is_made_and_works(llmenv: Program, prefix: Path) -> None:
    """A fragment becomes an environment whose Python imports what was asked for."""
    llmenv.write("small.yml", SMALL)
    ended = llmenv("create", "-f", "small.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    assert "imports ✓" in ended.stdout
    assert "verified. Use it" in ended.stderr
    python = prefix / "bin" / "python"
    shown = subprocess.run(
        [python, "-c", "import six, sys; print(sys.prefix)"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == str(prefix)


def test_what_is_left_behind_is_condas(llmenv: Program, prefix: Path) -> None:
    """Conda finds the environment, its history, and variables that activation sets."""
    llmenv.write("small.yml", SMALL)
    assert llmenv("create", "-f", "small.yml", "-p", prefix).code == 0
    registry = Path(llmenv.environ["HOME"]) / ".conda" / "environments.txt"
    assert registry.read_text().split() == [str(prefix)]
    history = (prefix / "conda-meta" / "history").read_text()
    assert "# update specs: " in history
    assert "::six-" in history
    state = json.loads((prefix / "conda-meta" / "state").read_text())
    assert state["env_vars"] == {"PYTHONNOUSERSITE": "1", "GREETING": "hello"}
    assert sorted(path.name for path in prefix.parent.iterdir()) == ["env"], "nothing stays beside the environment"


def test_json_is_one_document(llmenv: Program, prefix: Path) -> None:
    """``--json`` prints the plan and the result as one payload and nothing else on stdout."""
    llmenv.write("small.yml", SMALL)
    result = llmenv("create", "-f", "small.yml", "-p", prefix, "--json").result()
    assert result["prefix"] == str(prefix)
    assert {"python", "six"} <= {package["name"] for package in result["packages"]}
    assert all(package["sha256"] for package in result["packages"])
    assert result["verify"]["verified"] is True
    assert {"python": "pass", "imports": "pass"}.items() <= {
        check["id"]: check["status"] for check in result["verify"]["checks"]
    }.items()


def test_a_dry_run_changes_nothing(llmenv: Program, prefix: Path) -> None:
    """The plan is printed, and neither prefix nor registry nor package cache appears."""
    cache = llmenv.cwd / "pkgs"
    ended = llmenv("create", "-p", prefix, "--dry-run", "python", "numpy", CONDA_PKGS_DIRS=str(cache))
    assert ended.code == 0, ended.text
    assert "packages, rattler" in ended.stdout
    assert not prefix.exists()
    assert not (Path(llmenv.environ["HOME"]) / ".conda").exists()
    assert not list(cache.glob("*.conda"))


def test_names_follow_condas_folders(llmenv: Program, tmp_path: Path) -> None:
    """``-n`` puts the environment into the first ``envs_dirs`` folder, where list, info and remove find it."""
    folder = tmp_path / "named"
    envs = {"CONDA_ENVS_DIRS": str(folder)}
    assert llmenv("create", "-n", "tiny", "six", **envs).code == 0
    assert (folder / "tiny" / "conda-meta" / "history").is_file()
    rows = llmenv("list", "--json", **envs).result()
    assert [(row["name"], row["phase"]) for row in rows if row["prefix"] == str(folder / "tiny")] == [
        ("tiny", "verified")
    ]
    info = llmenv("info", "-n", "tiny", "--json", **envs).result()
    assert info["phase"] == "verified"
    assert "six" in {row["name"] for row in llmenv("list", "-n", "tiny", "--json", **envs).result()}
    assert llmenv("remove", "-n", "tiny", "-y", **envs).code == 0
    assert not (folder / "tiny").exists()
    assert llmenv("info", "-n", "tiny", **envs).code == 2


def test_a_failed_import_is_reported_and_the_environment_stays(llmenv: Program, prefix: Path) -> None:
    """An environment that cannot import what was promised exits 1 and says which module and why."""
    llmenv.write("small.yml", SMALL.replace("[six]", "[six, nowhere_to_be_found]"))
    ended = llmenv("create", "-f", "small.yml", "-p", prefix)
    assert ended.code == 1
    assert "nowhere_to_be_found: ModuleNotFoundError" in ended.stdout
    assert "the environment stays `created`" in ended.stdout
    info = llmenv("info", "-p", prefix, "--json").result()
    assert info["phase"] == "created"
    assert "nowhere_to_be_found cannot be imported" in info["reason"]


def test_an_existing_environment_needs_a_yes(llmenv: Program, prefix: Path) -> None:
    """Without ``-y`` nothing is touched; with it the new environment takes the old one's place."""
    assert llmenv("create", "-p", prefix, "six").code == 0
    refused = llmenv("create", "-p", prefix, "python")
    assert refused.code == 2
    assert "add -y" in refused.stderr
    assert llmenv("create", "-p", prefix, "-y", "packaging").code == 0
    names = {row["name"] for row in llmenv("list", "-p", prefix, "--json").result()}
    assert "packaging" in names
    assert "six" not in names


def test_a_replacement_that_fails_brings_the_old_one_back(llmenv: Program, prefix: Path) -> None:
    """Conda leaves a half-built environment when pip fails (conda#8537, #10073); here the old one is there again."""
    assert llmenv("create", "-p", prefix, "python", "six").code == 0
    before = sorted(path.name for path in (prefix / "conda-meta").glob("*.json"))
    llmenv.write("broken.yml", "dependencies:\n- python\n- pip\n- pip:\n  - no-such-package==0\n")
    ended = llmenv("create", "-p", prefix, "-y", "-f", "broken.yml")
    assert ended.code == 1
    assert "no-such-package" in ended.stderr
    assert sorted(path.name for path in (prefix / "conda-meta").glob("*.json")) == before
    assert subprocess.run([prefix / "bin" / "python", "-c", "import six"], check=False).returncode == 0


def test_a_failed_pip_section_leaves_no_trace(llmenv: Program, prefix: Path) -> None:
    """A new environment whose pip section fails is gone, and conda never hears of it."""
    llmenv.write("broken.yml", "dependencies:\n- python\n- pip\n- pip:\n  - no-such-package==0\n")
    ended = llmenv("create", "-p", prefix, "-f", "broken.yml")
    assert ended.code == 1
    assert not prefix.parent.exists()
    assert not (Path(llmenv.environ["HOME"]) / ".conda" / "environments.txt").exists()


def test_keep_leaves_the_failed_one_marked(llmenv: Program, prefix: Path) -> None:
    """``--keep`` leaves a failed environment for inspection; it says so, and conda does not list it."""
    llmenv.write("broken.yml", "dependencies:\n- python\n- pip\n- pip:\n  - no-such-package==0\n")
    assert llmenv("create", "-p", prefix, "-f", "broken.yml", "--keep").code == 1
    info = llmenv("info", "-p", prefix, "--json").result()
    assert info["phase"] == "failed"
    assert "no-such-package" in info["reason"]
    assert not (prefix / "conda-meta" / "history").exists()
    assert llmenv("create", "-p", prefix, "-y", "six").code == 0


def test_what_cannot_be_imported_never_takes_an_environments_place(llmenv: Program, prefix: Path) -> None:
    """A replacement that fails its imports is taken back: the environment that worked is there, whole."""
    llmenv.write("small.yml", SMALL)
    assert llmenv("create", "-f", "small.yml", "-p", prefix).code == 0
    (prefix / "mine.txt").write_text("keep me")
    llmenv.write("small.yml", SMALL.replace("[six]", "[six, nowhere_to_be_found]"))
    ended = llmenv("create", "-f", "small.yml", "-p", prefix, "-y")
    assert ended.code == 1
    assert "nowhere_to_be_found cannot be imported: ModuleNotFoundError" in ended.stderr
    assert "is there" in ended.stderr
    assert (prefix / "mine.txt").read_text() == "keep me"
    assert subprocess.run([prefix / "bin" / "python", "-c", "import six"], check=False).returncode == 0


def test_pip_packages_are_listed(llmenv: Program, prefix: Path, tmp_path: Path) -> None:
    """``list`` shows what pip installed as conda does: with ``pypi`` as its channel."""
    wheel = artifacts.wheel("tinydist", "1.0")
    links = write_flat(tmp_path / "links", [wheel])
    llmenv.write("team.yml", "dependencies:\n- python\n- pip\n- pip: [tinydist]\n")
    assert llmenv("create", "-f", "team.yml", "-p", prefix, PIP_FIND_LINKS=str(links)).code == 0
    rows = llmenv("list", "-p", prefix, "--json").result()
    assert {"name": "tinydist", "version": "1.0", "build": "", "channel": "pypi"} in rows
    assert [row["name"] for row in rows if row["name"] == "pip"] == ["pip"]
    assert "tinydist" in llmenv("list", "-p", prefix).stdout


def test_a_dry_run_lists_every_package_on_request(llmenv: Program) -> None:
    """``-v`` lists the whole plan; without it, what was asked for by name is shown as it was chosen."""
    short = llmenv("create", "--dry-run", "numpy")
    assert "chosen" in short.stdout
    assert "numpy 2" in short.stdout
    assert "ca-certificates" not in short.stdout
    assert "ca-certificates" in llmenv("create", "--dry-run", "-v", "numpy").stdout


def test_a_hopeless_pip_section_ends_the_downloads(llmenv: Program, http_channel: ChannelServer, prefix: Path) -> None:
    """Gigabytes of conda packages are not fetched to the end when the pip section has no solution."""
    http_channel.faults.append(Fault("*python-3*.conda", pace=1.0))  # half a minute and more
    llmenv.environ |= {"CONDA_CHANNEL_ALIAS": http_channel.host, "CONDA_PKGS_DIRS": str(llmenv.cwd / "pkgs")}
    llmenv.write("broken.yml", "dependencies:\n- python\n- pip\n- pip:\n  - no-such-package==0\n")
    started = time.monotonic()
    ended = llmenv("create", "-f", "broken.yml", "-p", prefix)
    assert ended.code == 1
    assert "no-such-package" in ended.stderr
    assert not prefix.exists()
    assert time.monotonic() - started < 30
