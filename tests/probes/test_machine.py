"""The probe of the machine in a real interpreter: this machine, recorded ones, and faults that are really there."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from conda_llmenv.checks import host
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware import load_tables
from conda_llmenv.host import read_host
from conda_llmenv.model import Finding, HostFacts, Observation, ProbeEnd, ProbeRun, Status
from conda_llmenv.probes.running import ENTRY, run_probe
from tests.host.machine import recorded

ROOT = Path(__file__).parent.parent.parent
OBSERVED = tuple(dict.fromkeys(check.observed for check in host.CHECKS if check.probe))
BY_ID = {check.id: check for check in host.CHECKS if check.probe}

DRIVER = """
import json, os, sys
from pathlib import Path
from conda_llmenv.model import ProbeRun
from conda_llmenv.probes.running import run_probe
prefix, *checks = sys.argv[1:]
end = run_probe(Path(prefix), ProbeRun("machine", tuple(checks), {"root": "/"}, timeout=50), os.environ)
print(json.dumps([[one.check, dict(one.values), one.error] for one in end.observations]))
"""
"""Runs the probe as llmenv does, in whatever circumstances it is started in itself."""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with nothing but Python."""
    folder = tmp_path_factory.mktemp("bare") / "env"
    venv.EnvBuilder(symlinks=True).create(folder)
    return folder


def look(prefix: Path, *checks: str, root: Path = Path("/"), environ: Mapping[str, str] = os.environ) -> ProbeEnd:
    return run_probe(prefix, ProbeRun("machine", checks, {"root": str(root)}, timeout=50), environ)


def judge(check: str, observations: Sequence[Observation], facts: HostFacts, **scene: Any) -> Finding:
    errors = [one.error for one in observations if one.error]
    assert not errors
    seen = {one.check: (one,) for one in observations}
    return BY_ID[check].judge(Scene("/env", facts, load_tables(), seen=seen, **scene))


def judged(check: str, prefix: Path, root: Path = Path("/"), environ: Mapping[str, str] = os.environ) -> Finding:
    """Return what a check comes to on this machine or a recorded one."""
    end = look(prefix, BY_ID[check].observed, root=root, environ=environ)
    return judge(check, end.observations, read_host(root, environ))


def started_by(command: Sequence[str], prefix: Path, *checks: str, **variables: str) -> list[Observation]:
    """Return what the probe saw where our own program was started by ``command``."""
    done = subprocess.run(
        [*command, sys.executable, "-c", DRIVER, str(prefix), *checks],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Observation(check, values, error=error) for check, values, error in json.loads(done.stdout)]


def smi(folder: Path, script: str) -> dict[str, str]:
    """Put a program named nvidia-smi first on PATH and return the variables."""
    folder.mkdir(exist_ok=True)
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_this_machine_is_told_quickly_and_without_faults(prefix: Path) -> None:
    """Whatever this machine is, looking works, leaves nothing behind, and nothing about it is an error."""
    end = look(prefix, *OBSERVED)
    facts = read_host()
    findings = {name: judge(name, end.observations, facts) for name in BY_ID}
    assert [one.check for one in end.observations] == list(OBSERVED)
    assert (end.returncode, end.at_work, end.strays) == (0, (), ())
    assert not [finding for finding in findings.values() if finding.status is Status.ERROR]
    assert findings["disk"].status in {Status.PASS, Status.WARN}
    assert not list(Path("/dev/shm").glob("llmenv-*"))
    if not facts.gpus:
        assert end.seconds < 5
        assert {findings[name].status for name in ("driver-version", "gpu-count", "gpu-health", "xid")} == {Status.SKIP}


def test_nothing_but_the_standard_library_of_old_pythons() -> None:
    """Every module of the probe is syntax of Python 3.8 and imports only siblings and the standard library."""
    for path in ENTRY.parent.glob("machine*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names.append(node.module)
            assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_checks_of_others_are_left_alone(prefix: Path) -> None:
    """A probe tells only of what it knows."""
    assert [one.check for one in look(prefix, "stack", "matmul").observations] == ["stack"]


HEALTH = """\
index, name, ecc.mode.current, ecc.errors.uncorrected.volatile.total, remapped_rows.pending, clocks_event_reasons.active
0, NVIDIA A100-SXM4-80GB, Enabled, 0, No, 0x0000000000000001
1, NVIDIA A100-SXM4-80GB, Enabled, {errors}, No, {reasons}
"""

CSV = "NVIDIA A100-SXM4-80GB, 81920, 8.0, 550.54.15\n" * 2

KMSG = """\
6,900,1000000,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15
4,1200,95000000,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=python, Ch 00000008, intr 00000000. MMU Fault
4,1201,{micros},-;NVRM: Xid (PCI:0000:5e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
 SUBSYSTEM=pci
"""

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max stack size            unlimited            unlimited            bytes
Max open files            1024                 524288               files
Max locked memory         8388608              8388608              bytes
"""


def node(root: Path, **files: str) -> Path:
    """Record a machine with two cards; names of files have ``__`` for ``/``."""
    usual = {
        "sys/module/nvidia/version": "550.54.15\n",
        "dev/nvidia0": "",
        "dev/nvidia1": "",
        "run/llmenv/nvidia-smi.csv": CSV,
        "run/llmenv/nvidia-smi-health.csv": HEALTH.format(errors=0, reasons="0x0000000000000004"),
        "run/llmenv/libcuda.json": json.dumps({"path": "/x/libcuda.so.550.54.15", "version": "550.54.15", "init": 0}),
        "run/llmenv/kmsg": KMSG.splitlines()[0] + "\n",
        "proc/uptime": "100.0 350.0\n",
        "proc/self/limits": LIMITS,
        "proc/meminfo": "MemTotal:       528000000 kB\nSwapTotal:      0 kB\nSwapFree:       0 kB\n",
    }
    return recorded(root, {**usual, **files}, shm_bytes=64 * 2**20)


def test_recorded_node(prefix: Path, tmp_path: Path) -> None:
    """A recorded machine is judged as if it were this one, down to its limits, without anything of this one."""
    root = node(tmp_path)
    end = look(prefix, *OBSERVED, root=root)
    facts = read_host(root)
    found = {name: judge(name, end.observations, facts).status for name in BY_ID}
    assert found == {
        "driver-version": Status.PASS,
        "driver-library": Status.PASS,
        "fabric-manager": Status.SKIP,
        "gpu-count": Status.PASS,
        "gpu-health": Status.PASS,
        "gpu-throttle": Status.PASS,
        "xid": Status.PASS,
        "shm": Status.FAIL,
        "nofile": Status.WARN,
        "memlock": Status.PASS,
        "stack": Status.WARN,
        "swap": Status.PASS,
        "disk": Status.SKIP,
        "network-interface": Status.SKIP,
        "nccl-settings": Status.PASS,
    }


@pytest.mark.parametrize(
    ("check", "files", "status", "words"),
    [
        (
            "gpu-health",
            {"run/llmenv/nvidia-smi-health.csv": HEALTH.format(errors=3, reasons="0x0")},
            Status.FAIL,
            "card 1",
        ),
        (
            "gpu-throttle",
            {"run/llmenv/nvidia-smi-health.csv": HEALTH.format(errors=0, reasons="0x48")},
            Status.FAIL,
            "hot",
        ),
        ("gpu-health", {"run/llmenv/nvidia-smi-health.csv": "No devices were found\n"}, Status.SKIP, "not recorded"),
        ("xid", {"run/llmenv/kmsg": KMSG.format(micros=99000000)}, Status.FAIL, "0000:5e:00 had Xid 79"),
        (
            "xid",
            {"run/llmenv/kmsg": KMSG.format(micros=99000000), "proc/uptime": "90000.0 1.0"},
            Status.WARN,
            "25 h ago",
        ),
        ("xid", {"run/llmenv/kmsg": "[   95.1] NVRM: Xid (0000:03:00): 48, DBE\n"}, Status.FAIL, "Xid 48"),
        ("nofile", {"proc/self/limits": LIMITS.replace("1024 ", "64   ")}, Status.FAIL, "only 64 open files"),
        ("driver-version", {"sys/module/nvidia/version": "470.82.01\n"}, Status.WARN, "runs CUDA 11"),
        (
            "driver-library",
            {"run/llmenv/libcuda.json": '{"path": "/x/libcuda.so.535.1", "version": "535.104.05", "init": 803}'},
            Status.FAIL,
            "803",
        ),
        ("fabric-manager", {"run/llmenv/libcuda.json": '{"init": 802}'}, Status.FAIL, "802"),
        (
            "network-interface",
            {"sys/class/net/docker0/flags": "0x1003\n", "sys/class/net/lo/flags": "0x9\n"},
            Status.WARN,
            "docker0",
        ),
        (
            "nccl-settings",
            {"etc/nccl.conf": "# site\nNCCL_P2P_DISABLE = 1\nSECRET=x\n"},
            Status.WARN,
            "NCCL_P2P_DISABLE",
        ),
        (
            "memlock",
            {
                "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
                "sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
            },
            Status.FAIL,
            "8 MB",
        ),
    ],
)
def test_recorded_faults(
    prefix: Path, tmp_path: Path, *, check: str, files: dict[str, str], status: Status, words: str
) -> None:
    """One file of the recorded machine differs, and the check it belongs to says so."""
    found = judged(check, prefix, node(tmp_path, **files))
    assert found.status is status
    assert words in found.summary


def test_what_was_once_told_can_be_judged_again(prefix: Path, tmp_path: Path) -> None:
    """The observations of a machine, kept as a file, come back as they were."""
    told = {one.check: dict(one.values) for one in look(prefix, *OBSERVED).observations}
    root = recorded(tmp_path, {"run/llmenv/machine.json": json.dumps(told)})
    assert {one.check: dict(one.values) for one in look(prefix, *OBSERVED, root=root).observations} == told


@pytest.mark.parametrize(
    "files",
    [
        {"run/llmenv/machine.json": "[not json"},
        {"run/llmenv/libcuda.json": "[]", "run/llmenv/host.json": "{", "sys/class/net/eth0/flags": "many"},
    ],
)
def test_recordings_that_cannot_be_read(prefix: Path, tmp_path: Path, files: dict[str, str]) -> None:
    """A damaged recording is an error and never a pass; the other checks are told."""
    end = look(prefix, "shm", "driver-library", "network-interface", "stack", root=node(tmp_path, **files))
    assert end.returncode != 0 or [one.check for one in end.observations if one.error]
    assert not [one for one in end.observations if one.check == "stack" and one.error]


def test_few_open_files(prefix: Path) -> None:
    """With 64 open files the probe still runs, and says so."""
    if shutil.which("prlimit") is None:
        pytest.skip("prlimit is not installed")
    found = judge("nofile", started_by(["prlimit", "--nofile=64"], prefix, "nofile"), read_host())
    assert (found.status, found.measured) == (Status.FAIL, "64")


def test_unlimited_stack(prefix: Path) -> None:
    """`ulimit -s unlimited` in a login script reaches every program that is started."""
    if shutil.which("prlimit") is None:
        pytest.skip("prlimit is not installed")
    command = ["prlimit", "--stack=unlimited"]
    if subprocess.run([*command, "true"], check=False, capture_output=True).returncode:
        pytest.skip("the hard limit of the stack is not unlimited")
    found = judge("stack", started_by(command, prefix, "stack"), read_host())
    assert (found.status, found.measured) == (Status.WARN, "unlimited")


def mounted(options: str, target: str, then: str = "") -> list[str]:
    """Return a command that runs another one where a tmpfs of its own is mounted; skips where that is not allowed."""
    flags = ["--mount"] if os.geteuid() == 0 else ["--mount", "--map-root-user"]
    script = f'mount -t tmpfs -o {options} none {target} && {then or ":"} && exec "$@"'
    command = ["unshare", *flags, "sh", "-c", script, "sh"]
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    done = subprocess.run([*command, "true"], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no mount of our own is allowed here: {done.stderr.strip()}")
    return command


def test_small_shared_memory(prefix: Path) -> None:
    """4 MB of /dev/shm are found, with the sum that says why they are too few."""
    found = judge("shm", started_by(mounted("size=4m", "/dev/shm"), prefix, "shm"), read_host())
    assert found.status is Status.FAIL
    assert found.summary == "/dev/shm has 4 MB; 4 workers × 3 batches of 96 MB need 1.2 GB"


def test_full_shared_memory(prefix: Path) -> None:
    """Room that others took is no room: the write test meets the end of it."""
    command = mounted("size=2m", "/dev/shm", "head -c 1572864 /dev/zero > /dev/shm/left")
    found = judge("shm", started_by(command, prefix, "shm"), read_host())
    assert (found.status, "No space left on device" in found.summary) == (Status.FAIL, True)


def test_temporary_folder_that_allows_no_programs(prefix: Path, tmp_path: Path) -> None:
    """Kernels compiled at run time are loaded from there."""
    command = mounted("size=64m,noexec", str(tmp_path))
    found = judge("disk", started_by(command, prefix, "disk", TMPDIR=str(tmp_path)), read_host())
    assert (found.status, "64 MB left" in found.summary or "noexec" in found.summary) == (Status.FAIL, True)
    assert any("noexec" in line for line in found.detail)


def test_interface_that_is_not_here(prefix: Path) -> None:
    """Row 49: the variable of another cluster's login script."""
    environ = {**os.environ, "NCCL_SOCKET_IFNAME": "hsn0", "GLOO_SOCKET_IFNAME": "lo"}
    found = judged("network-interface", prefix, environ=environ)
    assert found.status in {Status.WARN, Status.FAIL}
    assert found.summary == "NCCL_SOCKET_IFNAME=hsn0 names an interface that is not on this machine"


def test_settings_of_the_shell(prefix: Path, tmp_path: Path) -> None:
    """Variables and the file they name are read where the training would read them; secrets stay out."""
    conf = tmp_path / "nccl.conf"
    conf.write_text("NCCL_ALGO=Tree\nNCCL_NET_PASSWORD=hunter2\nOTHER=hunter2\n", encoding="utf-8")
    environ = {**os.environ, "NCCL_CONF_FILE": str(conf), "NCCL_P2P_DISABLE": "1", "NCCL_X_TOKEN": "hunter2"}
    end = look(prefix, "nccl-settings", environ=environ)
    found = judge("nccl-settings", end.observations, read_host())
    assert found.status is Status.WARN
    assert found.measured == "NCCL_P2P_DISABLE=1, NCCL_ALGO=Tree"
    assert "hunter2" not in repr((end, found))


def test_smi_that_hangs(prefix: Path, tmp_path: Path) -> None:
    """A card that fell off the bus makes nvidia-smi hang: it is ended with its children, and other checks are told."""
    environ = smi(tmp_path / "bin", "trap '' TERM; sleep 600 & wait; sleep 600")
    started = time.monotonic()
    end = look(prefix, "gpu-count", "gpu-health", "stack", environ=environ)
    assert time.monotonic() - started < 40
    assert [one.check for one in end.observations] == ["gpu-count", "gpu-health", "stack"]
    assert "gave no answer within" in end.observations[1].values["problem"]
    facts = HostFacts("linux-64", driver="550.54.15")
    found = judge("gpu-health", end.observations, facts)
    assert (found.status, "gave no answer" in found.summary) == (Status.ERROR, True)
    assert end.strays == ()


def test_smi_that_leaves_a_child_behind(prefix: Path, tmp_path: Path) -> None:
    """A child that keeps the output open neither holds the probe up for ever nor outlives it."""
    end = look(prefix, "gpu-health", environ=smi(tmp_path / "bin", "sleep 600 & exit 0"))
    assert end.observations[0].values["problem"] == "nvidia-smi printed nothing"
    assert end.seconds < 10
    assert end.strays == ("sleep 600",)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("head -c 100000 /dev/urandom", "could not be read"),
        ("echo '<html>,,,</html>'; exit 0", "html"),
        ("echo NVIDIA-SMI has failed because it could not talk to the driver; exit 9", "ended with status 9"),
        ("kill -SEGV $$", "ended with status -11"),
        ("exit 0", "printed nothing"),
        ("yes 0, GPU", "prints without end"),
    ],
)
def test_smi_that_prints_no_cards(prefix: Path, tmp_path: Path, script: str, words: str) -> None:
    """Junk, a failure or silence is never a pass."""
    end = look(prefix, "gpu-health", environ=smi(tmp_path / "bin", script))
    found = judge("gpu-health", end.observations, HostFacts("linux-64", driver="550.54.15"))
    assert found.status is Status.ERROR
    assert words in found.summary


OLD_SMI = """
refuse() { printf 'Field "%s" is not a valid field to query.\\n\\n' "$1"; exit 2; }
case "$1" in
  *remapped_rows.pending*) refuse remapped_rows.pending;;
  *clocks_throttle_reasons.active*) refuse clocks_throttle_reasons.active;;
  *fabric.state*) refuse fabric.state;;
esac
fields=$(echo "${1#--query-gpu=}" | tr ',' ' ')
row=""
for field in $fields; do
  case $field in
    clocks_event_reasons.active) value=0x0000000000000040;;
    ecc.errors.uncorrected.volatile.total) value=0;;
    index) value=0;;
    name) value="Tesla T4";;
    *) value="[N/A]";;
  esac
  row="$row, $value"
done
echo "${row#, }"
"""


def test_smi_of_another_age(prefix: Path, tmp_path: Path) -> None:
    """Row 41: fields that this driver does not know, or knows by another name, take nothing else with them."""
    end = look(prefix, "gpu-health", environ=smi(tmp_path / "bin", OLD_SMI))
    values = end.observations[0].values
    facts = HostFacts("linux-64", driver="450.80.02")
    assert (len(values["cards"]), values["problem"]) == (1, "")
    assert judge("gpu-health", end.observations, facts).status is Status.PASS
    assert judge("gpu-throttle", end.observations, facts).summary.startswith("card 0 is too hot")


def test_kernel_log_that_may_not_be_read(prefix: Path, tmp_path: Path) -> None:
    """A log that is no file, or is not there, makes the check skip with the reason."""
    root = node(tmp_path)
    (root / "run/llmenv/kmsg").unlink()
    (root / "run/llmenv/kmsg").mkdir()
    found = judged("xid", prefix, root)
    assert (found.status, "cannot be read" in found.summary) == (Status.SKIP, True)


def test_kernel_log_put_away_by_a_container(prefix: Path) -> None:
    """Where /dev/kmsg is something else and dmesg is refused, no line is not taken for no error."""
    command = mounted("size=1m", "/mnt", "mount --bind /dev/null /dev/kmsg")
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    seen = started_by([*command, *bare], prefix, "xid")
    facts = HostFacts("linux-64", driver="550.54.15")
    if seen[0].values["lines"]:
        pytest.skip("dmesg may be read by everybody here")
    assert judge("xid", seen, facts).status is Status.SKIP
