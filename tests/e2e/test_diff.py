"""``llmenv diff``: environments and lockfiles, in any pairing."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.index import artifacts
from tests.index.server import serve, write_flat
from tests.program import Program

SMALL = "channels: [conda-forge]\ndependencies:\n- python\n- six\nvariables:\n  GREETING: hello\n"


@pytest.fixture
def env(llmenv: Program, prefix: Path) -> Path:
    """An environment with a variable."""
    llmenv.write("small.yml", SMALL)
    ended = llmenv("create", "-f", "small.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    return prefix


def rewritten(prefix: Path, name: str, **fields: Any) -> None:
    """Change what is noted of an installed package, as if another one were there."""
    (path,) = (prefix / "conda-meta").glob(f"{name}-[0-9]*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def test_an_environment_equals_itself_and_what_it_was(llmenv: Program, env: Path) -> None:
    """Exit code 0, and the verdict says how much was compared."""
    for arguments in ((env, env), (env,)):
        ended = llmenv("diff", *arguments)
        assert ended.code == 0, ended.text
        assert ended.stdout.startswith("equal: ")
        assert " conda and 0 pip packages" in ended.stdout
        assert "not compared" not in ended.stdout


def test_what_changed_since_it_was_made(llmenv: Program, env: Path, tmp_path: Path) -> None:
    """Packages that came and went, another version, another content, another variable: each on a line; exit code 1."""
    rewritten(env, "six", version="9999.0")
    rewritten(env, "python", sha256="0" * 64)
    (gone,) = (env / "conda-meta").glob("ca-certificates-*.json")
    gone.unlink()
    state = env / "conda-meta" / "state"
    state.write_text(state.read_text().replace("hello", "goodbye"))
    wheel = artifacts.wheel("tinydist", "1.0")
    (links,) = (write_flat(tmp_path / "links", [wheel]),)
    site = next(env.glob("lib/python3*/site-packages"))
    shutil.unpack_archive(next(links.glob("*.whl")), site, "zip")
    (next(site.glob("tinydist-*.dist-info")) / "INSTALLER").write_text("pip\n")
    ended = llmenv("diff", env)
    assert ended.code == 1, ended.text
    lines = [" ".join(line.split()) for line in ended.stdout.splitlines()]
    assert lines[0].startswith("5 differences: 3 in conda packages, 1 in pip packages, 1 in variables")
    assert "as it was made" in lines[1]
    assert any(line.startswith("hash python ") and line.endswith(" -> 000000000000") for line in lines)
    assert any(line.startswith("up six ") and line.endswith("-> 9999.0") for line in lines)
    assert any(line.startswith("removed ca-certificates ") for line in lines)
    assert "added tinydist 1.0" in lines
    assert "changed GREETING hello -> goodbye" in lines
    assert ended.stdout.isascii()


def test_json_has_every_field(llmenv: Program, env: Path) -> None:
    """One document; a program sees both sides, which way a version went, and whether it is an alarm."""
    rewritten(env, "six", version="9999.0", build="other_0")
    ended = llmenv("diff", env, "--json")
    assert ended.code == 1
    payload = ended.json()
    assert (payload["command"], payload["ok"]) == ("diff", True)
    result = payload["result"]
    assert result["equal"] is False
    assert result["a"].endswith("as it was made")
    (one,) = result["differences"]
    assert (one["part"], one["kind"], one["name"], one["loud"]) == ("conda", "changed", "six", False)
    assert [(change["field"], change["b"], change["direction"]) for change in one["changes"]] == [
        ("version", "9999.0", "up"),
        ("build", "other_0", ""),
    ]


def test_quiet_says_it_by_the_exit_code(llmenv: Program, env: Path) -> None:
    """As a script wants it."""
    assert (llmenv("diff", "-q", env).code, llmenv("diff", "-q", env).text) == (0, "")
    rewritten(env, "six", version="9999.0")
    assert (llmenv("diff", "-q", env).code, llmenv("diff", "-q", env).text) == (1, "")


def test_a_lock_of_names_and_versions(llmenv: Program, env: Path) -> None:
    """Equal, and it says that builds and hashes were not proven; either may come first; an edit shows."""
    assert llmenv("export", "-p", env, "-o", "environment.lock.yml").code == 0
    for sides in (("environment.lock.yml", env), (env, "environment.lock.yml")):
        ended = llmenv("diff", *sides)
        assert ended.code == 0, ended.text
        assert "builds, channels and hashes of conda packages" in ended.stdout
    path = llmenv.cwd / "environment.lock.yml"
    path.write_text(path.read_text().replace("six=", "six=9999."))
    edited = llmenv("diff", env, "environment.lock.yml")
    assert edited.code == 1
    assert "1 difference: 1 in conda packages" in edited.stdout
    assert "was edited after llmenv wrote it" in edited.stderr


@pytest.mark.parametrize(
    ("name", "file"), [("pixi", "pixi.lock"), ("conda-lock", "conda-lock.yml"), ("explicit", "explicit.txt")]
)
def test_an_exact_lock(llmenv: Program, env: Path, name: str, file: str) -> None:
    """Builds, channels and hashes are compared too."""
    assert llmenv("export", "-p", env, "--format", name, "-o", file).code == 0
    ended = llmenv("diff", env, file)
    assert ended.code == 0, ended.text
    assert "of conda packages" not in ended.stdout
    rewritten(env, "six", sha256="0" * 64)
    assert llmenv("diff", env, file, "--json").json()["result"]["differences"][0]["loud"] is True


FILES = {
    "environment": "environment.lock.yml",
    "pixi": "pixi.lock",
    "conda-lock": "conda-lock.yml",
    "explicit": "explicit.txt",
    "pylock": "pylock.toml",
    "requirements": "requirements.lock.txt",
}


def test_locks_of_every_format_agree(llmenv: Program, prefix: Path) -> None:
    """One plan in six formats, and the environment made from one of them: no pair of them differs."""
    llmenv.write("llmenv.yml", "channels: [conda-forge]\ndependencies: [python, pip, {pip: [tinydist]}]\n")
    del llmenv.environ["PIP_NO_INDEX"]
    with serve(
        [
            artifacts.wheel("tinydist", "1.0"),
            artifacts.sdist("tinydist", "1.0", artifacts.source_files("tinydist", "1.0")),
        ]
    ) as index:
        llmenv.environ["PIP_INDEX_URL"] = index.url
        asked = [word for name in FILES for word in ("--format", name)]
        assert llmenv("lock", *asked).code == 0
        assert llmenv("create", "--lock", "pixi.lock", "-p", prefix).code == 0
    sides: list[str | Path] = [*FILES.values(), prefix]
    for one, other in itertools.combinations(sides, 2):
        ended = llmenv("diff", one, other)
        if {str(one), str(other)} & {"pylock.toml", "requirements.lock.txt"}:
            assert ended.stdout.startswith("equal: 1 pip package\n"), (one, other, ended.text)
        else:
            assert re.match(r"equal: \d+ conda and 1 pip packages\n", ended.stdout), (one, other, ended.text)


def test_names_and_paths(llmenv: Program, env: Path) -> None:
    """An environment is named, or given by its path; the folder of that name here is meant where no environment is."""
    envs = {"CONDA_ENVS_DIRS": str(env.parent)}
    assert llmenv("diff", "env", env, **envs).code == 0
    assert llmenv("diff", "env", "env", **envs).code == 0
    (llmenv.cwd / "here").symlink_to(env)
    assert llmenv("diff", "here", "./here", **envs).code == 0


def test_an_environment_nobody_noted(llmenv: Program, env: Path) -> None:
    """One that conda made can be compared with another; what it was is not known."""
    theirs = env.parent / "theirs"
    shutil.copytree(env, theirs, symlinks=True)
    shutil.rmtree(theirs / "conda-meta" / "llmenv")
    ended = llmenv("diff", env, theirs)
    assert ended.code == 0, ended.text
    assert "not compared, as one side does not say: channel list" in ended.stdout
    alone = llmenv("diff", theirs)
    assert alone.code == 2
    assert "llmenv did not make" in alone.stderr


MISTAKES = [
    pytest.param(["nowhere", "env"], "'nowhere' is neither an environment nor a lockfile", id="nothing there"),
    pytest.param(["./nowhere.lock", "env"], "nowhere.lock", id="no such path"),
    pytest.param(["notes.txt", "env"], "is no lockfile that is known here", id="some other file"),
    pytest.param(["environment.lock.yml"], "nothing to compare it with", id="a lock alone"),
    pytest.param(["broken/pixi.lock", "env"], "pixi.lock", id="half a file"),
    pytest.param(["a", "b", "c"], "c", id="three sides"),
    pytest.param(["--platform", "win-64", "two.conda-lock.yml", "env"], "win-64", id="a platform that is not there"),
]


@pytest.mark.parametrize(("arguments", "told"), MISTAKES)
def test_a_mistake_is_told(llmenv: Program, arguments: list[str], told: str) -> None:
    """Exit code 2, which no comparison has, one sentence, and no traceback."""
    folder = llmenv.cwd / "envs" / "env" / "conda-meta"
    folder.mkdir(parents=True)
    (folder / "history").touch()
    llmenv.write("notes.txt", "remember the milk\n")
    llmenv.write("environment.lock.yml", "dependencies:\n- six=1.0\n")
    llmenv.write("broken/pixi.lock", "version: 6\nenvironments:\n  default:\n    chan")
    llmenv.write("two.conda-lock.yml", TWO_PLATFORMS)
    ended = llmenv("diff", *arguments, CONDA_ENVS_DIRS=str(llmenv.cwd / "envs"))
    assert ended.code == 2, ended.text
    assert told in ended.stderr
    assert "Traceback" not in ended.text
    assert ended.stdout == ""


def entry(name: str, version: str, platform: str) -> str:
    """Return an entry of a conda-lock.yml."""
    url = f"https://conda.anaconda.org/conda-forge/{platform}/{name}-{version}-0.conda"
    return (
        f"- {{name: {name}, version: '{version}', manager: conda, platform: {platform}, dependencies: {{}}, "
        f"url: {url}, hash: {{md5: {'a' * 32}, sha256: {'a' * 64}}}, category: main, optional: false}}\n"
    )


TWO_PLATFORMS = (
    "version: 1\nmetadata:\n  content_hash: {linux-64: '0', osx-arm64: '0'}\n"
    "  channels: [{url: conda-forge, used_env_vars: []}]\n"
    "  platforms: [linux-64, osx-arm64]\n  sources: [environment.yml]\n"
    "package:\n" + entry("zlib", "1.3.1", "linux-64") + entry("zlib", "1.3.2", "osx-arm64")
)


def test_a_lock_of_two_platforms(llmenv: Program) -> None:
    """Each platform can be asked for; this machine's is meant otherwise."""
    llmenv.write("two.conda-lock.yml", TWO_PLATFORMS)
    llmenv.write("other.conda-lock.yml", TWO_PLATFORMS.replace("1.3.2", "1.3.3"))
    sides = ("two.conda-lock.yml", "other.conda-lock.yml")
    assert llmenv("diff", *sides, "--platform", "linux-64").code == 0
    ended = llmenv("diff", *sides, "--platform", "osx-arm64")
    assert ended.code == 1, ended.text
    assert "1.3.2 -> 1.3.3" in ended.stdout
    assert "two.conda-lock.yml (osx-arm64)" in ended.stdout


def test_secrets_stay_hidden(llmenv: Program, env: Path) -> None:
    """A token in a variable, in the address of a channel or of a package, in no stream and no payload."""
    state = env / "conda-meta" / "state"
    state.write_text(json.dumps({"version": 1, "env_vars": {"HF_TOKEN": "hf_canary", "GREETING": "hello"}}))
    rewritten(env, "six", url="https://me:canary@h.example/t/tk-canary/forge/noarch/six-1-0.conda")
    other = env.parent / "other"
    shutil.copytree(env, other, symlinks=True)
    (other / "conda-meta" / "state").write_text(json.dumps({"version": 1, "env_vars": {"HF_TOKEN": "hf_canary2"}}))
    for arguments in ((env,), (env, other), (env, "--json"), (env, other, "--json")):
        ended = llmenv("diff", *arguments)
        assert ended.code == 1
        assert "canary" not in ended.text
    assert "changed  HF_TOKEN  *** -> ***" in llmenv("diff", env, other).stdout
