"""Small packages that are about one thing each: a gate, a conflict, a script, a size, a date."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.channel.archive import EPOCH, PLACEHOLDER, Package
from tests.channel.interpreter import SHORT, TAG, subdir

BLOB_BYTES = 4 * 1024 * 1024
"""Size of the package that download faults are tried on; random, so that it does not shrink."""


@dataclass(frozen=True)
class Stub:
    """A package with its files: path → content; a path ending in ``.sh`` is executable."""

    package: Package
    files: Mapping[str, bytes] = field(default_factory=dict)


def conda_forge() -> Iterator[Stub]:
    """Yield the small packages of the main channel."""
    yield from _foundations()
    yield from _cuda()
    yield from _pytorch()
    yield from _conflict()
    yield from _scripts()
    yield from _dated()
    yield _stub("prefix-demo", files=_prefix_files())
    yield _stub("big-blob", files={"share/big-blob.bin": random.Random(7).randbytes(BLOB_BYTES)})
    yield _stub("confused", "1.0", subdir_="noarch", noarch="generic")


def other() -> Iterator[Stub]:
    """Yield the packages of the second channel: a higher version of a name that the first one has, and its user."""
    yield _stub("confused", "9.0", subdir_="noarch", noarch="generic")
    yield _stub("only-other", depends=("confused",), subdir_="noarch", noarch="generic")


def _stub(
    name: str,
    version: str = "1.0",
    build: str = "0",
    *,
    subdir_: str | None = None,
    depends: tuple[str, ...] = (),
    constrains: tuple[str, ...] = (),
    noarch: str | None = None,
    timestamp: dt.datetime = EPOCH,
    index: Mapping[str, object] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> Stub:
    number = build.rpartition("_")[2]
    package = Package(
        name, version, build, int(number) if number.isdigit() else 0, subdir_ or subdir(), depends, constrains, noarch,
        timestamp, index=dict(index or {}),
    )  # fmt: skip
    return Stub(package, files or {f"share/{name}/about.txt": f"{name} {version} {build}\n".encode()})


def _foundations() -> Iterator[Stub]:
    yield _stub("ca-certificates", "2025.1.1", subdir_="noarch", noarch="generic")
    yield _stub("python_abi", f"{SHORT}", f"8_cp{TAG}", subdir_="noarch", noarch="generic",
                constrains=(f"python {SHORT}.* *_cp{TAG}",))  # fmt: skip
    yield _stub("data-generic", "2.0", subdir_="noarch", noarch="generic")


def _cuda() -> Iterator[Stub]:
    for version in ("11.8", "12.4", "12.6", "12.9"):
        major = version.partition(".")[0]
        yield _stub("cuda-version", version, "h0_3", subdir_="noarch", noarch="generic",
                    constrains=(f"cudatoolkit {version}|{version}.*", f"__cuda >={major}"))  # fmt: skip
    for version in ("2.21.5", "2.27.3"):
        yield _stub("nccl", f"{version}.1", "h0_0", depends=("cuda-version >=12,<13.0a0",))


def _pytorch() -> Iterator[Stub]:
    abi = f"python_abi {SHORT}.* *_cp{TAG}"
    for version in ("2.6.0", "2.7.1"):
        yield _stub("pytorch", version, f"cpu_generic_py{TAG}_h0_1", depends=("pytorch-mutex 1.0 cpu", abi))
        yield _stub("pytorch", version, f"cuda126_generic_py{TAG}_h0_201",
                    depends=("__cuda", "cuda-version >=12.6,<13", "nccl >=2.21.5.1,<3.0a0",
                             "pytorch-mutex 1.0 cuda", abi))  # fmt: skip
        yield _stub("pytorch-gpu", version, "cuda126_generic_h0_201", depends=(f"pytorch {version} cuda*_generic*201",))
        yield _stub("pytorch-cpu", version, "cpu_generic_h0_1", depends=(f"pytorch {version} cpu_generic*1",))
    for variant, number in (("cpu", 0), ("cuda", 1)):
        features = {"track_features": "pytorch-mutex"} if variant == "cpu" else {}
        yield _stub(
            "pytorch-mutex",
            "1.0",
            variant,
            subdir_="noarch",
            noarch="generic",
            index=features | {"build_number": number},
        )


def _conflict() -> Iterator[Stub]:
    yield _stub("gate-a", depends=("gate-c <2",))
    yield _stub("gate-b", depends=("gate-c >=2",))
    yield _stub("gate-c", "1.0")
    yield _stub("gate-c", "2.0")


def _scripts() -> Iterator[Stub]:
    yield _stub("activate-demo", files={
        "etc/conda/activate.d/activate-demo.sh": b"export ACTIVATE_DEMO='a b$c'\n",
        "etc/conda/deactivate.d/activate-demo.sh": b"unset ACTIVATE_DEMO\n",
    })  # fmt: skip
    yield _stub("post-link-demo", files={
        "bin/.post-link-demo-post-link.sh": b'#!/bin/sh\ntouch "$PREFIX/post-link-was-here"\n',
        "share/post-link-demo/about.txt": b"has a post-link script\n",
    })  # fmt: skip


def _dated() -> Iterator[Stub]:
    yield _stub("dated", "1.0", timestamp=dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc))
    yield _stub("dated", "2.0", timestamp=dt.datetime(2025, 6, 1, tzinfo=dt.timezone.utc))


def _prefix_files() -> dict[str, bytes]:
    """Return a script and a binary that hold their prefix, as compiled programs and generated scripts do."""
    prefix = PLACEHOLDER.encode()
    return {
        "bin/prefix-demo.sh": b"#!/bin/sh\nprintf '%s' " + prefix + b"\n",
        "lib/prefix-demo.bin": b"\x7fDEMO\0" + prefix + b"/lib\0end\0",
    }
