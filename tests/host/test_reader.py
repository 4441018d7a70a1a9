"""Whole machines, recorded and real."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from conda_llmenv.hardware import Tables, load_tables
from conda_llmenv.host import host_root, read_host
from conda_llmenv.model import Gpu
from conda_llmenv.process import Completed
from tests.host.machine import recorded

CSV = "run/llmenv/nvidia-smi.csv"
OPEN_MODULE = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.144.03  Release Build  (builder@host)  Mon Dec 30\n"
    "GCC version:  gcc version 12.3.0\n"
)
OLD_MODULE = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021\nGCC version:\n"


def refuse(argv: Sequence[str], **_options: object) -> Completed:
    """Stand in for the program runner where none may be started."""
    raise AssertionError(f"started {argv}")


def test_a_whole_recorded_machine(tmp_path: Path) -> None:
    """Everything a plan needs comes from files below the root."""
    root = recorded(
        tmp_path,
        {
            "sys/module/nvidia/version": "550.54.15\n",
            CSV: "NVIDIA A100-SXM4-80GB, 81920, 8.0, 550.54.15\n" * 2,
            "proc/meminfo": "MemTotal:  1048576 kB\n",
            "proc/sys/kernel/osrelease": "5.15.0-91-generic\n",
            "proc/self/limits": "Max open files            65536                1048576              files\n",
            "proc/cpuinfo": "processor\t: 0\nflags\t: pni ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm\nprocessor\t: 1\n",
        },
        glibc="2.31",
        shm_bytes=67108864,
        subdir="linux-64",
    )
    facts = read_host(root, {}, refuse)
    assert facts.gpus == (Gpu("NVIDIA A100-SXM4-80GB", 81920, (8, 0)),) * 2
    assert (facts.driver, facts.cuda_max, facts.gpu_source) == ("550.54.15", "12.4", "nvidia-smi")
    assert (facts.glibc, facts.kernel, facts.cpu_level, facts.cpus) == ("2.31", "5.15.0", "x86_64_v2", 2)
    assert (facts.memory_mib, facts.shm_bytes, facts.nofile) == (1024, 67108864, 65536)
    assert facts.problems == ()


@pytest.mark.parametrize(
    ("text", "driver", "cuda"), [(OPEN_MODULE, "550.144.03", "12.4"), (OLD_MODULE, "470.82.01", "11.4")]
)
def test_driver_from_procfs(tmp_path: Path, text: str, driver: str, cuda: str) -> None:
    """Open and closed kernel modules are written differently; the newest CUDA comes from the table."""
    facts = read_host(recorded(tmp_path, {"proc/driver/nvidia/version": text}), {}, refuse)
    assert (facts.driver, facts.cuda_max) == (driver, cuda)


def test_recorded_cuda_wins_over_the_table(tmp_path: Path) -> None:
    """cuda-compat makes a driver run a newer CUDA than it shipped with; the driver API's own number is read too."""
    files = {"sys/module/nvidia/version": "535.104.05", "run/llmenv/cuda-version": "12040\n"}
    assert read_host(recorded(tmp_path, files), {}, refuse).cuda_max == "12.4"


def test_the_persons_own_tables_are_asked(tmp_path: Path) -> None:
    """A card that only the person's tables know is no problem to anybody."""
    own = {"gpus": {"compute_capability": {"entries": {"Something New": "11.0"}}}}
    files = {"sys/module/nvidia/version": "550.54.15", CSV: "Something New, 1024, [N/A], 550.54.15\n"}
    facts = read_host(recorded(tmp_path, files), {}, refuse, lambda: load_tables(own))
    assert [gpu.compute_capability for gpu in facts.gpus] == [(11, 0)]
    assert facts.problems == ()


def test_no_tables_without_a_driver(tmp_path: Path) -> None:
    """On a machine without a card nothing has to be looked up, so broken tables of one's own stop nobody there."""

    def broken() -> Tables:
        raise AssertionError("the tables were read")

    assert read_host(recorded(tmp_path, {}), {}, refuse, broken).gpus == ()


def test_capability_of_a_card_by_its_name(tmp_path: Path) -> None:
    """A driver that does not know ``compute_cap`` leaves it to the table of names."""
    files = {CSV: "Tesla V100-SXM2-32GB, 32768, 470.82.01\nSomething New, 1024, 470.82.01\n"}
    facts = read_host(recorded(tmp_path, files), {}, refuse)
    assert [gpu.compute_capability for gpu in facts.gpus] == [(7, 0), None]
    assert any("Something New" in problem for problem in facts.problems)


def test_driver_without_a_visible_card(tmp_path: Path) -> None:
    """A container that hides the cards keeps the driver, and says why there is no card."""
    files = {"sys/module/nvidia/version": "550.54.15", CSV: "No devices were found\n"}
    facts = read_host(recorded(tmp_path, files), {}, refuse)
    assert (facts.driver, facts.gpus, facts.gpu_source) == ("550.54.15", (), "none")
    assert "no card is visible" in facts.problems[0]


def test_recorded_xml(tmp_path: Path) -> None:
    """The XML report stands in for the CSV."""
    text = (
        "<nvidia_smi_log><driver_version>535.104.05</driver_version><cuda_version>12.2</cuda_version>"
        "<gpu><product_name>Tesla T4</product_name><fb_memory_usage><total>15360 MiB</total></fb_memory_usage></gpu>"
        "</nvidia_smi_log>"
    )
    facts = read_host(recorded(tmp_path, {"run/llmenv/nvidia-smi.xml": text}), {}, refuse)
    assert (facts.gpus, facts.cuda_max) == ((Gpu("Tesla T4", 15360, (7, 5)),), "12.2")


def test_an_empty_root_is_a_machine_without_anything(tmp_path: Path) -> None:
    """Nothing recorded is nothing known; the platform is the one we run on."""
    facts = read_host(tmp_path, {}, refuse)
    assert (facts.driver, facts.gpus, facts.glibc, facts.memory_mib) == (None, (), None, None)
    assert facts.problems == ()


@pytest.mark.parametrize("content", ["{", "[]", "\x00\xff", ""])
def test_a_broken_recording_is_no_crash(tmp_path: Path, content: str) -> None:
    """Hand-made recordings may be wrong in any way."""
    root = recorded(tmp_path, {"run/llmenv/host.json": content, "sys/module/nvidia/version": content, CSV: content})
    facts = read_host(root, {}, refuse)
    assert facts.driver is None
    assert any("host.json" in problem for problem in facts.problems)


def test_wrong_types_in_a_recording_are_reported(tmp_path: Path) -> None:
    """A number for a version would come out as another version."""
    facts = read_host(recorded(tmp_path, {}, glibc=2.31, cpus=4), {}, refuse)
    assert (facts.glibc, facts.cpus) == (None, 4)
    assert any("glibc of the wrong type" in problem for problem in facts.problems)


def fake_smi(folder: Path) -> dict[str, str]:
    """Put an ``nvidia-smi`` on a PATH of its own."""
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    return {"PATH": str(folder)}


def test_an_old_driver_is_asked_again_without_compute_cap(tmp_path: Path) -> None:
    """Drivers before 510 refuse the whole question because of one field."""
    asked: list[str] = []

    def run(argv: Sequence[str], **_options: object) -> Completed:
        asked.append(argv[1])
        if "compute_cap" in argv[1]:
            return Completed(tuple(argv), 2, 'Field "compute_cap" is not a valid field to query.\n', "")
        return Completed(tuple(argv), 0, "Tesla V100-SXM2-16GB, 16160, 470.82.01\n", "")

    from conda_llmenv.host.driver import ask_smi

    reading = ask_smi("nvidia-smi", {}, run)
    assert [gpu.name for gpu in reading.gpus] == ["Tesla V100-SXM2-16GB"]
    assert reading.problems == ()
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("done", "word"),
    [
        (Completed((), -9, "", "", timed_out=True), "no answer within"),
        (Completed((), 255, "", ""), "status 255"),
        (Completed((), 18, "", "Failed to initialize NVML: Driver/library version mismatch"), "reboot"),
    ],
)
def test_a_program_that_fails_is_a_sentence(done: Completed, word: str) -> None:
    """Hanging, failing and mismatched tools are told apart."""
    from conda_llmenv.host.driver import ask_smi

    reading = ask_smi("nvidia-smi", {}, lambda argv, **_options: done)
    assert reading.gpus == ()
    assert word in reading.problems[0]


def test_a_machine_with_the_tool_but_no_driver(tmp_path: Path) -> None:
    """nvidia-smi installed on a login node: its complaint is kept, no card is invented, and nothing raises."""
    if Path("/proc/driver/nvidia/version").exists():
        pytest.skip("this machine has a driver")

    def run(argv: Sequence[str], **_options: object) -> Completed:
        return Completed(
            tuple(argv), 9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", ""
        )

    facts = read_host(Path("/"), fake_smi(tmp_path), run)
    assert facts.gpus == ()
    assert any("cannot reach the NVIDIA driver" in problem for problem in facts.problems)


def test_no_sign_of_a_driver_starts_no_program(tmp_path: Path) -> None:
    """On a machine without a driver nothing is loaded and nothing started."""
    if any(Path(sign).exists() for sign in ("/sys/module/nvidia", "/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")):
        pytest.skip("this machine has a driver")
    facts = read_host(Path("/"), {"PATH": str(tmp_path)}, refuse)
    assert facts.driver is None
    assert facts.problems == ()


def test_reading_without_a_driver_is_fast(tmp_path: Path) -> None:
    """Every command reads the host: 30 ms is the limit without a driver, and NVML's module is not even imported."""
    code = (
        "import sys, time; from pathlib import Path; from conda_llmenv.host import read_host\n"
        f"started = time.perf_counter(); read_host(Path('/'), {{'PATH': {str(tmp_path)!r}}})\n"
        "print((time.perf_counter() - started) * 1000, 'pynvml' in sys.modules)"
    )
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has a driver")
    times = []
    for _ in range(3):
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        assert out[1] == "False"
        times.append(float(out[0]))
    assert min(times) < 30


def test_root_from_the_environment() -> None:
    """``LLMENV_HOST_ROOT`` points a whole run at a recorded machine; empty means this one."""
    assert host_root({"LLMENV_HOST_ROOT": "/recorded"}) == Path("/recorded")
    environ: Mapping[str, str] = {"LLMENV_HOST_ROOT": ""}
    assert host_root(environ) == Path("/")
