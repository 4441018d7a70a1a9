"""Files that want to hurt: each is refused in a moment with file and line, and nothing happens."""

from __future__ import annotations

import resource
import subprocess
import time
from pathlib import Path

import pytest

from tests.program import Program

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "b0: &b0 {k0: 1}\n" + "".join(f"b{i}: &b{i}\n  <<: [*b{i - 1}, *b{i - 1}]\n" for i in range(1, 25))
MEMORY = 512 * 1024 * 1024
"""Address space of a run: the program needs about a fifth of it."""

HOSTILE = {
    "a bomb of aliases": BOMB.encode(),
    "a quadratic bomb": ("a: &a " + "x" * 5000 + "\nb: [" + "*a," * 19_000 + "]\n").encode(),
    "a merge bomb": MERGES.encode(),
    "10,000 brackets": b"dependencies: " + b"[" * 10_000,
    "10,000 dashes": b"- " * 10_000,
    "10,000 levels": b"".join(b" " * i + b"a:\n" for i in range(3000)),
    "a key twice": b"dependencies: [six]\ndependencies: [click]\n",
    "a tag that runs code": b"dependencies: !!python/object/apply:os.system ['touch pwned']\n",
    "a tag of its own": b"dependencies: !include /etc/passwd\n",
    "a NUL": b"dependencies:\n- six\0\n",
    "an escape": b"dependencies:\n- six \x1b[31m\n",
    "not UTF-8": b"dependencies:\n- six # caf\xe9\n",
    "two documents": b"dependencies: [six]\n---\ndependencies: [click]\n",
    "an alias to itself": b"dependencies: &a [*a]\n",
    "an alias to nothing": b"dependencies: [*nowhere]\n",
    "a list instead of a mapping": b"- six\n",
    "a sentence": b"please install six\n",
    "nothing": b"",
    "only a comment": b"# dependencies: [six]\n",
    "a tab": b"dependencies:\n\t- six\n",
    "an open bracket": b"dependencies: [six\n",
    "a number for a list": b"dependencies: 5\n",
    "a mapping for a list": b"dependencies: {six: 1}\n",
    "a null package": b"dependencies:\n- six\n-\n",
    "a number for a package": b"dependencies:\n- 1.2\n",
    "channels of maps": b"channels: [{a: b}]\ndependencies: [six]\n",
    "variables of lists": b"variables: {A: [1]}\ndependencies: [six]\n",
    "a key nobody knows": b"dependencies: [six]\nllmenv: {exec: rm}\n",
    "an unknown kind of dependency": b"dependencies:\n- conda: [six]\n",
    "a shell in a package": b"dependencies: ['six; rm -rf /']\n",
    "100,000 packages": b"dependencies:\n" + b"- six\n" * 100_000,
    "a very long line": b"dependencies: [" + b"x" * 2_000_000 + b"]\n",
    "a quote in a variable": b"dependencies: [six]\nvariables:\n  A: \"x'; touch pwned; '\"\n",
    "a dollar in a variable": b"dependencies: [six]\nvariables:\n  A: $(touch pwned)\n",
    "a line end in a variable": b'dependencies: [six]\nvariables:\n  A: "x\\ntouch pwned"\n',
    "a backslash in a variable": b"dependencies: [six]\nvariables:\n  A: 'x\\'\n",
    "a loader in a variable": b"dependencies: [six]\nvariables:\n  LD_PRELOAD: /tmp/evil.so\n",
    "PATH in a variable": b"dependencies: [six]\nvariables:\n  PATH: /tmp/evil\n",
    "a command as a variable": b"dependencies: [six]\nvariables:\n  'A;touch pwned': x\n",
    "a line end in a variable's name": b'dependencies: [six]\nvariables:\n  "A\\n": x\n',
}  # fmt: skip


def limited() -> None:
    """Limit the memory of a run."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def refuse(llmenv: Program, content: bytes) -> None:
    """Create from a file and see it refused: in a moment, within memory, with its line, and without a trace."""
    (llmenv.cwd / "f.yml").write_bytes(content)
    started = time.monotonic()
    done = subprocess.run(
        [*llmenv.argv, "create", "-f", "f.yml", "-p", llmenv.cwd / "env"],
        cwd=llmenv.cwd,
        env=llmenv.environ,
        capture_output=True,
        check=False,
        preexec_fn=limited,
        timeout=60,
    )
    seconds = time.monotonic() - started
    shown = done.stderr.decode()
    assert done.returncode == 2, shown[-2000:]
    assert "f.yml:" in shown
    assert "Traceback" not in shown
    assert "\x1b" not in shown
    assert len(shown) < 4000
    assert done.stdout == b""
    assert seconds < 4
    assert [path.name for path in llmenv.cwd.iterdir()] == ["f.yml"]
    assert list(Path(llmenv.environ["HOME"]).iterdir()) == []


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused(llmenv: Program, content: bytes) -> None:
    """Faults 35 and 36: exit code 2 and file:line within seconds and 512 MiB; nothing runs, nothing is written."""
    refuse(llmenv, content)


def test_a_hundred_megabytes_are_refused(llmenv: Program) -> None:
    """Fault 36: a file that is no environment is not even read whole."""
    with (llmenv.cwd / "f.yml").open("wb") as file:
        file.write(b"dependencies:\n")
        file.truncate(100 * 1024 * 1024)
    started = time.monotonic()
    ended = llmenv("create", "-f", "f.yml", "-p", llmenv.cwd / "env")
    assert ended.code == 2, ended.text
    assert "f.yml" in ended.stderr
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/urandom", "."])
def test_what_is_no_file_is_refused(llmenv: Program, place: str) -> None:
    """Fault 36: devices that never end and folders are no environment files."""
    ended = llmenv("create", "-f", place, "-p", llmenv.cwd / "env")
    assert ended.code == 2, ended.text
    assert place in ended.stderr
    assert "Traceback" not in ended.text


@pytest.mark.parametrize("circle", [("aa",), ("aa", "bb"), ("aa", "bb", "cc")], ids=" ".join)
def test_files_that_extend_each_other(llmenv: Program, circle: tuple[str, ...]) -> None:
    """Fault 36: an include loop ends with the line of each step of the circle, whether of one file or of three."""
    for name, following in zip(circle, [*circle[1:], circle[0]], strict=True):
        llmenv.write(f"envs/{name}.yml", f"dependencies: [six]\nllmenv:\n  extends: [{following}]\n")
    ended = llmenv("create", "-f", "envs/aa.yml", "-p", llmenv.cwd / "env")
    assert ended.code == 2
    assert "Traceback" not in ended.text
    assert "envs/aa.yml:3" in ended.stderr or f"envs/{circle[-1]}.yml:3" in ended.stderr
    assert all(name in ended.stderr for name in circle)


def test_requirements_files_that_include_each_other(llmenv: Program) -> None:
    """Fault 36: the same loop by ``-r``."""
    llmenv.write("f.yml", "dependencies:\n- python\n- pip\n- pip: [-r a.txt]\n")
    llmenv.write("a.txt", "-r b.txt\n")
    llmenv.write("b.txt", "-r a.txt\n")
    ended = llmenv("create", "-f", "f.yml", "-p", llmenv.cwd / "env")
    assert ended.code == 2, ended.text
    assert "Traceback" not in ended.text
    assert "b.txt:1" in ended.stderr
