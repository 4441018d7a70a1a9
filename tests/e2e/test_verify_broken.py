"""Environments that are broken in ways no import of a package shows: none of them is verified, and each is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.test_verify import checks, made
from tests.program import Program


@pytest.fixture
def env(llmenv: Program, prefix: Path) -> Path:
    """Return a whole environment."""
    return made(llmenv, prefix, "six")


def script(prefix: Path, text: str) -> None:
    """Let activation run this."""
    folder = prefix / "etc" / "conda" / "activate.d"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "odd.sh").write_text(text)


def site_of(prefix: Path) -> Path:
    """Return the folder of its packages."""
    return next((prefix / "lib").glob("python3.*/site-packages"))


def judged(llmenv: Program, prefix: Path, check: str) -> tuple[str, str]:
    """Return status and summary of a check, as a whole run of the ladder has it."""
    found = checks(llmenv("verify", "-p", prefix, "--json").stdout)[check]
    return str(found["status"]), str(found["summary"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("export PYTHONHOME=/nonexistent", "activation sets PYTHONHOME=/nonexistent"),
        ("export LD_PRELOAD=/nonexistent/lib.so", "LD_PRELOAD=/nonexistent/lib.so, which does not exist"),
        ("export PATH=/nonexistent", "PATH finds no `python`"),
        ("export PATH=/usr/bin:/bin", "python"),
        ("unset CONDA_PREFIX", "CONDA_PREFIX unset"),
        ("export CONDA_PREFIX=/usr", "CONDA_PREFIX=/usr"),
    ],
)
def test_activation_that_leaves_another_python_or_none(llmenv: Program, env: Path, text: str, says: str) -> None:
    """Each of these makes `conda activate` useless, whatever the scripts' exit codes are."""
    script(env, f"{text}\n")
    status, summary = judged(llmenv, env, "activation")
    assert status == "fail"
    assert says in summary
    assert llmenv("info", "-p", env, "--json").result()["phase"] == "created"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("export PYTHONPATH=/srv/code", "warn"),
        ("export LD_LIBRARY_PATH=/srv/lib", "warn"),
        ('export LD_LIBRARY_PATH="$CONDA_PREFIX/lib:$LD_LIBRARY_PATH"', "pass"),
        ('export LD_LIBRARY_PATH="$LD_LIBRARY_PATH"', "pass"),
        ("export OMP_NUM_THREADS=4", "pass"),
    ],
)
def test_activation_that_reroutes_the_search(llmenv: Program, env: Path, text: str, status: str) -> None:
    """What leads out of the environment is warned of; its own folders and what the shell had are not."""
    script(env, f"{text}\n")
    ended = llmenv("verify", "-p", env, "--only", "activation", "--json", LD_LIBRARY_PATH="/opt/site/lib")
    assert checks(ended.stdout)["activation"]["status"] == status


def test_a_variable_the_person_set_is_meant(llmenv: Program, prefix: Path) -> None:
    """PYTHONPATH among the variables of a layer was asked for."""
    llmenv.write(
        "layer.yml",
        "dependencies: [python]\nvariables: {PYTHONPATH: /srv/code}\nllmenv: {allow_variables: [PYTHONPATH]}\n",
    )
    assert llmenv("create", "-f", "layer.yml", "-p", prefix, "--no-verify").code == 0
    assert judged(llmenv, prefix, "activation")[0] == "pass"


def test_a_broken_standard_library(llmenv: Program, env: Path) -> None:
    """A module that cannot be compiled any more fails, with its file."""
    library = site_of(env).parent
    (library / "ssl.py").unlink()
    (library / "ssl.py").write_text("def broken(:\n")
    ended = llmenv("verify", "-p", env, "--json")
    found = checks(ended.stdout)["standard-library"]
    assert ended.code == 1
    assert found["status"] == "fail"
    assert str(found["summary"]).startswith("ssl of the standard library cannot be imported: SyntaxError in ")
    assert f"{library}/ssl.py" in str(found["summary"])
    assert "--integrity" in str(found["fix"])


def test_an_error_at_every_start(llmenv: Program, env: Path) -> None:
    """Python goes on after it, so that is a warning; the file is named."""
    site = site_of(env)
    (site / "sitecustomize.py").write_text("raise RuntimeError('boom')\n")
    assert judged(llmenv, env, "start-up") == (
        "warn",
        f"{site}/sitecustomize.py fails at every start of Python: RuntimeError: boom",
    )
    (site / "sitecustomize.py").unlink()
    (site / "odd.pth").write_text("import nowhere\n")
    status, summary = judged(llmenv, env, "start-up")
    assert status == "warn"
    assert summary.startswith(f"{site}/odd.pth has a line that fails at every start of Python: ModuleNotFoundError")


def test_a_path_that_code_puts_in_front(llmenv: Program, env: Path, tmp_path: Path) -> None:
    """A ``.pth`` file may run code: what it does to the search path is what counts."""
    elsewhere, site = tmp_path / "elsewhere", site_of(env)
    elsewhere.mkdir()
    (site / "odd.pth").write_text(f"import sys; sys.path.insert(0, '{elsewhere}')\n")
    assert judged(llmenv, env, "search-paths") == (
        "warn",
        f"{site}/odd.pth puts {elsewhere} before the environment's own modules",
    )
    (elsewhere / "six.py").write_text("")
    status, summary = judged(llmenv, env, "search-paths")
    assert status == "fail"
    assert summary.endswith("and it has six of the environment too")


@pytest.mark.parametrize("content", ["{", "[]", "", '{"name": "six"}', None])
def test_a_corrupt_record(llmenv: Program, env: Path, content: str | None) -> None:
    """Conda can do nothing with such an environment any more; a pipe in a record's place is not waited for."""
    record = next((env / "conda-meta").glob("six-*.json"))
    record.unlink()
    if content is None:
        os.mkfifo(record)
    else:
        record.write_text(content)
    ended = llmenv("verify", "-p", env, "--json")
    assert ended.code == 1, ended.text
    found = checks(ended.stdout)["records"]
    assert found["status"] == "fail"
    assert str(found["summary"]).startswith(f"{record} is broken: ")
    assert str(found["fix"]) == f"llmenv verify -p {env} --integrity"


@pytest.mark.parametrize("name", ["METADATA", "RECORD", "INSTALLER"])
@pytest.mark.parametrize("kind", ["pipe", "device", "huge"])
def test_metadata_that_is_no_plain_file(llmenv: Program, env: Path, name: str, kind: str) -> None:
    """Nothing waits for it or reads it without end; it is named."""
    folder = site_of(env) / "odd-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    path = folder / name
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as stream:
            stream.truncate(2**33)
    assert judged(llmenv, env, "records")[1].startswith(
        f"{path.resolve().parent if kind != 'device' else folder}/{name} "
    )
    assert llmenv("list", "-p", env).code in {0, 2}


@pytest.mark.parametrize("place", ["state", "llmenv/state.json", "llmenv/spec.json", "broken-1.0-0.json"])
@pytest.mark.parametrize("command", ["info", "verify", "list", "export"])
def test_a_pipe_among_the_notes(llmenv: Program, env: Path, place: str, command: str) -> None:
    """No command waits for one; each that needs the file says which it is."""
    path = env / "conda-meta" / place
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    ended = llmenv(command, "-p", env)
    assert "Traceback" not in ended.text
    if ended.code:
        assert str(path) in ended.text


def test_a_whole_environment_raises_no_alarm(llmenv: Program, env: Path) -> None:
    """None of these checks has anything to say of one that was just made."""
    found = checks(llmenv("verify", "-p", env, "--json").stdout)
    looked_at = ("activation", "python", "start-up", "standard-library", "records")
    assert {found[name]["status"] for name in looked_at} == {"pass"}
    paths = found["search-paths"]
    assert paths["status"] == "pass" or (str(paths["summary"]).startswith("PYTHONPATH adds") and not paths["detail"])


@pytest.mark.parametrize("name", ["RECORD", "METADATA", "INSTALLER", "entry_points.txt"])
def test_the_next_step_does_not_wait_for_a_pipe_either(llmenv: Program, env: Path, name: str) -> None:
    """``verify --integrity``, which a broken record is to be looked at with, comes to an end."""
    folder = site_of(env) / "odd-1.0.dist-info"
    folder.mkdir()
    for other in ("RECORD", "METADATA", "INSTALLER"):
        (folder / other).write_text("")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    ended = llmenv("verify", "-p", env, "--integrity")
    assert ended.code == 1, ended.text
    assert "odd-1.0.dist-info" in ended.text
