"""``verify --integrity`` of many files beside ``sha256sum``, and the memory that one large file takes."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Command, side_by_side
from bench.scenarios import LLMENV, Comparison, Workbench

FILES = 16_000
BYTES = 770_000_000
PACKAGES = 250
LARGE = 40
"""Libraries of many megabytes: two thirds of the bytes are in them, as in an environment with CUDA."""

LARGEST = 2_000_000_000
"""Bytes of the one file that memory is measured on; it is sparse, and hashed all the same."""


def full_check(bench: Workbench, runs: int) -> Comparison:
    """Compare a full check with two processes of ``sha256sum``."""
    prefix = bench.folder / "many-files"
    if not prefix.is_dir():
        make_environment(prefix, FILES, BYTES)
    hashing = 'cd "$0" && find . -path ./conda-meta -prune -o -type f -print0 | xargs -0 -P2 sha256sum >/dev/null'
    commands = [
        _verify(bench, prefix),
        Command("xargs -P2 sha256sum", ["/bin/sh", "-c", hashing, str(prefix)], _environ(bench), prefix),
        *_with_instructions_for_it(bench, prefix, hashing),
        _verify(bench, prefix, "--stat-only"),
        Command("llmenv info --digest", [*LLMENV, "info", "-p", str(prefix), "--digest"], _environ(bench), prefix),
    ]
    title = f"integrity of {FILES:,} files, {BYTES // 10**6} MB, warm page cache"
    remark = "Aim: the check takes at most 1.3 × as long as sha256sum, and at most half a second with --stat-only."
    return Comparison(title, side_by_side(commands, runs), None, remark)


def _with_instructions_for_it(bench: Workbench, prefix: Path, hashing: str) -> Iterator[Command]:
    """Yield the same with OpenSSL, which uses the processor's own instructions; not every sha256sum does."""
    if shutil.which("openssl"):
        command = hashing.replace("sha256sum", "openssl dgst -sha256")
        yield Command("xargs -P2 openssl", ["/bin/sh", "-c", command, str(prefix)], _environ(bench), prefix)


def one_large_file(bench: Workbench, runs: int) -> Comparison:
    """Compare the memory of checking a file of 2 GB with that of checking one of 2 MB."""
    commands = []
    for name, size in (("large", LARGEST), ("small", LARGEST // 1000)):
        prefix = bench.folder / f"one-{name}-file"
        if not prefix.is_dir():
            _make_sparse(prefix, size)
        command = _verify(bench, prefix)
        commands.append(
            Command(f"{command.name}, one file of {size / 10**6:,.0f} MB", command.argv, command.env, prefix)
        )
    return Comparison("integrity of one file: memory is flat", tuple(side_by_side(commands, max(3, runs // 2))), None)


def make_environment(prefix: Path, files: int, size: int) -> None:
    """Make an environment with records as rattler writes them: mostly small modules, and a few large libraries."""
    dice = random.Random(4)  # noqa: S311 - no secret, the same files every time
    contents = iter(_sizes(dice, files, size))
    for number in range(PACKAGES):
        _package(prefix, f"package-{number:03}", [next(contents) for _ in range(files // PACKAGES)], dice)
    (prefix / "conda-meta" / "history").touch()


def _sizes(dice: random.Random, files: int, size: int) -> list[int]:
    small = [min(int(dice.lognormvariate(8.5, 1.5)), 300_000) for _ in range(files - LARGE)]
    each, rest = divmod(size - sum(small), LARGE)
    sizes = [*small, *[each] * (LARGE - 1), each + rest]
    dice.shuffle(sizes)
    return sizes


def _package(prefix: Path, name: str, sizes: list[int], dice: random.Random) -> None:
    paths = []
    for number, size in enumerate(sizes):
        path = f"lib/python3.12/site-packages/{name}/part{number // 16}/module{number}.py"
        content = dice.randbytes(size)
        (prefix / path).parent.mkdir(parents=True, exist_ok=True)
        (prefix / path).write_bytes(content)
        checksum = hashlib.sha256(content).hexdigest()
        paths.append({"_path": path, "path_type": "hardlink", "sha256": checksum, "size_in_bytes": size})
    _record(prefix, name, paths)


def _record(prefix: Path, name: str, paths: list[dict[str, object]]) -> None:
    record = {
        "name": name,
        "version": "1.0",
        "build": "0",
        "subdir": "linux-64",
        "sha256": hashlib.sha256(name.encode()).hexdigest(),
        "files": [path["_path"] for path in paths],
        "paths_data": {"paths_version": 1, "paths": paths},
    }
    (prefix / "conda-meta").mkdir(parents=True, exist_ok=True)
    (prefix / "conda-meta" / f"{name}-1.0-0.json").write_text(json.dumps(record, indent=2))


def _make_sparse(prefix: Path, size: int) -> None:
    state = hashlib.sha256()
    for piece in _zeros(size):
        state.update(piece)
    (prefix / "lib").mkdir(parents=True)
    with (prefix / "lib" / "large.bin").open("wb") as stream:
        stream.truncate(size)
    path = {"_path": "lib/large.bin", "path_type": "hardlink", "sha256": state.hexdigest(), "size_in_bytes": size}
    _record(prefix, "large", [path])
    (prefix / "conda-meta" / "history").touch()


def _zeros(size: int) -> Iterator[bytes]:
    piece = bytes(1_000_000)
    for _ in range(size // len(piece)):
        yield piece


def _verify(bench: Workbench, prefix: Path, *options: str) -> Command:
    name = " ".join(("llmenv verify --integrity", *options))
    return Command(name, [*LLMENV, "verify", "-p", str(prefix), "--integrity", *options], _environ(bench), prefix)


def _environ(bench: Workbench) -> dict[str, str]:
    return bench.environ("llmenv", bench.served.as_uri())
