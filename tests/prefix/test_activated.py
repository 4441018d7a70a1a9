"""What a program sees in an activated environment, without conda; tests/conda compares it with conda itself."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conda_llmenv import process
from conda_llmenv.errors import PrefixError
from conda_llmenv.prefix.activated import activated_environ
from tests.prefix.activation import HOSTILE, activated, environment, shell_variables, write

COSTS = 0.002
"""Seconds that activation may take where no package brings a script."""


def never(argv: Sequence[str], **_options: Any) -> process.Completed:
    """Fail: nothing needs a program here."""
    raise AssertionError(argv)


def test_conda_own_variables(tmp_path: Path) -> None:
    """PATH, prefix, level, name and prompt, as ``conda activate`` leaves them in a fresh shell."""
    prefix = environment(tmp_path / "envs" / "sft")
    seen = activated_environ(prefix, shell_variables(), never).environ
    assert seen == {
        **shell_variables(),
        "PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        "CONDA_PREFIX": str(prefix),
        "CONDA_SHLVL": "1",
        "CONDA_DEFAULT_ENV": "sft",
        "CONDA_PROMPT_MODIFIER": "(sft) ",
    }


@pytest.mark.parametrize(("place", "name"), [("elsewhere/sft", None), ("envs/a b", "a b"), ("miniforge", "base")])
def test_the_name_is_condas(tmp_path: Path, place: str, name: str | None) -> None:
    """A path stands for what lies outside ``envs``; an installation of conda is ``base``."""
    prefix = environment(tmp_path / place)
    if name == "base":
        (prefix / "condabin").mkdir()
    assert activated(prefix).environ["CONDA_DEFAULT_ENV"] == (name or str(prefix))


def test_variables_of_packages_and_of_the_person(tmp_path: Path) -> None:
    """The person's win, ``***unset***`` sets nothing, names come in upper case and PATH is conda's alone (row 35)."""
    prefix = environment(
        tmp_path / "env",
        packages={"a.json": {"A": "package", "B": "1", "OFF": "x"}, "b.json": {"B": "2", "N": 3, "EMPTY": None}},
        state={"A": "person", "OFF": "***unset***", "lower": "low", "PATH": "/nowhere", "H": HOSTILE},
    )
    ended = activated_environ(prefix, shell_variables(OFF="shell"), never)
    seen = ended.environ
    assert {name: seen.get(name) for name in ("A", "B", "N", "EMPTY", "OFF", "LOWER", "lower", "H")} == {
        "A": "person",
        "B": "2",
        "N": "3",
        "EMPTY": "",
        "OFF": "shell",
        "LOWER": "low",
        "lower": None,
        "H": HOSTILE,
    }
    assert "/nowhere" not in seen["PATH"]
    assert [notice.code for notice in ended.notices] == ["reserved-variable"]


def test_what_is_replaced_can_be_given_back(tmp_path: Path) -> None:
    """``conda deactivate`` in a shell that starts from here finds what the variable was."""
    prefix = environment(tmp_path / "env", state={"A": "new"})
    seen = activated(prefix, A="old").environ
    assert seen["A"] == "new"
    assert seen["__CONDA_SHLVL_0_A"] == "old"


def test_scripts_see_the_variables_and_run_in_order(tmp_path: Path) -> None:
    """Variables are set before scripts run, which share one shell and see its functions and what was not exported."""
    prefix = environment(
        tmp_path / "an env",
        state={"B": "state"},
        scripts={
            "b.sh": 'export SEEN="$B:$CONDA_PREFIX:$(command -v tool)"; plain=1; said() { echo "$plain"; }\n',
            "a.sh": "export ORDER=a B_AT_A=$B\nexport A=" + shlex.quote(HOSTILE) + "\n",
            "c.sh": 'export ORDER="$ORDER:c:$(said):$1"; local inner=1; export B="$B c"; return 0\n',
            "readme.txt": "exit 1\n",
        },
    )
    write(prefix / "bin" / "tool", "#!/bin/sh\n")
    (prefix / "bin" / "tool").chmod(0o755)
    ended = activated(prefix)
    assert ended.notices == ()
    assert ended.environ["A"] == HOSTILE
    assert ended.environ["B_AT_A"] == "state"
    assert ended.environ["B"] == "state c"
    assert ended.environ["SEEN"] == f"state:{prefix}:{prefix}/bin/tool"
    assert ended.environ["ORDER"] == "a:c:1:activate"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.text(
        alphabet=st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from("\n\r\t '\"$`\\!=\x1b\udcff"),
        max_size=30,
    )
)
def test_any_value_comes_through(tmp_path: Path, value: str) -> None:
    """From the shell, through a script, and from the person's variables, byte for byte."""
    prefix = tmp_path / "env"
    if not prefix.exists():
        environment(prefix, scripts={"a.sh": ""})
    write(prefix / "etc" / "conda" / "activate.d" / "a.sh", "")
    (prefix / "etc" / "conda" / "activate.d" / "a.sh").write_bytes(
        b"IFS=0; export A=" + os.fsencode(shlex.quote(value))
    )
    (prefix / "conda-meta" / "state").write_text(json.dumps({"env_vars": {"B": value}}))
    ended = activated(prefix, C=value)
    assert [ended.environ[name] for name in "ABC"] == [value] * 3
    assert ended.notices == ()


def test_what_scripts_leave_alone_is_untouched(tmp_path: Path) -> None:
    """Odd names, functions of the shell and bytes that are no text come through; the shell adds nothing of its own."""
    strange = os.fsdecode(b"\xff\xfe raw")
    variables = shell_variables(
        **{"odd.name": "x", "BASH_FUNC_module%%": "() {  echo   odd\n}", "STRANGE": strange, "SHLVL": "7", "PWD": "/"},
        BASH_ENV="/nowhere/rc",
        SHELLOPTS="braceexpand:errexit:hashall",
        GONE="x",
    )
    prefix = environment(tmp_path / "env", scripts={"a.sh": "false\nexport NEW=1\nunset GONE\ncd /usr\n"})
    before = activated_environ(environment(tmp_path / "plain"), variables, never).environ
    after = activated_environ(prefix, variables, process.run).environ
    assert {name for name in {*before, *after} if before.get(name) != after.get(name)} - {
        "PATH",
        "CONDA_PREFIX",
        "CONDA_DEFAULT_ENV",
        "CONDA_PROMPT_MODIFIER",
    } == {"NEW", "GONE"}


NOISY = "echo out; echo err >&2; printf 'A=evil\\0end'; cd /; exec >&2; set -e; set -u; umask 077\nexport A=1\n"


def test_noise_and_options_reach_nobody(tmp_path: Path) -> None:
    """What a script prints is not read as variables; ``set -eu`` is not held against the next script."""
    prefix = environment(
        tmp_path / "env", scripts={"a.sh": NOISY, "b.sh": 'test -n "$NOT_SET" && echo\nexport B=1\nfalse\ntrue\n'}
    )
    ended = activated(prefix)
    assert (ended.environ["A"], ended.environ["B"], ended.notices) == ("1", "1", ())


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("export A=1; echo 'no such card' >&2; return 3", "ended with status 3: no such card"),
        ("export A=1; false", "ended with status 1"),
        ("export A=1; if\n", "ended with status"),
        ("export A=1; exit 4", "ends the shell that sources it"),
        ("export A=1; set -e; nosuchcommand", "ends the shell that sources it: "),
        ("export A=1; kill -TERM $$", "ends the shell that sources it"),
        (
            'export A=1; HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzABCDEF; echo "HF_TOKEN=$HF_TOKEN" >&2; false',
            "HF_TOKEN=***",
        ),
    ],
)
def test_a_script_that_fails_is_named_and_the_rest_goes_on(tmp_path: Path, script: str, told: str) -> None:
    """As in conda, the next script runs; a person learns which one failed and what it said."""
    prefix = environment(tmp_path / "env", scripts={"a.sh": script, "b.sh": "export B=2\n"})
    ended = activated(prefix)
    assert ended.environ["B"] == "2"
    assert "if" in script or ended.environ["A"] == "1"
    (notice,) = ended.notices
    assert notice.message.startswith(f"{prefix}/etc/conda/activate.d/a.sh end")
    assert told in notice.message
    assert "hf_abc" not in notice.message


@pytest.mark.parametrize("script", ["exec true", "trap true EXIT; exit 1", "kill -KILL $$"])
def test_a_script_that_replaces_the_shell_is_an_error(tmp_path: Path, script: str) -> None:
    """What it set cannot be known, so nothing is claimed."""
    prefix = environment(tmp_path / "env", scripts={"a.sh": "export A=1", "b.sh": script, "c.sh": "export C=1"})
    with pytest.raises(PrefixError, match=r"activate\.d/b\.sh replaced the shell"):
        activated(prefix)


def test_a_script_that_hangs_is_named(tmp_path: Path) -> None:
    """After the limit it is ended, with what it started."""
    script = f"echo $$ > {tmp_path}/pid\necho waiting for the licence server >&2\nsleep 300\n"
    prefix = environment(tmp_path / "env", scripts={"a.sh": "export A=1", "b.sh": script})
    with pytest.raises(PrefixError, match=r"activate\.d/b\.sh did not end within 0\.5 s") as caught:
        activated(prefix, limit=0.5)
    assert caught.value.details[0] == "waiting for the licence server"  # bash may add that it was terminated
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_what_a_script_leaves_running_holds_nothing_up(tmp_path: Path) -> None:
    """A daemon that keeps its streams open does not delay anybody."""
    script = f"setsid sleep 60 & echo $! > {tmp_path}/pid\n"
    prefix = environment(tmp_path / "env", scripts={"a.sh": script})
    began = time.monotonic()
    activated(prefix)
    assert time.monotonic() - began < 3
    subprocess.run(["kill", (tmp_path / "pid").read_text().strip()], check=False)


def test_a_broken_link_among_the_scripts(tmp_path: Path) -> None:
    """Named, and the next one runs."""
    prefix = environment(tmp_path / "env", scripts={"b.sh": "export B=1"})
    (prefix / "etc" / "conda" / "activate.d" / "a.sh").symlink_to("nowhere")
    ended = activated(prefix)
    assert ended.environ["B"] == "1"
    assert "a.sh" in ended.notices[0].message


def test_switching_leaves_the_other_environment(tmp_path: Path) -> None:
    """Its ``bin`` goes from PATH and its scripts take back what they set; its variables stay, as in conda."""
    old = environment(tmp_path / "old", state={"KEPT": "1"}, leaving={"a.sh": "unset CC; export BY=$CONDA_PREFIX\n"})
    new = environment(tmp_path / "new", scripts={"a.sh": 'export CC_SEEN="${CC:-none}"\n'})
    ended = activated(
        new,
        PATH=f"/home/me/bin:{old}/bin:/usr/bin:/bin",
        CONDA_PREFIX=str(old),
        CONDA_SHLVL="1",
        CONDA_DEFAULT_ENV="old",
        CC="old-gcc",
        KEPT="1",
    )
    seen = ended.environ
    assert seen["PATH"] == f"{new}/bin:/home/me/bin:/usr/bin:/bin"
    assert (seen["CONDA_SHLVL"], seen["CONDA_PREFIX"], seen["CONDA_PREFIX_1"]) == ("2", str(new), str(old))
    assert (seen["CC_SEEN"], seen.get("CC"), seen["BY"], seen["KEPT"]) == ("none", None, str(old), "1")


def test_an_environment_that_is_active_already(tmp_path: Path) -> None:
    """It is entered anew: no second entry on PATH, no deeper level, and variables as they are now."""
    prefix = environment(
        tmp_path / "env", state={"A": "now"}, scripts={"a.sh": "export N=${N}x\n"}, leaving={"a.sh": "unset N\n"}
    )
    once = activated(prefix).environ
    again = activated_environ(prefix, {**once, "A": "then"}, process.run).environ
    assert again == once
    assert once["N"] == "x"


@pytest.mark.parametrize("level", ["", "0", "x", "-1"])
def test_levels_that_make_no_sense(tmp_path: Path, level: str) -> None:
    """Without a level nothing is active, whatever CONDA_PREFIX says."""
    seen = activated(environment(tmp_path / "env"), CONDA_PREFIX="/nowhere", CONDA_SHLVL=level).environ
    assert seen["CONDA_SHLVL"] == "1"
    assert "CONDA_PREFIX_0" not in seen


def test_a_virtual_environment(tmp_path: Path) -> None:
    """Without conda-meta it is entered as ``bin/activate`` would, and the one before it is left."""
    write(tmp_path / "venv" / "pyvenv.cfg", "home = /usr/bin\n")
    seen = activated(
        tmp_path / "venv", PATH="/old/bin:/usr/bin", VIRTUAL_ENV="/old", PYTHONHOME="/old", CONDA_PREFIX="/base"
    ).environ
    assert seen["PATH"] == f"{tmp_path}/venv/bin:/usr/bin"
    assert seen["VIRTUAL_ENV"] == f"{tmp_path}/venv"
    assert "PYTHONHOME" not in seen
    assert seen["CONDA_PREFIX"] == "/base"


@pytest.mark.parametrize("place", ["conda-meta/state", "etc/conda/env_vars.d/x.json"])
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"A": [1]}', b'{"A=B": "1"}', b'{"A": "\\u0000"}', b'{"": "1"}'],
)
def test_a_broken_file_is_named(tmp_path: Path, place: str, content: bytes) -> None:
    """Conda's own activation fails there as well; ours says where."""
    prefix = environment(tmp_path / "env")
    if place.endswith("state") and content.startswith(b'{"'):
        content = b'{"env_vars": ' + content + b"}"
    write(prefix / place, "")
    (prefix / place).write_bytes(content)
    with pytest.raises(PrefixError, match=Path(place).name):
        activated(prefix)


def test_a_posix_shell_does(tmp_path: Path) -> None:
    """The same outcome where there is no bash, an ``exit`` and a syntax error included."""
    if shutil.which("dash") is None:
        pytest.skip("dash is not installed")

    def in_dash(argv: Sequence[str], **options: Any) -> process.Completed:
        return process.run(["dash", *argv[-2:]], **options)

    scripts = {"a.sh": "export A=1; exit 1", "b.sh": "export B=1; if\n", "c.sh": "export C=" + shlex.quote(HOSTILE)}
    prefix = environment(tmp_path / "env", scripts=scripts)
    ended = activated_environ(prefix, shell_variables(), in_dash)
    assert (ended.environ["A"], ended.environ["C"], len(ended.notices)) == ("1", HOSTILE, 2)


def test_a_shell_that_cannot_be_started(tmp_path: Path) -> None:
    """A sentence with the first script and the system's reason, such as too many variables."""
    prefix = environment(tmp_path / "env", scripts={"a.sh": "export A=1\n"})
    with pytest.raises(PrefixError, match=r"a\.sh cannot be sourced: .*Argument list too long"):
        activated(prefix, HUGE="x" * 200_000)


def test_without_scripts_it_costs_next_to_nothing(tmp_path: Path) -> None:
    """No shell is started, and the files are small."""
    prefix = environment(tmp_path / "env", state={"A": "1"}, packages={"a.json": {"B": "1"}})
    environ, best = shell_variables(), 1.0
    for _ in range(20):
        began = time.perf_counter()
        activated_environ(prefix, environ, never)
        best = min(best, time.perf_counter() - began)
    assert best < COSTS
