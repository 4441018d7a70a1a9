"""Which CUDA a torch wheel is built for, by its index, its local version or what was resolved beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from conda_llmenv.hardware.card import serves
from conda_llmenv.hardware.cuda import fit_driver, misfit
from conda_llmenv.hardware.tables import Tables
from conda_llmenv.hardware.target import Target
from conda_llmenv.hardware.versions import cuda_of_variant, minor, parse, variant_of
from conda_llmenv.model import PipPackage, PipPlan, PipRequirement, PipSection, Status
from conda_llmenv.redact import strip

CPU = "cpu"

_VARIANT = re.compile(r"/whl/(?:nightly/|test/)?(cu\d{2,3}|cpu)(?:/|$)")
_RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu\d+)?|cuda-toolkit")
"""Distributions whose version is that of the CUDA the wheel asks for; ``cuda-toolkit`` since CUDA 13."""
_CUDA_PART = re.compile(r"nvidia-.+|cuda-toolkit")
_FIRST_SPLIT = Version("2.1")
"""From this torch on every CUDA wheel asks for its CUDA libraries as distributions of their own."""
_INDEX_OPTIONS = frozenset({"--index-url", "-i", "--extra-index-url", "--find-links", "-f"})
_PYPI = re.compile(r"https?://(pypi\.org|pypi\.python\.org)(/|$)")


class Wheel(Struct, frozen=True):
    """One torch wheel.

    Attributes:
        version: public version.
        cuda: what it is built for; None for a CPU build.
        evidence: how that is known, in words.
    """

    version: Version
    cuda: Version | None
    evidence: str

    @property
    def words(self) -> str:
        """The wheel in words, such as ``torch 2.13.0 (PyPI's wheel)``."""
        return f"torch {self.version} ({self.evidence})"


def pinned_wheel(
    requirement: PipRequirement, section: PipSection, configured: Sequence[str], tables: Tables
) -> Wheel | None:
    """Return the wheel an exactly pinned ``torch`` means, None where only the resolved plan can tell.

    That is so for ranges, for a release the tables do not know, and where an index that is neither PyPI's nor PyTorch's
    is asked.
    """
    version = pinned(requirement)
    if version is None:
        return None
    if version.local:
        return _by_local(version)
    urls = [*index_urls(section), *configured]
    variants = list(dict.fromkeys(match[1] for url in urls if (match := _VARIANT.search(url))))
    release = tables.torch_release(version)
    if len(variants) > 1 or release is None or any(_foreign(url) for url in urls):
        return None
    if variants and (variants[0] == CPU or cuda_of_variant(variants[0]) in release.variants):
        return Wheel(version, cuda_of_variant(variants[0]), f"index {variants[0]}")
    return Wheel(version, release.pypi_cuda, "PyPI's wheel")


def chosen_wheel(package: PipPackage, plan: PipPlan, tables: Tables) -> Wheel | None:
    """Return the torch wheel of a resolved plan: what was resolved beside it tells best, then version and address."""
    version = parse(package.version)
    if version is None:
        return None
    runtime = next((found for found in plan.packages if _RUNTIME.fullmatch(found.name)), None)
    if runtime and (cuda := parse(runtime.version)):
        return Wheel(_public(version), minor(cuda), f"with {runtime.name} {runtime.version}")
    if version.local:
        return _by_local(version)
    match = _VARIANT.search(strip(package.url or ""))
    if match:
        return Wheel(version, cuda_of_variant(match[1]), f"index {match[1]}")
    return _by_release(version, plan, tables)


def _by_release(version: Version, plan: PipPlan, tables: Tables) -> Wheel | None:
    """What the tables say of a release, unless nothing of CUDA was resolved beside it: then it is a CPU build."""
    release = tables.torch_release(version)
    if release is None:
        return None
    if release.series >= _FIRST_SPLIT and not any(_CUDA_PART.fullmatch(found.name) for found in plan.packages):
        return Wheel(version, None, "no CUDA library beside it")
    return Wheel(version, release.pypi_cuda, "PyPI's wheel")


def _by_local(version: Version) -> Wheel | None:
    variant = version.local or ""
    if variant != CPU and cuda_of_variant(variant) is None:
        return None  # ROCm, XPU and private builds are not judged
    return Wheel(_public(version), cuda_of_variant(variant), f"variant {variant}")


def _public(version: Version) -> Version:
    return Version(version.public)


def pinned(requirement: PipRequirement) -> Version | None:
    """Return the version of an ``==`` pin, None for anything looser."""
    try:
        specifiers = list(SpecifierSet(requirement.specifier))
    except InvalidSpecifier:
        return None
    exact = [entry for entry in specifiers if entry.operator in {"==", "==="} and not entry.version.endswith(".*")]
    return parse(exact[0].version) if exact else None


def index_urls(section: PipSection) -> Iterator[str]:
    """Yield the addresses that the options of a pip section look in."""
    for option in section.options:
        tokens = [part for token in option.tokens for part in token.split("=", 1)]
        if len(tokens) > 1 and tokens[0] in _INDEX_OPTIONS:
            yield strip(tokens[1])


def _foreign(url: str) -> bool:
    """A mirror or a private index: what it serves under torch's name is known only once it has been asked."""
    return not _VARIANT.search(url) and not _PYPI.match(url)


def runnable(wheel: Wheel, target: Target, tables: Tables) -> Status:
    """Return whether card and driver of the target run a wheel: FAIL, WARN (with limits), PASS, or SKIP if unknown."""
    if wheel.cuda is None:
        return Status.PASS
    fits = [fit_driver(wheel.cuda, target, tables).status]
    if target.capability is not None:
        archs = tables.arch_list(wheel.version, wheel.cuda)
        fits.append(serves(archs, target.capability).status if archs else Status.SKIP)
        if misfit(wheel.cuda, target.capability, tables):
            return Status.FAIL
    return next((status for status in (Status.FAIL, Status.SKIP, Status.WARN) if status in fits), Status.PASS)


def alternatives(target: Target, tables: Tables, python: Version | None = None) -> Iterator[Wheel]:
    """Yield the wheels the target runs, newest torch first and newest CUDA first within it."""
    for release in tables.torch:
        if python is not None and not release.python[0] <= minor(python) <= release.python[1]:
            continue
        for cuda in reversed(release.variants):
            wheel = Wheel(release.latest, cuda, f"index {variant_of(cuda)}")
            if runnable(wheel, target, tables) in {Status.PASS, Status.WARN}:
                yield wheel


def same_release(version: Version, wheels: Iterable[Wheel]) -> Wheel | None:
    """Return the first of ``wheels`` in the series of ``version``, at exactly that version."""
    found = next((wheel for wheel in wheels if minor(wheel.version) == minor(version)), None)
    return Wheel(version, found.cuda, found.evidence) if found else None
