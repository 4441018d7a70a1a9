"""What we work out for an activated environment is what a real ``conda activate`` leaves in bash."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from conda_llmenv import process
from conda_llmenv.prefix.activated import activated_environ
from tests.conda.conftest import CONDA_PYTHON, Conda
from tests.prefix.activation import environment, shell_variables

META = ("CONDA_EXE", "_CE_M", "_CE_CONDA", "CONDA_PYTHON_EXE", "_CONDA_EXE", "_CONDA_ROOT")
"""Where conda itself is, which only conda knows."""

SHELLS_OWN = ("_", "SHLVL", "PWD", "OLDPWD", "PS1")

QUOTED = 'a b "c" $HOME `id` \\ ! *\nzweite Zeile\té'
"""Everything but the quote that conda's own line for a shell does not survive."""

GCC = """\
export CC="$CONDA_PREFIX/bin/cc" CFLAGS="-O2 -I$CONDA_PREFIX/include"
export OLD_CFLAGS="${CFLAGS}" ; unset TO_GO
cd / ; echo activating ; [ -n "$NOT_SET" ] && echo
"""
LEAVE = "unset CC CFLAGS; export LEFT_BY=$CONDA_PREFIX\n"


def with_conda(prefix: Path, variables: Mapping[str, str], *before: Path) -> dict[str, str]:
    """Return what a program sees after ``conda activate``, of the environments in ``before`` and then of this one."""
    step = f'eval "$({CONDA_PYTHON} -m conda shell.posix activate "$place")"'
    script = f"for place; do {step}; done >/dev/null; exec env -0"
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *map(str, before), str(prefix)],
        env=dict(variables),
        capture_output=True,
        check=True,
        timeout=120,
    )
    entries = (entry.partition("=") for entry in os.fsdecode(done.stdout).split("\0") if entry)
    return {name: value for name, _, value in entries}


def comparable(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what conda and we both know: its own place, and the shell's variables, are left out."""
    kept = {name: value for name, value in environ.items() if name not in (*META, *SHELLS_OWN)}
    entries = kept["PATH"].split(":")
    kept["PATH"] = ":".join(entry for entry in entries if not entry.endswith("condabin"))
    return kept


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """Return an environment as packages with compilers leave it."""
    return environment(
        tmp_path / "envs" / "first",
        state={"A": QUOTED, "OFF": "***unset***", "lower": "1", "CLASH": "person"},
        packages={"a.json": {"P": "package", "CLASH": "package", "OFF": "x", "N": 1}, "b.json": {"P": "b"}},
        scripts={"b.sh": GCC, "a.sh": "export SEEN_A=$A P_SEEN=$P\n", ".hidden.sh": "export HIDDEN=1\n"},
        leaving={"a.sh": LEAVE, "b.sh": "export ORDER=${ORDER}b\n"},
    )


def test_a_fresh_shell(first: Path) -> None:
    """Variables, PATH, level, names and scripts."""
    variables = shell_variables(A="mine", TO_GO="1", OFF="shell")
    ours = activated_environ(first, variables, process.run)
    assert ours.notices == () or "b.sh ended with status 1" in ours.notices[0].message
    assert comparable(ours.environ) == comparable(with_conda(first, variables))


def test_switching(first: Path, tmp_path: Path) -> None:
    """From one environment to another: PATH, scripts of both, what stays and what goes."""
    second = environment(tmp_path / "second", state={"A": "2"}, scripts={"x.sh": 'export CC_NOW="${CC:-none}"\n'})
    active = with_conda(first, shell_variables(TO_GO="1"))
    ours = activated_environ(second, active, process.run).environ
    assert comparable(ours) == comparable(with_conda(second, shell_variables(TO_GO="1"), first))
    assert ours["CC_NOW"] == "none"


def test_entering_what_is_active(first: Path) -> None:
    """Once more changes nothing, as in conda."""
    active = with_conda(first, shell_variables())
    ours = activated_environ(first, active, process.run).environ
    assert comparable(ours) == comparable(with_conda(first, shell_variables(), first))


def test_an_environment_that_conda_made(conda: Conda, tmp_path: Path) -> None:
    """A plain ``conda create`` and ``conda env config vars set``, none of it ours."""
    assert conda("create", "-n", "plain", "-y", "six", "activate-demo").code == 0
    assert conda("env", "config", "vars", "set", "-n", "plain", "SPACED=a  b", "lower=x").code == 0
    prefix = tmp_path / "envs" / "plain"
    variables = {**conda.environ, "PATH": shell_variables()["PATH"]}
    ours = activated_environ(prefix, variables, process.run)
    assert ours.notices == ()
    assert (ours.environ["SPACED"], ours.environ["ACTIVATE_DEMO"]) == ("a  b", "a b$c")
    assert comparable(ours.environ) == comparable(with_conda(prefix, variables))
