"""What whole logs show: several ranks, several faults, what explains what, and texts that try to do harm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conda_llmenv.diagnosis.faults import Explained
from conda_llmenv.diagnosis.labels import rank_of
from conda_llmenv.diagnosis.matching import Diagnosis, read_log
from conda_llmenv.diagnosis.prefilter import Prefilter
from conda_llmenv.diagnosis.rules import packaged_rules

HARMLESS = Path(__file__).parent / "harmless.txt"
"""Lines that every second log has."""

PREFILTER = Prefilter(packaged_rules())

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
WATCHDOG = "[Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=1)"
SUMMARY = """\
train.py FAILED
Failures:
[1]:
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 100)
Root Cause (first observed failure):
[0]:
  time      : 2026-11-30_12:00:00
  host      : node1
  rank      : 3 (local_rank: 3)
  exitcode  : 1 (pid: 103)
"""


def diagnosed(*lines: str) -> Diagnosis:
    """Return what a log of these lines shows."""
    return read_log(["".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")], PREFILTER)


def ids(diagnosis: Diagnosis) -> list[str]:
    """Return the rules in the order they are told."""
    return [one.fault.rule.id for one in diagnosis.faults]


def fault(diagnosis: Diagnosis, rule: str) -> Explained:
    """Return the fault of a rule."""
    return next(one for one in diagnosis.faults if one.fault.rule.id == rule)


def test_the_others_timeouts_follow_from_one_ranks_failure() -> None:
    """Seven ranks report a timeout because one ran out of memory: that one is told first, with its rank."""
    lines = [f"[rank{rank}]:{WATCHDOG.format(rank)}" for rank in range(8) if rank != 3]
    diagnosis = diagnosed(f"[rank3]: {OOM}", *lines, SUMMARY)
    assert ids(diagnosis) == ["out-of-memory", "collective-timeout", "child-failed"]
    assert diagnosis.faults[0].fault.ranks == {3}
    timeout = fault(diagnosis, "collective-timeout")
    assert timeout.fault.ranks == {0, 1, 2, 4, 5, 6, 7}
    assert timeout.fault.count == 7
    assert timeout.because is diagnosis.faults[0].fault
    assert fault(diagnosis, "child-failed").because is diagnosis.faults[0].fault


def test_a_cause_may_stand_below_its_consequence() -> None:
    """Output of several ranks is not in the order of events."""
    diagnosis = diagnosed(f"[rank0]:{WATCHDOG.format(0)}", f"[rank3]: {OOM}")
    assert ids(diagnosis) == ["out-of-memory", "collective-timeout"]


def test_a_consequence_without_a_cause_is_the_root() -> None:
    """Where the log has nothing else, the timeout itself is what is told in full."""
    diagnosis = diagnosed(WATCHDOG.format(0))
    assert ids(diagnosis) == ["collective-timeout"]
    assert diagnosis.faults[0].because is None


def test_nccl_names_the_system_call_before_it_fails() -> None:
    """The first NCCL WARN line is the cause of the exception that says "unhandled system error"."""
    diagnosis = diagnosed(
        "n1:9:9 [0] NCCL WARN Error: failed to extend /dev/shm/nccl-x to 33030 bytes, error: No space left on device",
        "DistBackendError: NCCL error in: NCCLUtils.hpp:275, unhandled system error (run with NCCL_DEBUG=INFO)",
        SUMMARY,
    )
    assert ids(diagnosis) == ["shared-memory", "nccl-system-error", "child-failed"]
    assert fault(diagnosis, "child-failed").because is diagnosis.faults[0].fault


def test_what_does_not_stop_a_run_comes_after_what_does() -> None:
    """A warning of NumPy at the start is not why the job ended."""
    diagnosis = diagnosed("A module that was compiled using NumPy 1.x cannot be run in", "step 1", OOM)
    assert ids(diagnosis) == ["out-of-memory", "numpy-abi"]
    assert fault(diagnosis, "numpy-abi").because is None


def test_the_first_failing_rank_has_the_root() -> None:
    """Among two failures, the one of the rank that torchrun names comes first."""
    device = (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    )
    apart = diagnosed(f"[rank0]: {device}", f"[rank3]: {OOM}", SUMMARY)
    assert ids(apart)[0] == "out-of-memory"
    assert ids(diagnosed(f"[rank3]: {device}", f"[rank0]: {OOM}", SUMMARY))[0] == "device-mismatch"


def test_the_summary_names_the_root_cause_and_not_the_other_failures() -> None:
    """Torchrun lists the other failures first, in the same form."""
    found = fault(diagnosed("ChildFailedError:", SUMMARY), "child-failed").fault
    assert found.groups["first_rank"] == "3"
    assert "first: rank 3, exit code 1" in found.symptom


def test_the_machine_comes_before_what_it_breaks() -> None:
    """A GPU that fell off the bus explains the launch failure, whichever is printed first."""
    diagnosis = diagnosed(
        "RuntimeError: CUDA error: unspecified launch failure",
        "NVRM: Xid (PCI:0000:4f:00): 79, pid=1, name=python, GPU has fallen off the bus.",
    )
    assert ids(diagnosis) == ["gpu-fell-off", "launch-failure"]
    assert diagnosis.faults[1].because is diagnosis.faults[0].fault


def test_parts_of_a_sequence_belong_to_one_rank() -> None:
    """One rank's start of NCCL and another rank's crash are not put together."""
    start, crash = "NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>", "Fatal Python error: Segmentation fault"
    assert ids(diagnosed(f"[rank0]: {start}", f"[rank1]: {crash}")) == ["segfault"]
    assert ids(diagnosed(f"[rank0]: {start}", "[rank1]: step", f"[rank0]: {crash}")) == ["nccl-init-segfault"]


def test_parts_of_a_sequence_are_near_each_other() -> None:
    """A crash hours after the start has another reason; more ranks put more lines between."""
    start, crash = "[rank0]: NCCL INFO Bootstrap : Using eth0", "[rank0]: Fatal Python error: Segmentation fault"
    assert ids(diagnosed(start, *["[rank0]: step"] * 200, crash)) == ["segfault"]
    others = [f"[rank{rank}]: NCCL INFO Bootstrap : Using eth0" for rank in range(1, 8)]
    assert ids(diagnosed(*others, start, *["[rank1]: step"] * 200, crash)) == ["nccl-init-segfault"]


def test_each_missing_library_is_told() -> None:
    """Two libraries are two faults; the same one twice is one."""
    line = "ImportError: {}: cannot open shared object file: No such file or directory"
    diagnosis = diagnosed(*(line.format(name) for name in ("libcudart.so.12", "libcublas.so.12", "libcudart.so.12")))
    assert [(one.fault.symptom, one.fault.count) for one in diagnosis.faults] == [
        ("libcudart.so.12 is missing", 2),
        ("libcublas.so.12 is missing", 1),
    ]


def test_a_thousand_missing_modules_are_no_thousand_faults() -> None:
    """What is kept has a bound, and everything is counted."""
    diagnosis = diagnosed(*(f"ModuleNotFoundError: No module named 'm{number}'" for number in range(1000)))
    assert len(diagnosis.faults) == 8
    assert sum(one.fault.count for one in diagnosis.faults) == 1000


def test_the_driver_is_told_in_the_terms_of_cuda() -> None:
    """11040 is CUDA 11.4."""
    diagnosis = diagnosed("RuntimeError: The NVIDIA driver on your system is too old (found version 11040).")
    assert "up to 11.4;" in diagnosis.faults[0].fault.cause


def test_the_line_of_the_program_is_not_the_error() -> None:
    """A traceback shows the line that raises before the error itself."""
    error = "AssertionError: Torch not compiled with CUDA enabled"
    diagnosis = diagnosed(
        '[rank0]:     raise AssertionError("Torch not compiled with CUDA enabled")', f"[rank0]: {error}"
    )
    assert (diagnosis.faults[0].fault.line, diagnosis.faults[0].fault.count) == (2, 1)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("killed.log", ["killed", "remote-rank-gone", "closing-signal", "child-failed"]),
        ("mismatch.log", ["dtype-mismatch", "remote-rank-gone", "closing-signal", "child-failed"]),
    ],
)
def test_what_torchrun_prints(name: str, rules: list[str]) -> None:
    """Two ranks of torch 2.13 under torchrun, recorded: rank 1 is killed, or raises; the rest follows from it."""
    diagnosis = read_log([(Path(__file__).parent / name).read_bytes()], PREFILTER)
    assert ids(diagnosis) == rules
    assert all(one.because is diagnosis.faults[0].fault for one in diagnosis.faults[1:])
    assert fault(diagnosis, "child-failed").fault.groups["first_rank"] == "1"


def test_what_is_not_known_is_shown() -> None:
    """The first error of a log that shows nothing known is told as what it is: unknown."""
    diagnosis = diagnosed("step 1", "ValueError: the batch is odd", "KeyError: 'x'")
    assert diagnosis.faults == ()
    assert diagnosis.unknown is not None
    assert (diagnosis.unknown.line, diagnosis.unknown.text) == (2, "ValueError: the batch is odd")


@pytest.mark.parametrize("line", HARMLESS.read_text(encoding="utf-8").splitlines())
def test_what_is_no_fault_is_not_told(line: str) -> None:
    """Warnings that every second log has, above all of tokenizers, name nothing."""
    assert ids(diagnosed(line)) == []


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("[rank3]: x", 3),
        ("[rank12]:[E1130 12:00:00.0 ProcessGroupNCCL.cpp:616] x", 12),
        ("[default0]:x", 0),
        ("2026-11-30T12:00:00.123Z [rank3]: x", 3),
        ("[1,5]<stderr>:x", 5),
        ("  7: x", 7),
        ("[E ProcessGroupNCCL.cpp] [Rank 2] x", 2),
        ("[PG ID 0 PG GUID 0(default_pg) Rank 6] x", 6),
        ("[rank: 1] x", 1),
        ("rank 3 is slow", None),
        ("[rank99999999]: x", None),
        ("12:30: lunch", None),
        ("", None),
    ],
)
def test_labels_of_ranks(line: str, rank: int | None) -> None:
    """Torch, torchrun, mpirun, srun and Lightning each label lines in their own way."""
    assert rank_of(line) == rank


def test_a_secret_is_not_kept() -> None:
    """A token in the line that is shown is masked, also one that the shortening would have cut in two."""
    token = "hf_" + "a1B2c3D4" * 5
    diagnosis = diagnosed(f"HF_TOKEN={token} {'x' * 100} {token} {OOM}", f"{OOM} {'y' * 100} {token}")
    shown = str([one.fault for one in diagnosis.faults])
    assert "***" in shown
    assert "hf_a" not in shown


def test_a_line_cannot_play_tricks() -> None:
    """Controls, marks that turn the writing round, and braces are only characters."""
    lines = (f"\x07\x9b2J\u202e{{action}} {OOM}", "ModuleNotFoundError: No module named 'a.b'\udc80\udcff")
    shown = [one.fault.text for one in diagnosed(*lines).faults]
    assert len(shown) == 2
    assert all(text.isprintable() for text in shown)


def test_a_place_in_an_endless_line_is_found() -> None:
    """A log without line ends is searched to its end, and what is shown is where the fault is."""
    diagnosis = read_log(_pieces(b"x" * 3_000_000 + OOM.encode() + b"y" * 3_000_000, 1 << 16), PREFILTER)
    assert ids(diagnosis) == ["out-of-memory"]
    assert diagnosis.faults[0].fault.line == 1
    assert "CUDA out of memory" in diagnosis.faults[0].fault.text


def test_progress_bars_are_lines_of_their_own() -> None:
    """A bar that is drawn again and again with carriage returns is one line of the file."""
    bar = "".join(f"\r{step}/1000 [00:12<01:20, 10.2it/s]" for step in range(1000))
    diagnosis = diagnosed("start", f"{bar}\r{OOM}")
    assert diagnosis.faults[0].fault.line == 2
    assert diagnosis.faults[0].fault.text == OOM


LINES = st.lists(
    st.sampled_from([
        OOM,
        WATCHDOG.format(1),
        f"\x1b[31m[rank2]: {OOM}\x1b[0m",
        "step 1 loss 2.0",
        "",
        "\r\r 10%|# |",
        "x" * 300,
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
        *SUMMARY.splitlines(),
    ]),
    max_size=30,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(lines=LINES, size=st.integers(1, 400))
def test_how_a_log_is_cut_into_pieces_does_not_matter(lines: list[str], size: int) -> None:
    """A pipe delivers whatever it has; lines, counts and faults stay the same."""
    log = "\n".join(lines).encode()
    whole, pieces = read_log([log], PREFILTER), read_log(_pieces(log, size), PREFILTER)
    assert _facts(pieces) == _facts(whole)
    assert whole.extent.lines == len(log.splitlines()) or "\r" in log.decode()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_bytes_can_be_read(chunks: list[bytes]) -> None:
    """No file makes it fail, and all of it is counted."""
    diagnosis = read_log(chunks, PREFILTER)
    assert diagnosis.extent.size == sum(map(len, chunks))


def _facts(diagnosis: Diagnosis) -> list[tuple[str, int, int, int, tuple[int, ...], str]]:
    return [
        (found.rule.id, found.line, found.last, found.count, tuple(sorted(found.ranks)), found.text)
        for found in (one.fault for one in diagnosis.faults)
    ]


def _pieces(log: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(log), size):
        yield log[start : start + size]
