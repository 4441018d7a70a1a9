"""Programs that are run to their end: what they print, however much it is."""

from __future__ import annotations

import resource
import sys
import time

import pytest

from conda_llmenv import process

FLOODS = {
    "lines": "line = b'x' * 79 + b'\\n'\nfor _ in range(MB): stream.write(line * 12500)",
    "one line": "for _ in range(MB): stream.write(b'x' * 1000000)",
    "noise": "import os\nnoise = os.urandom(1000000)\nfor _ in range(MB): stream.write(noise)",
}


def run(code: str, *arguments: str) -> tuple[process.Completed, list[str], list[str]]:
    """Return how a program of Python ended, with the lines of stdout and those of stderr as they came."""
    output: list[str] = []
    complaints: list[str] = []
    argv = [sys.executable, "-I", "-c", code, *arguments]
    return process.run(argv, on_line=complaints.append, on_output=output.append), output, complaints


def test_the_streams_are_told_apart() -> None:
    """What asks for stdout alone gets nothing of stderr; both are kept."""
    done, output, complaints = run("import os\nos.write(1, b'to 1\\n')\nos.write(2, b'to 2\\nand more')")
    assert (output, complaints) == (["to 1"], ["to 2", "and more"])
    assert (done.stdout, done.stderr) == ("to 1\n", "to 2\nand more")


def test_lines_of_either_stream() -> None:
    """Without such a wish both streams come the same way."""
    lines: list[str] = []
    process.run(["sh", "-c", "echo one; sleep 0.2; echo two >&2"], on_line=lines.append)
    assert lines == ["one", "two"]


@pytest.mark.parametrize("pause", ["", "import time; time.sleep(0.1)"])
def test_every_end_of_a_line_is_one(pause: str) -> None:
    """Progress that returns to the start of its line, and what Windows writes, even where a read ends in between."""
    parts = r"(b'10%\r20%\r', b'\n\xc3\xa4\r', b'\n', b'\n\xff end\r')"
    done, output, _ = run(f"import os\nfor part in {parts}:\n    os.write(1, part); {pause}")
    assert output == ["10%", "20%", "ä", "", "\ufffd end"]
    assert done.stdout == "10%\n20%\nä\n\n\ufffd end\n"


def test_a_long_line_is_cut_and_the_next_one_is_whole() -> None:
    """An answer of some megabytes in one line comes whole; beyond that the line is cut, and what follows is whole."""
    code = (
        "import sys\n"
        "sys.stdout.write('a' * 3000000 + '\\n' + 'b' * 9000000 + '\\nafter\\n')\n"
        "sys.stderr.write('c' * 200000 + '\\nafter')"
    )
    done, output, complaints = run(code)
    assert [len(line) for line in output] == [3_000_000, process.LONGEST_OUTPUT, 5]
    assert [len(line) for line in complaints] == [process.LONGEST_COMPLAINT, 5]
    assert done.stderr.endswith("\nafter")


@pytest.mark.parametrize("kind", FLOODS)
@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_flood_takes_neither_memory_nor_time(kind: str, descriptor: int) -> None:
    """200 MB of output, in whatever lines, are drained in seconds of work, and only the last of it is kept."""
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    code = f"MB = 200\nimport os\nstream = os.fdopen({descriptor}, 'wb')\n{FLOODS[kind]}\nstream.write(b'\\nlast')"
    done = process.run([sys.executable, "-I", "-c", code])
    assert time.process_time() - started < 5.0
    assert (done.stdout, done.stderr)[descriptor - 1].endswith("\nlast")
    assert len(done.stdout) + len(done.stderr) <= process.KEPT_BYTES
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000, "KiB"


def test_what_a_program_is_fed() -> None:
    """Text goes in as UTF-8, also into one that does not read it."""
    assert process.run(["cat"], stdin="grüße\n").stdout == "grüße\n"
    assert process.run(["true"], stdin="x" * 1_000_000).returncode == 0
