"""``llmenv diagnose`` as a person runs it, on logs of every kind."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time

import pytest

from tests.program import Program

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB "
    "of which 1.50 GiB is free. Including non-PyTorch memory, this process has 77.64 GiB memory in use. "
    "Of the allocated memory 60.00 GiB is allocated by PyTorch, and 16.00 GiB is reserved by PyTorch but unallocated."
)
WATCHDOG = "[Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=1)"


def interleaved() -> str:
    """Return the log of a job of 8 ranks in which rank 5 fails and the others wait for it."""
    lines = [f"[rank{rank}]: step {step} loss 2.{step}" for step in range(50) for rank in range(8)]
    lines += [f"[rank5]: {line}" for line in ("Traceback (most recent call last):", '  File "train.py", line 10', OOM)]
    lines += [f"[rank{rank}]:[E1130 12:00:00.0 x.cpp:6] {WATCHDOG.format(rank)}" for rank in range(8) if rank != 5]
    lines += ["torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "train.py FAILED"]
    lines += ["Root Cause (first observed failure):", "[0]:", "  rank      : 5 (local_rank: 5)"]
    return "\n".join([*lines, "  exitcode  : 1 (pid: 4242)", ""])


def test_the_root_is_told_first_and_the_rest_follows(llmenv: Program) -> None:
    """Verdict, place, reason, next step and the check that confirms it; then what follows, one line each."""
    llmenv.write("train.log", interleaved())
    ended = llmenv("diagnose", "train.log")
    assert ended.code == 0
    assert ended.stderr == ""
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("1 known fault in train.log (416 lines): the GPU's memory is fragmented: 2.00 GiB")
    assert "line 403, rank 5" in lines
    assert any(line.startswith("action    export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True") for line in lines)
    assert "confirm with" not in ended.stdout.split("what follows")[0], (
        "no check of a machine can tell a fragmented allocator"
    )
    after = lines[lines.index("what follows from that") + 1 :]
    assert after[0].startswith("  line 404, ranks 0-4,6-7, 7 times: a collective timed out")
    assert "first: rank 5, exit code 1" in after[1]


def test_standard_input_and_json(llmenv: Program) -> None:
    """``-`` reads a pipe, and ``--json`` is one document with the same facts."""
    done = subprocess.run(
        [*llmenv.argv, "diagnose", "-", "--json"],
        input=interleaved(),
        cwd=llmenv.cwd,
        env=llmenv.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert (document["command"], document["ok"]) == ("diagnose", True)
    result = document["result"]
    assert (result["file"], result["lines"]) == ("-", 416)
    first, *others = result["findings"]
    assert (first["id"], first["line"], first["ranks"], first["check"]) == ("memory-fragmented", 403, [5], None)
    assert first["found"]["unallocated"] == "16.00 GiB"
    assert first["follows_from"] is None
    assert {one["follows_from"]["id"] for one in others} == {"memory-fragmented"}


def test_what_nobody_knows_is_said_so(llmenv: Program) -> None:
    """Exit code 1, and the first error of the log is shown for what it is."""
    llmenv.write("train.log", "step 1\nValueError: the batch is odd\n")
    ended = llmenv("diagnose", "train.log")
    assert ended.code == 1
    assert ended.stdout.startswith("nothing in train.log is known here (2 lines)")
    assert "line 2\n  ValueError: the batch is odd" in ended.stdout
    assert ended.stderr.startswith("\nhint: ")
    payload = llmenv("diagnose", "train.log", "--json")
    assert payload.code == 1
    assert payload.json()["ok"] is False
    assert payload.json()["result"]["findings"] == []
    assert payload.json()["result"]["first_unknown_error"]["line"] == 2


def test_an_empty_log_shows_nothing(llmenv: Program) -> None:
    """No line, nothing known."""
    llmenv.write("train.log", "")
    ended = llmenv("diagnose", "train.log")
    assert ended.code == 1
    assert "(0 lines)" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["diagnose", "missing.log"], "missing.log: No such file or directory"),
        (["diagnose", "."], "Is a directory"),
        (["diagnose"], "Missing argument"),
        (["diagnose", "a.log", "b.log"], "unexpected extra argument"),
    ],
    ids=["missing", "folder", "none", "two"],
)
def test_a_mistake_is_told(llmenv: Program, arguments: list[str], told: str) -> None:
    """Exit code 2 and one sentence."""
    ended = llmenv(*arguments)
    assert ended.code == 2, ended.text
    assert told in ended.stderr
    assert "Traceback" not in ended.text
    assert llmenv(*arguments, "--json").json()["ok"] is False


def test_a_compressed_log_is_told_how_to_read(llmenv: Program) -> None:
    """The next step works when pasted."""
    (llmenv.cwd / "train.log.gz").write_bytes(gzip.compress(interleaved().encode()))
    ended = llmenv("diagnose", "train.log.gz")
    assert ended.code == 2
    assert "zcat train.log.gz | llmenv diagnose -" in ended.stderr


def test_names_of_files_are_shown_on_one_line(llmenv: Program) -> None:
    """A line end or a byte that is no text in the name of a log does no harm."""
    for name in (b"bad\xff\n.log", b"no\xff.log"):
        if name.startswith(b"bad"):
            (llmenv.cwd / os.fsdecode(name)).write_text(interleaved())
        ended = llmenv("diagnose", os.fsdecode(name))
        assert ended.code == (0 if name.startswith(b"bad") else 2)
        assert r"\udcff" in ended.text.splitlines()[0]
        assert ".log" in ended.text.splitlines()[0]


def test_a_file_that_cannot_be_read_to_its_end_is_told(llmenv: Program) -> None:
    """The message names the file."""
    ended = llmenv("diagnose", "/proc/self/mem")
    assert ended.code == 1
    assert "/proc/self/mem: Input/output error" in ended.stderr


def test_a_binary_file_does_no_harm(llmenv: Program) -> None:
    """Bytes that are no text at all are read, and a fault between them is found."""
    (llmenv.cwd / "core").write_bytes(os.urandom(300_000) + f"\n\0\x1b[2J{OOM}\n".encode() + os.urandom(300_000))
    ended = llmenv("diagnose", "core")
    assert ended.code == 0
    assert "the GPU's memory is fragmented" in ended.stdout
    assert "\0" not in ended.stdout
    assert "\x1b" not in ended.stdout


def test_secrets_and_control_characters_of_a_log_are_not_shown(llmenv: Program) -> None:
    """What somebody's program printed cannot get at a terminal, nor a token at a colleague's eyes."""
    token = "hf_" + "a1B2c3D4" * 5
    llmenv.write(
        "train.log", f"\u202e\x07 https://ada:{token}@host/x {token} {OOM}\nModuleNotFoundError: No module named 'x'"
    )
    for arguments in (["diagnose", "train.log"], ["diagnose", "train.log", "--json"]):
        ended = llmenv(*arguments)
        assert ended.code == 0
        assert "hf_" not in ended.text
        assert "\u202e" not in ended.text
        assert "\x07" not in ended.text


def test_a_large_log_is_streamed(llmenv: Program) -> None:
    """20 MB with one line of 5 MB in it are read in the memory that a small log takes, and quickly."""
    line = b"[rank3]: 2026-11-30 12:00:00,123 INFO step 12345 loss 2.3456 lr 1.0e-4 tokens/s 12345.6 mem 72.1GB\n"
    with (llmenv.cwd / "train.log").open("wb") as log:
        for _ in range(15):
            log.write(line * 10_000)
        log.write(b"x" * 5_000_000 + b"\n" + OOM.encode() + b"\n")
    begun = time.monotonic()
    ended = llmenv("diagnose", "train.log")
    assert ended.code == 0
    assert "line 150002" in ended.stdout
    assert time.monotonic() - begun < 30
    peak = _peak_memory(llmenv)
    assert peak < 100_000, f"{peak} KiB"


def _peak_memory(llmenv: Program) -> int:
    """Return the largest memory, in KiB, of a process that reads the log."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *llmenv.argv, "diagnose", "train.log"],
        cwd=llmenv.cwd,
        env=llmenv.environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return int(done.stdout)


def test_head_ends_it_quietly(llmenv: Program) -> None:
    """``| head -1`` is no fault of anybody's, and neither is a log that is still written to a pipe."""
    llmenv.write("train.log", interleaved())
    program = " ".join(llmenv.argv)
    done = subprocess.run(
        ["bash", "-c", f"(cat train.log; sleep 0.2; cat train.log) | {program} diagnose - | head -1"],
        cwd=llmenv.cwd,
        env=llmenv.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "1 known fault in standard input (832 lines)" in done.stdout
    assert done.stderr == ""


def test_a_closed_standard_input_is_told(llmenv: Program) -> None:
    """A daemon without a standard input gets a sentence."""
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(llmenv.argv)} diagnose - <&-"],
        cwd=llmenv.cwd,
        env=llmenv.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "standard input is closed" in done.stderr
