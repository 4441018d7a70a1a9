"""What ``lock``, ``export`` and ``create --lock`` refuse, and what they say of files they do not look at."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index import artifacts
from tests.index.server import write_flat
from tests.program import Program

LAYER = """\
channels: [conda-forge, nodefaults]
dependencies: [python, six, pip, {pip: [tiny-dist]}]
variables: {GREETING: hello}
"""


@pytest.fixture
def project(llmenv: Program, tmp_path: Path) -> Program:
    """A project with a pip section that can be had from a folder of wheels."""
    write_flat(tmp_path / "wheels", [artifacts.wheel("tiny-dist", "1.2")])
    llmenv.environ["PIP_FIND_LINKS"] = str(tmp_path / "wheels")
    llmenv.write("llmenv.yml", LAYER)
    return llmenv


def written(project: Program, name: str, *arguments: str) -> Path:
    """Lock, and return the file."""
    ended = project("lock", *arguments)
    assert ended.code == 0, ended.text
    return project.cwd / name


def rewrite(path: Path, change: Callable[[str], str], *, sealed: bool = False) -> None:
    """Change a lock by hand; unless it is to stay sealed, its digest goes, which says that it is meant."""
    text = change(path.read_text())
    path.write_text(text if sealed else re.sub(r"(?m)^# digest:.*\n", "", text))


@pytest.mark.parametrize("platform", ["foo", "../../x", "noarch", "", "linux-64\n", "LINUX-64", "linux-65"])
def test_a_platform_that_is_none_is_a_usage_error(llmenv: Program, platform: str) -> None:
    """The platforms there are, are listed; nothing is written."""
    ended = llmenv("lock", "six", "--platform", platform)
    assert ended.code == 2, ended.text
    assert "Traceback" not in ended.text
    assert "linux-64, linux-aarch64" in ended.stderr
    assert not list(llmenv.cwd.iterdir())


@pytest.mark.parametrize("label", ["variables", "inputs", "asked"])
def test_an_edit_of_the_head_is_refused(project: Program, prefix: Path, label: str) -> None:
    """What the head carries is part of the lock, and an edit of it is noticed before anything is installed."""
    path = written(project, "pixi.lock", "--format", "pixi")
    rewrite(path, lambda text: re.sub(rf"(?m)^# {label}:.*\n", "", text), sealed=True)
    ended = project("create", "--lock", "pixi.lock", "-p", prefix)
    assert ended.code == 2
    assert "pixi.lock is not what llmenv wrote" in ended.stderr
    assert not prefix.exists()


def test_an_exchanged_pip_line_is_refused(project: Program, prefix: Path) -> None:
    """The comments of an explicit list that pip packages stand in are no comments to us."""
    path = written(project, "explicit.txt", "--format", "explicit")
    assert "# pip tiny-dist @ " in path.read_text()
    rewrite(
        path, lambda text: text.replace("# pip tiny-dist @ ", "# pip --index-url=https://h.example @ "), sealed=True
    )
    ended = project("create", "--lock", "explicit.txt", "-p", prefix)
    assert ended.code == 2
    assert "is not what llmenv wrote" in ended.stderr
    rewrite(path, str)
    ended = project("create", "--lock", "explicit.txt", "-p", prefix)
    assert ended.code == 2
    assert re.search(r"explicit\.txt:\d+: '# pip --index-url=\S+ @ .*' is no distribution of pip", ended.stderr)
    assert not prefix.exists()


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ('{"LD_PRELOAD": "/tmp/x.so"}', "variable LD_PRELOAD changes how programs are found or loaded"),
        ('{"A;touch x": "1"}', "variable name 'A;touch x' is not allowed"),
        ('{"GREETING": "`id`"}', "would not survive `conda activate`"),
        ('{"GREETING": ', "not written as a JSON object"),
    ],
)
def test_variables_of_a_lock_are_those_a_fragment_may_set(
    project: Program, prefix: Path, variables: str, reason: str
) -> None:
    """They are refused with their line before anything is solved, fetched or linked, even in a dry run."""
    path = written(project, "pixi.lock", "--format", "pixi")
    rewrite(path, lambda text: re.sub(r"(?m)^# variables:.*$", lambda _: f"# variables: {variables}", text))
    for arguments in (("--dry-run",), ("-p", str(prefix))):
        ended = project("create", "--lock", "pixi.lock", *arguments)
        assert ended.code == 2, ended.text
        assert re.search(r"pixi\.lock:\d+: ", ended.stderr)
        assert reason in ended.stderr
    assert not prefix.exists()


@pytest.mark.parametrize("name", ["pixi.lock", "environment.lock.yml"])
def test_a_variable_that_was_allowed_stays_so(project: Program, prefix: Path, name: str) -> None:
    """A fragment that allows a loader's variable can be locked and made again, in every format."""
    project.write("llmenv.yml", LAYER + "llmenv: {allow_variables: [LD_LIBRARY_PATH]}\n")
    rewrite(
        project.cwd / "llmenv.yml", lambda text: text.replace("{GREETING:", "{LD_LIBRARY_PATH: /opt/lib, GREETING:")
    )
    written(project, name)
    ended = project("create", "--lock", name, "-p", prefix)
    assert ended.code == 0, ended.text
    assert '"LD_LIBRARY_PATH": "/opt/lib"' in (prefix / "conda-meta" / "state").read_text()


@pytest.mark.parametrize(
    ("formats", "named"),
    [
        (("constraints",), "no environment can be made of that alone"),
        (("pylock", "requirements"), "no environment can be made of that alone"),
        (("pixi", "constraints"), "llmenv create --lock pixi.lock -n NAME"),
        (("constraints", "environment"), "llmenv create --lock environment.lock.yml -n NAME"),
    ],
)
def test_what_to_do_with_a_lock_is_said_of_one_that_works(
    project: Program, formats: tuple[str, ...], named: str
) -> None:
    """``create --lock`` is named with a file it takes, or with none."""
    ended = project("lock", *(word for name in formats for word in ("--format", name)))
    assert ended.code == 0, ended.text
    assert named in ended.stderr
    assert "--lock constraints" not in ended.text


@pytest.mark.parametrize(("name", "file"), [("constraints", "constraints.txt"), ("pylock", "pylock.toml")])
def test_a_lock_for_pip_makes_no_environment(project: Program, prefix: Path, name: str, file: str) -> None:
    """Its head does not promise it, and ``create --lock`` says why not."""
    path = written(project, file, "--format", name)
    assert "create --lock" not in path.read_text().split("\n")[0]
    ended = project("create", "--lock", file, "-p", prefix)
    assert ended.code == 2
    assert "pip" in ended.stderr
    assert "Traceback" not in ended.text


def test_check_names_what_it_does_not_check(project: Program) -> None:
    """A lock of the pip section beside the others is not passed over in silence."""
    for name in ("pylock", "requirements", "constraints"):
        written(project, "", "--format", name)
    ended = project("lock", "--check")
    assert ended.code == 2
    assert "there is no lockfile" in ended.stderr
    assert "pylock.toml" in ended.stderr
    written(project, "", "--format", "pixi")
    ended = project("lock", "--check")
    assert ended.code == 0, ended.text
    for file in ("pylock.toml", "requirements.lock.txt", "constraints.txt"):
        assert f"{file}: not checked" in ended.stdout
    assert len(project("lock", "--check", "--json").result()["unchecked"]) == 3


def test_a_file_of_somebody_else_is_not_said_to_be_unchecked(project: Program) -> None:
    """Constraints that a person wrote are no lock of ours."""
    (project.cwd / "constraints.txt").write_bytes(b"# caf\xe9\nnumpy<2\n")
    written(project, "", "--format", "pixi")
    assert "constraints.txt" not in project("lock", "--check").stdout


@pytest.mark.parametrize(
    "arguments", [("--format", "pixi"), ("-o", "pixi.lock"), ("--format", "nosuch"), ("--require-hashes",)]
)
def test_asked_is_no_lock(project: Program, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """What was asked for has one form; asking for another is refused instead of passed over."""
    ended = project("export", "-p", tmp_path / "env", "--asked", *arguments)
    assert ended.code == 2
    assert "--asked writes" in ended.stderr
    assert not (project.cwd / "pixi.lock").exists()


def test_a_package_without_a_hash_is_refused_when_planning(project: Program, prefix: Path) -> None:
    """The line is named, and no channel is blamed; a dry run says the same."""
    path = written(project, "explicit.txt", "--format", "explicit")
    rewrite(path, lambda text: re.sub(r"(/six-[^#\n]*)#\S+", r"\1", text))
    number = next(at for at, line in enumerate(path.read_text().split("\n"), 1) if "/six-" in line)
    for arguments in (("--dry-run",), ("-p", str(prefix))):
        ended = project("create", "--lock", "explicit.txt", *arguments)
        assert ended.code == 2, ended.text
        assert "1 packages of explicit.txt have no hash" in ended.stderr
        assert f"explicit.txt:{number}   six" in ended.stderr
    assert not prefix.exists()


@pytest.mark.parametrize(
    ("name", "file", "empty"),
    [
        ("conda-lock", "conda-lock.yml", lambda text: text[: text.index("package:")] + "package: []\n"),
        ("explicit", "explicit.txt", lambda text: text[: text.index("@EXPLICIT")] + "@EXPLICIT\n"),
        (
            "environment",
            "environment.lock.yml",
            lambda text: text[: text.index("dependencies:")] + "dependencies: []\n",
        ),
    ],
)
def test_an_empty_lock_is_refused(
    project: Program, prefix: Path, name: str, file: str, empty: Callable[[str], str]
) -> None:
    """Nothing is made of nothing, and the exit code says so."""
    rewrite(written(project, file, "--format", name), empty)
    ended = project("create", "--lock", file, "-p", prefix)
    assert ended.code == 2, ended.text
    assert f"{file} has no" in ended.stderr
    assert not prefix.exists()


def test_a_need_of_a_distribution_that_nothing_meets_is_told(project: Program) -> None:
    """Where a lock says what a distribution needs, a package that was dropped is named; what conda brings is not."""
    pixi = written(project, "pixi.lock", "--format", "pixi")
    needs = (
        "  requires_dist:\n  - dropped>=1\n  - six\n  - elsewhere ; sys_platform == 'win32'\n  - more ; extra == 'x'\n"
    )
    rewrite(pixi, lambda text: re.sub(r"(?m)^  name: tiny-dist\n", lambda one: one[0] + needs, text))
    conda_lock = written(project, "conda-lock.yml", "--format", "conda-lock")
    before, _, after = conda_lock.read_text().partition("- name: tiny-dist")
    after = after.replace("dependencies: {}", "dependencies: {dropped: '*', six: '>=1'}", 1)
    rewrite(conda_lock, lambda _text: f"{before}- name: tiny-dist{after}")
    for path in (pixi, conda_lock):
        ended = project("create", "--lock", path.name, "--dry-run")
        assert ended.code == 0, ended.text
        assert re.search(rf"tiny-dist \({path.name}:\d+\) needs dropped", ended.stderr), ended.stderr
        assert ended.stderr.count(" needs ") == 1


def test_a_lock_cut_short_is_not_said_to_be_too_new(project: Program) -> None:
    """Half a file of a version that is known is broken; only one of a later version is too new."""
    path = written(project, "pixi.lock", "--format", "pixi")
    rewrite(path, lambda text: text[: text.index("packages:\n", text.index("environments:")) + 30])
    ended = project("create", "--lock", "pixi.lock", "--dry-run")
    assert ended.code == 2
    assert re.search(r"pixi\.lock:\d+", ended.stderr)
    assert "as old as" not in ended.stderr
    assert "cut short" in ended.stderr
    path.write_text(path.read_text().replace("version: 6", "version: 99", 1))
    assert "as old as" in project("create", "--lock", "pixi.lock", "--dry-run").stderr


def test_who_reads_the_pip_lines_of_a_list_is_said(project: Program) -> None:
    """They are in the list, so nothing is left out; but conda and mamba pass over them."""
    ended = project("lock", "--format", "explicit")
    assert ended.code == 0, ended.text
    assert "conda and mamba do not" in ended.stderr
    assert "left out" not in ended.stderr


def test_a_warning_is_printed_once_for_several_formats(project: Program, tmp_path: Path) -> None:
    """Two formats that hold the same package have one thing to say of it."""
    project.write("llmenv.yml", LAYER.replace("tiny-dist", str(next((tmp_path / "wheels").rglob("*.whl")))))
    ended = project("lock", "--format", "environment", "--format", "requirements")
    assert ended.stderr.count("lies on this machine") == 1, ended.stderr


def test_a_place_that_cannot_be_written_is_told_with_the_file(project: Program) -> None:
    """The file that was wanted is named, not a temporary one, and nothing is left beside it."""
    (project.cwd / "out" / "environment.lock.yml").mkdir(parents=True)
    ended = project("lock", "--format", "environment", "-o", "out")
    assert ended.code == 1
    assert "cannot write out/environment.lock.yml: Is a directory" in ended.stderr
    assert "-o" in ended.stderr
    assert "llmenv-tmp" not in ended.text
    assert [path.name for path in (project.cwd / "out").iterdir()] == ["environment.lock.yml"]


def test_a_folder_that_cannot_be_made_is_told_with_the_file(project: Program) -> None:
    """The disk's refusal is one sentence that names what was to be written."""
    project.write("out", "")
    ended = project("lock", "--format", "environment", "-o", "out/inner")
    assert ended.code == 1
    assert "cannot write out/inner/environment.lock.yml" in ended.stderr
