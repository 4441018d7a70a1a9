"""The dated tables of drivers, CUDA, cards and frameworks, and the questions they answer."""

from __future__ import annotations

import functools
import json
import pkgutil
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from conda_llmenv.errors import InputError
from conda_llmenv.hardware.versions import minor

Capability = tuple[int, int]

STEMS = ("cuda", "gpus", "torch", "frameworks", "legacy")
"""The table files, one idea each; an override file has the same names as its top-level keys."""


class TorchRelease(Struct, frozen=True):
    """One minor release of torch.

    Attributes:
        series: such as ``2.13``.
        latest: newest patch release.
        pypi_cuda: CUDA of the Linux x86-64 wheel on PyPI.
        variants: CUDA versions that have an index of their own, ascending.
        python: smallest and largest Python minor with wheels.
        cudnn, nccl: versions the PyPI wheel asks for.
        torchvision, torchaudio: the minor release that pairs with it, None where unknown.
    """

    series: Version
    latest: Version
    pypi_cuda: Version
    variants: tuple[Version, ...]
    python: tuple[Version, Version]
    cudnn: str
    nccl: str
    torchvision: Version | None
    torchaudio: Version | None


class ArchList(Struct, frozen=True):
    """The compute capabilities that PyTorch's wheels for one CUDA hold code for, over a half-open range of torch."""

    cuda: str
    since: Version
    until: Version | None
    archs: tuple[str, ...]


class Framework(Struct, frozen=True):
    """A package with CPU and CUDA builds; ``cpu`` and ``cuda`` choose one by name, ``follows`` take its kind."""

    name: str
    cpu: tuple[str, ...]
    cuda: tuple[str, ...]
    follows: tuple[str, ...]


class Accelerator(Struct, frozen=True):
    """A compiled library with needs of its own; ``since`` is the release the needs are known from."""

    name: str
    capability: Capability
    cuda: Version
    torch: Version
    since: Version
    instead: str


class CudaPackage(Struct, frozen=True):
    """A conda package whose version is a CUDA version, with what limits it."""

    name: str
    newest: Version | None
    versions: tuple[Version, ...]
    successor: str | None


class Tables(Struct, frozen=True):
    """All tables, read. ``as_of`` is the date they describe."""

    as_of: str
    driver_floors: Mapping[str, Version]
    toolkit_drivers: Mapping[Version, Version]
    first_cuda: Mapping[Capability, Version]
    dropped: Mapping[Version, Capability]
    patch_releases: tuple[str, ...]
    capabilities: Mapping[str, Capability]
    index_pattern: str
    torch: tuple[TorchRelease, ...]
    arch_lists: tuple[ArchList, ...]
    conda_torch: Mapping[str, tuple[Version, ...]]
    first_pytorch_cuda: Version
    frameworks: tuple[Framework, ...]
    model_libraries: Mapping[str, tuple[tuple[Version, Version], ...]]
    accelerators: Mapping[str, Accelerator]
    cuda_packages: Mapping[str, CudaPackage]

    def cuda_versions(self) -> tuple[Version, ...]:
        """Return every CUDA minor the tables know, ascending."""
        return tuple(sorted(self.toolkit_drivers))

    def driver_floor(self, cuda: Version) -> Version | None:
        """Return the smallest driver that runs this CUDA at all (minor-version compatibility), None if unknown."""
        return self.driver_floors.get(str(minor(cuda))) or self.driver_floors.get(str(cuda.major))

    def toolkit_driver(self, cuda: Version) -> Version | None:
        """Return the driver from which this CUDA works in full; an unlisted minor takes the next listed one up."""
        wanted = minor(cuda)
        known = [version for version in self.cuda_versions() if version >= wanted and version.major == wanted.major]
        return self.toolkit_drivers[known[0]] if known else None

    def cuda_of_driver(self, driver: Version) -> Version | None:
        """Return the newest CUDA that a driver runs in full, None for one older than the tables."""
        return max((cuda for cuda, needed in self.toolkit_drivers.items() if driver >= needed), default=None)

    def capability_of(self, name: str) -> Capability | None:
        """Return the compute capability of a card by its product name, None for an unknown one."""
        found = [words for words in self.capabilities if has_words(name, words)]
        return self.capabilities[max(found, key=len)] if found else None

    def first_cuda_for(self, capability: Capability) -> Version | None:
        """Return the first CUDA that knows a compute capability, None if it is older than the tables."""
        known = [key for key in self.first_cuda if key[0] == capability[0] and key <= capability]
        return self.first_cuda[max(known)] if known else None

    def dropped_by(self, capability: Capability, cuda: Version) -> Version | None:
        """Return the CUDA (at most ``cuda``) that dropped a compute capability, or None if it still supports it."""
        return min((at for at, least in self.dropped.items() if at <= cuda and capability < least), default=None)

    def torch_release(self, version: Version) -> TorchRelease | None:
        """Return the series a torch version belongs to, or None."""
        return next((release for release in self.torch if release.series == minor(version)), None)

    def arch_list(self, torch: Version, cuda: Version) -> tuple[str, ...] | None:
        """Return what PyTorch's own wheel of this version and CUDA holds code for, or None if unknown."""
        for entry in self.arch_lists:
            within = entry.since <= minor(torch) and (entry.until is None or minor(torch) < entry.until)
            if within and entry.cuda in {str(minor(cuda)), str(cuda.major)}:
                return entry.archs
        return None

    def index_url(self, variant: str) -> str:
        """Return PyTorch's wheel index of a variant such as ``cu126`` or ``cpu``."""
        return self.index_pattern.format(variant=variant)


def has_words(name: str, words: str) -> bool:
    """Return whether ``words`` stand in ``name`` as whole words, in any case: ``A10`` is not in ``A100``."""
    return re.search(rf"(?<![a-z0-9]){re.escape(words.lower())}(?![a-z0-9])", name.lower()) is not None


def load_tables(override: Mapping[str, Any] | None = None) -> Tables:
    """Return the packaged tables with a person's own entries laid over them.

    Args:
        override: the parsed override file: table names (:data:`STEMS`) at the top, then the same structure as the
            packaged files; mappings merge, everything else replaces.

    Raises:
        InputError: the override has an unknown table or a value of the wrong shape.
    """
    if not override:
        return _packaged()
    unknown = sorted(set(override) - set(STEMS))
    if unknown:
        raise InputError(
            f"the table override has no table {', '.join(map(repr, unknown))}",
            hint=f"the tables are {', '.join(STEMS)}",
        )
    try:
        return _read(_merged(_raw(), override))
    except (TypeError, ValueError, KeyError, AttributeError, InvalidVersion) as error:
        raise InputError(
            f"the table override cannot be read: {error}",
            hint="give each entry the shape it has in the packaged tables",
        ) from error


@functools.cache
def _packaged() -> Tables:
    return _read(_raw())


def _raw() -> dict[str, Any]:
    # Packaged, immutable data: reading it is no more input than importing a module is.
    return {stem: json.loads(pkgutil.get_data("conda_llmenv", f"data/{stem}.json") or b"{}") for stem in STEMS}


def _merged(base: Any, over: Any) -> Any:
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        return {**base, **{key: _merged(base[key], value) if key in base else value for key, value in over.items()}}
    return over


def _read(raw: Mapping[str, Any]) -> Tables:
    cuda, torch, frameworks = raw["cuda"], raw["torch"], raw["frameworks"]
    return Tables(
        as_of=max(str(raw[stem]["as_of"]) for stem in STEMS),
        driver_floors={key: Version(value) for key, value in cuda["driver_floors"]["entries"].items()},
        toolkit_drivers={Version(key): Version(value) for key, value in cuda["toolkit_drivers"]["entries"].items()},
        first_cuda={capability(key): Version(value) for key, value in cuda["first_cuda"]["entries"].items()},
        dropped={Version(key): capability(value) for key, value in cuda["dropped"]["entries"].items()},
        patch_releases=tuple(cuda["patch_releases"]["entries"]),
        capabilities={key: capability(value) for key, value in raw["gpus"]["compute_capability"]["entries"].items()},
        index_pattern=torch["index"]["pattern"],
        torch=tuple(_torch_releases(torch["releases"]["entries"])),
        arch_lists=tuple(_arch_list(entry) for entry in torch["arch_lists"]["entries"]),
        conda_torch={key: _versions(value) for key, value in torch["conda_channel"]["entries"].items()},
        first_pytorch_cuda=Version(torch["conda_channel"]["first_pytorch_cuda"]),
        frameworks=tuple(_framework(*item) for item in frameworks["frameworks"]["entries"].items()),
        model_libraries={
            name: tuple((Version(since), Version(least)) for since, least in rows)
            for name, rows in frameworks["model_libraries"]["entries"].items()
        },
        accelerators={name: _accelerator(name, row) for name, row in frameworks["accelerators"]["entries"].items()},
        cuda_packages={
            name: _cuda_package(name, row) for name, row in raw["legacy"]["cuda_packages"]["entries"].items()
        },
    )


def capability(text: str) -> Capability:
    """Return ``(major, minor)`` of a compute capability such as ``8.0``.

    Raises:
        ValueError: it is not of that form.
    """
    major, _, rest = text.strip().partition(".")
    return int(major), int(rest or 0)


def _torch_releases(entries: Mapping[str, Any]) -> Iterator[TorchRelease]:
    """Yield the releases, newest first."""
    for series in sorted(map(Version, entries), reverse=True):
        row = entries[str(series)]
        first, last = row["python"]
        yield TorchRelease(
            series=series,
            latest=Version(row["latest"]),
            pypi_cuda=Version(row["pypi_cuda"]),
            variants=_versions(row["variants"]),
            python=(Version(first), Version(last)),
            cudnn=row["cudnn"],
            nccl=row["nccl"],
            torchvision=_optional(row.get("torchvision")),
            torchaudio=_optional(row.get("torchaudio")),
        )


def _versions(texts: list[str]) -> tuple[Version, ...]:
    return tuple(sorted(Version(text) for text in texts))


def _optional(text: str | None) -> Version | None:
    return None if text is None else Version(text)


def _arch_list(row: Mapping[str, Any]) -> ArchList:
    since, until = row["torch"]
    return ArchList(row["cuda"], Version(since), _optional(until), tuple(row["archs"]))


def _framework(name: str, row: Mapping[str, Any]) -> Framework:
    return Framework(name, tuple(row["cpu"]), tuple(row["cuda"]), tuple(row["follows"]))


def _accelerator(name: str, row: Mapping[str, Any]) -> Accelerator:
    return Accelerator(
        name=name,
        capability=capability(row["capability"]),
        cuda=Version(row["cuda"]),
        torch=Version(row["torch"]),
        since=Version(row["since"]),
        instead=row["instead"],
    )


def _cuda_package(name: str, row: Mapping[str, Any]) -> CudaPackage:
    return CudaPackage(name, _optional(row.get("newest")), _versions(row.get("versions", [])), row.get("successor"))
