"""``llmenv verify`` on an environment without torch: what a person sees, and that nothing is left running."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.program import Program

FORGER = """\
import atexit, json, os

def forge(*descriptors):
    values = {"module": "six", "ok": True, "reason": ""}
    for nonce in ({}, {"nonce": ""}, {"nonce": "0" * 32}):
        record = {"check": "imports", "values": values, "seconds": 0.1, "rank": 0, **nonce}
        for descriptor in descriptors:
            try:
                os.write(descriptor, ("\\x1e" + json.dumps(record) + "\\n").encode())
            except OSError:
                pass

WHEN
"""
"""A module that every Python loads at its start, and that says in the probe's place that all is well."""

LAYER = "dependencies: [python, six]\nllmenv:\n  verify: {imports: [%s], import_timeout: 4}\n"

MODULES = {
    "hangs": "import time\ntime.sleep(600)\n",
    "crashes": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "prints_junk": (
        'import os\nprint(\'{"check": "imports"}\')\nos.write(1, b\'\\x1e{"check": 1}\\n\\x1enot json\\n\\xff\\n\')\n'
    ),
    "leaves": "import sys\nsys.exit(3)\n",
    "raises": "raise ImportError('undefined symbol: iJIT_NotifyEvent')\n",
    "forks": (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
    ),
}


def write_modules(prefix: Path, *names: str) -> None:
    """Put modules into an environment, as a package would have brought them."""
    site = next((prefix / "lib").glob("python3.*/site-packages"))
    for name in names:
        (site / f"{name}.py").write_text(MODULES[name])


def made(llmenv: Program, prefix: Path, *imports: str) -> Path:
    """Make an environment that promises these modules, without checking it yet."""
    llmenv.write("layer.yml", LAYER % ", ".join(imports))
    assert llmenv("create", "-f", "layer.yml", "-p", prefix, "--no-verify").code == 0
    return prefix


def started_inside(prefix: Path) -> list[str]:
    """Return the command lines of processes that run the environment's Python."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(prefix) in line and int(folder.name) != os.getpid() and "-m conda_llmenv" not in line:
            found.append(line)
    return found


def checks(document: str) -> dict[str, dict[str, Any]]:
    """Return the checks of a ``--json`` report by id."""
    return {check["id"]: check for check in json.loads(document)["result"]["checks"]}


def test_what_works_is_verified(llmenv: Program, prefix: Path) -> None:
    """A whole pass marks the environment; the verdict is one sentence at the end, with exit code 0."""
    made(llmenv, prefix, "six")
    assert llmenv("info", "-p", prefix, "--json").result()["phase"] == "created"
    ended = llmenv("verify", "-p", prefix)
    assert ended.code == 0, ended.text
    assert ended.stdout.splitlines()[-2] == "verified"
    assert llmenv("info", "-p", prefix, "--json").result()["phase"] == "verified"


def test_every_way_an_import_can_go_wrong(llmenv: Program, prefix: Path) -> None:
    """Each module is tried on its own, in time, and each failure is told in its own words; nothing is left running.

    Row 45 (pytorch#123097): the real error is shown, and the other imports are still tried.
    """
    made(llmenv, prefix, "hangs", "crashes", "prints_junk", "leaves", "raises", "forks", "six", "nowhere")
    write_modules(prefix, *MODULES)
    ended = llmenv("verify", "-p", prefix, "--only", "imports", "--json")
    assert ended.code == 1
    found = checks(ended.stdout)["imports"]
    assert found["status"] == "fail"
    assert found["measured"] == "4 of 9 modules", "pip of the base is one"
    told = dict(str(line).split(": ", 1) for line in found["detail"])
    assert "no answer in 4 s" in told["hangs"]
    assert "killed by SIGSEGV" in told["crashes"]
    assert "exit code 3" in told["leaves"]
    assert "undefined symbol: iJIT_NotifyEvent" in told["raises"]
    assert "mkl<2024.1" in told["raises"]
    assert "ModuleNotFoundError" in told["nowhere"]
    assert set(told) == {"hangs", "crashes", "leaves", "raises", "nowhere"}
    assert started_inside(prefix) == []


@pytest.mark.parametrize(
    "when",
    [
        "forge(1)",
        "forge(2)",
        "atexit.register(forge, *range(1, 64))",
        "forge(1)\nos._exit(0)",
    ],
    ids=["stdout", "stderr", "at exit", "and nothing else"],
)
def test_an_environment_cannot_speak_for_the_probe(llmenv: Program, prefix: Path, when: str) -> None:
    """Records that a package prints, on whatever descriptor and at whatever time, are output: what fails fails."""
    made(llmenv, prefix, "six")
    site = next((prefix / "lib").glob("python3.*/site-packages"))
    (site / "six.py").write_text("raise RuntimeError('rotten')\n")
    (site / "sitecustomize.py").write_text(FORGER.replace("WHEN", when))
    ended = llmenv("verify", "-p", prefix, "--only", "imports", "--json")
    assert ended.code in {1, 3}, ended.text
    assert checks(ended.stdout)["imports"]["status"] != "pass"


def test_a_flood_of_output_is_no_fault(llmenv: Program, prefix: Path) -> None:
    """A module that prints a hundred megabytes, in one line and in many, is imported like any other."""
    made(llmenv, prefix, "floods")
    site = next((prefix / "lib").glob("python3.*/site-packages"))
    (site / "floods.py").write_text(
        "import sys\n"
        "for _ in range(50):\n"
        "    sys.stderr.write('x' * 1000000)\n"
        "    sys.stderr.write('TOKEN=y\\n' * 120000)\n"
    )
    found = checks(llmenv("verify", "-p", prefix, "--only", "imports", "--json").stdout)["imports"]
    assert found["status"] == "pass", found


def test_json_is_text_whatever_the_name(llmenv: Program, tmp_path: Path) -> None:
    """A folder whose name is not UTF-8 is told in a document that any reader of JSON takes."""
    prefix = os.fsdecode(os.fsencode(tmp_path) + b"/n\xffm\xc3\xa9")
    environ = {**llmenv.environ, "LANG": "C.UTF-8"}
    for command in (["verify"], ["info"], ["verify", "--no-such-option"]):
        argv = [*llmenv.argv, *command, "-p", prefix, "--json"]
        done = subprocess.run(argv, cwd=llmenv.cwd, env=environ, capture_output=True, check=False)
        assert done.returncode
        document = json.loads(done.stdout.decode("utf-8", "strict"))
        if len(command) == 1:
            assert prefix in document["error"]["message"]


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_json_is_utf8_or_ascii_whatever_the_stream_is(llmenv: Program, tmp_path: Path, encoding: str) -> None:
    """A terminal of another encoding gets a document in ASCII, with the letters escaped."""
    argv = [*llmenv.argv, "info", "-p", str(tmp_path / "naïve"), "--json"]
    environ = {**llmenv.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(argv, cwd=llmenv.cwd, env=environ, capture_output=True, check=False)
    assert "naïve" in json.loads(done.stdout.decode("utf-8", "strict"))["error"]["message"]


def test_packages_that_were_asked_for_are_imported(llmenv: Program, prefix: Path) -> None:
    """Nobody has to promise them: one that cannot be imported is warned of, with its error."""
    llmenv.write("plain.yml", "dependencies: [python, six]\n")
    assert llmenv("create", "-f", "plain.yml", "-p", prefix, "--no-verify").code == 0
    ended = llmenv("verify", "-p", prefix, "--json")
    assert checks(ended.stdout)["imports"]["measured"] == "2 of 2 modules", "six, and pip of the base"
    site = next((prefix / "lib").glob("python3.*/site-packages"))
    (site / "six.py").write_text("raise RuntimeError('rotten')\n")
    found = checks(llmenv("verify", "-p", prefix, "--json").stdout)["imports"]
    assert (found["status"], found["summary"]) == ("warn", "six cannot be imported: RuntimeError: rotten")


def test_a_failure_takes_the_mark_away(llmenv: Program, prefix: Path) -> None:
    """What was verified and does not work any more is `created` again, with the reason."""
    made(llmenv, prefix, "six")
    assert llmenv("verify", "-p", prefix).code == 0
    site = next((prefix / "lib").glob("python3.*/site-packages"))
    (site / "six.py").write_text("raise RuntimeError('rotten')\n")
    ended = llmenv("verify", "-p", prefix)
    assert ended.code == 1
    assert "six cannot be imported: RuntimeError: rotten" in ended.stdout
    info = llmenv("info", "-p", prefix, "--json").result()
    assert info["phase"] == "created"
    assert "rotten" in info["reason"]


def test_the_preflight_stands_on_a_pass(llmenv: Program, prefix: Path) -> None:
    """``--quick`` fails where nothing proves the environment, passes after a full run, and fails after any change."""
    made(llmenv, prefix, "six")
    before = llmenv("verify", "-p", prefix, "--quick")
    assert before.code == 1
    assert "no full run on this machine is on record" in before.stdout
    assert llmenv("verify", "-p", prefix).code == 0
    after = llmenv("verify", "-p", prefix, "--quick", "--json")
    assert after.code == 0, after.text
    assert checks(after.stdout)["imports"]["reused"] is True
    site = next((prefix / "lib").glob("python3.*/site-packages"))
    (site / "new.py").write_text("")
    changed = llmenv("verify", "-p", prefix, "--quick")
    assert changed.code == 1
    assert f"llmenv verify -p {prefix} --full" in changed.stdout


def test_the_preflight_does_not_stand_on_a_pass_elsewhere(llmenv: Program, prefix: Path) -> None:
    """What was proved on one machine is not proved on another."""
    made(llmenv, prefix, "six")
    assert llmenv("verify", "-p", prefix).code == 0
    shm = llmenv.write("host/run/llmenv/host.json", json.dumps({"shm_bytes": 2**30})).parent.parent.parent
    other = llmenv("verify", "-p", prefix, "--quick", LLMENV_HOST_ROOT=str(shm))
    assert other.code == 1, "another machine, as far as its C library and processor tell"


def test_a_python_that_is_gone(llmenv: Program, prefix: Path) -> None:
    """What cannot be run is told apart from what failed: exit code 3."""
    made(llmenv, prefix, "six")
    (prefix / "bin" / "python").unlink()
    ended = llmenv("verify", "-p", prefix)
    assert ended.code == 3
    assert "could not be" in ended.stdout
    assert llmenv("info", "-p", prefix, "--json").result()["phase"] == "created"


def test_an_environment_that_has_no_python(llmenv: Program, prefix: Path) -> None:
    """Nothing can be looked at in one that has libraries alone: that is told, nothing fails, and nothing is proved."""
    llmenv.write("bare.yml", "dependencies: [ca-certificates]\nllmenv: {remove: [python, pip]}\n")
    assert llmenv("create", "-p", prefix, "-f", "bare.yml").code == 0
    ended = llmenv("verify", "-p", prefix)
    assert ended.code == 0, ended.text
    assert "passed, but not verified: there is no Python in this environment" in ended.stdout
    assert llmenv("info", "-p", prefix, "--json").result()["phase"] == "created"


def test_a_python_of_another_environment(llmenv: Program, prefix: Path, tmp_path: Path) -> None:
    """A link to somebody else's Python imports somebody else's packages."""
    made(llmenv, prefix, "six")
    other = tmp_path / "other"
    assert llmenv("create", "-p", other, "python", "--no-verify").code == 0
    (prefix / "bin" / "python").unlink()
    (prefix / "bin" / "python").symlink_to(other / "bin" / "python")
    ended = llmenv("verify", "-p", prefix, "--only", "python")
    assert ended.code == 1
    assert str(other) in ended.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--only", "nonsense"], "no check 'nonsense'"),
        (["--only", "imports", "--full"], "give no level"),
        (["--integrity", "--strict"], "give no options"),
        (["--nproc", "0"], "--nproc"),
    ],
)
def test_usage(llmenv: Program, prefix: Path, options: list[str], says: str) -> None:
    """A mistake is exit code 2, before anything runs."""
    made(llmenv, prefix, "six")
    ended = llmenv("verify", "-p", prefix, *options)
    assert ended.code == 2
    assert says in ended.stderr


def test_the_checks_are_listed(llmenv: Program) -> None:
    """``--list`` names every check with its level and needs no environment."""
    rows = {row["id"]: row for row in llmenv("verify", "--list", "--json").result()}
    assert rows["imports"]["level"] == "full"
    assert {"python", "shm", "torch-import", "matmul", "collectives", "ddp-step", "checkpoint"} <= set(rows)


def test_an_environment_of_somebody_else(llmenv: Program, prefix: Path) -> None:
    """What conda or mamba made is looked at all the same, and nothing of it is marked."""
    made(llmenv, prefix, "six")
    shutil.rmtree(prefix / "conda-meta" / "llmenv")
    ended = llmenv("verify", "-p", prefix)
    assert ended.code == 0, ended.text
    assert not (prefix / "conda-meta" / "llmenv" / "state.json").exists()


@pytest.mark.script
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interruption_leaves_nothing_running(llmenv: Program, prefix: Path, number: signal.Signals) -> None:
    """Ctrl-C, a batch system's SIGTERM and kill -9 end what looks inside the environment too."""
    made(llmenv, prefix, "hangs")
    write_modules(prefix, "hangs")
    process = llmenv.start("verify", "-p", prefix, "--only", "imports")
    deadline = time.monotonic() + 60
    while not started_inside(prefix) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)  # the module is being imported by now
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode in {-number, 128 + number}
    deadline = time.monotonic() + 10
    while started_inside(prefix) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert started_inside(prefix) == []


def test_nothing_is_written_next_to_the_modules(llmenv: Program, prefix: Path) -> None:
    """Looking changes nothing that is installed: the fingerprint before and after is the same."""
    made(llmenv, prefix, "six")
    first, second = (llmenv("verify", "-p", prefix, "--json").result()["fingerprint"] for _ in range(2))
    assert first == second
    assert subprocess.run([prefix / "bin" / "python", "-c", "import six"], check=False).returncode == 0
    assert llmenv("verify", "-p", prefix, "--quick").code == 0, "compiled files do not count"


def test_a_script_that_fails_on_activation_is_named(llmenv: Program, prefix: Path) -> None:
    """Conda goes on after a script that fails, so that is a warning; what never ends it is a failure."""
    made(llmenv, prefix, "six")
    scripts = prefix / "etc" / "conda" / "activate.d"
    scripts.mkdir(parents=True)
    (scripts / "a-fails.sh").write_text("export SEEN=1\nfalse\n")
    found = checks(llmenv("verify", "-p", prefix, "--json").stdout)["activation"]
    assert found["status"] == "warn"
    assert "a-fails.sh" in str(found["summary"])
    (scripts / "b-replaces.sh").write_text("exec sleep 0\n")
    ended = llmenv("verify", "-p", prefix, "--json")
    assert ended.code == 1
    assert "b-replaces.sh" in str(checks(ended.stdout)["activation"]["summary"])
    assert checks(ended.stdout)["imports"]["status"] == "pass", "what can be looked at is looked at all the same"


def test_a_page_that_cannot_be_written_takes_no_verdict_away(llmenv: Program, prefix: Path) -> None:
    """A wrong place is refused before anything runs; one that fails afterwards is told beside the verdict."""
    made(llmenv, prefix, "six")
    for place, says in (("nowhere/r.html", "no folder"), (".", "is a directory"), ("/dev/stdout", "no file")):
        ended = llmenv("verify", "-p", prefix, "--report", place)
        assert ended.code == 2
        assert says in ended.stderr
        assert ended.stdout == ""
    folder = llmenv.cwd / "closed"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(0o500)
        ended = llmenv("verify", "-p", prefix, "--report", folder / "r.html", "--json")
        assert ended.code == 1
        assert checks(ended.stdout)["imports"]["status"] == "pass"
        assert "could not be written" in ended.stderr
    assert llmenv("verify", "-p", prefix, "--report", "r.html").code == 0
    assert (llmenv.cwd / "r.html").read_text().startswith("<!doctype html>")
