"""Which Python distributions a conda solution brings, so that pip neither installs them again nor contradicts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from msgspec import Struct
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from conda_llmenv.compose.ownership import installed_names
from conda_llmenv.locks.distribution_files import is_version
from conda_llmenv.model import Notice, PipKind, PipRequirement, PipSection, Record

_PURL = "pkg:pypi/"


def provided_distributions(records: Iterable[Record]) -> dict[str, str]:
    """Return what the records install for Python: normalised distribution name → version.

    A record's own package URLs decide where the channel gives them. Otherwise a record counts that is ``noarch:
    python`` or depends on Python (so a C library such as zstd or openmpi never stands for the PyPI project of its
    name), under the names of the table for packages called differently. Versions that are not PEP 440 are left out.
    """
    found: dict[str, str] = {}
    for record in records:
        for name, version in _distributions(record):
            if is_version(version):
                found.setdefault(name, version)
    return dict(sorted(found.items()))


def _distributions(record: Record) -> Iterator[tuple[str, str]]:
    purls = [purl for purl in record.purls if purl.startswith(_PURL)]
    if purls:
        for purl in purls:
            yield _from_purl(purl, record.version)
        return
    if is_python_package(record):
        for name in installed_names(record.name):
            yield name, record.version


def _from_purl(purl: str, version: str) -> tuple[str, str]:
    name, _, stated = purl.removeprefix(_PURL).partition("?")[0].partition("#")[0].partition("@")
    return canonicalize_name(unquote(name)), unquote(stated) or version


def is_python_package(record: Record) -> bool:
    """Whether a record puts files into ``site-packages``, judged by its metadata."""
    depends = {spec.split()[0].split("::")[-1].split("=")[0] for spec in record.depends if spec.split()}
    return (
        record.noarch == "python"
        or record.python_site_packages_path is not None
        or bool(depends & {"python", "python_abi"})
    )


class Overlap(Struct, frozen=True):
    """A distribution that the pip section asks for and conda brings too.

    Attributes:
        fits: whether conda's version is what pip's requirement asks for; if not, only overwriting it would do.
    """

    requirement: PipRequirement
    version: str
    fits: bool

    def notice(self) -> Notice:
        """Return the sentence for a person."""
        one, name = self.requirement, self.requirement.name
        if self.fits:
            return Notice(
                "pip-already-provided",
                f"{one.origin}: {one.text} is met by conda's {name} {self.version}; pip installs nothing for it",
                (one.origin,),
            )
        return Notice(
            "pip-overwrites-conda",
            f"{one.origin}: {one.text} overwrites conda's {name} {self.version}, which conda packages were solved with",
            (one.origin,),
            hint=f"ask conda for that version instead: add {name} to the conda dependencies",
        )


def overlaps(section: PipSection, provided: Mapping[str, str]) -> tuple[Overlap, ...]:
    """Return every requirement of a section for something that conda brings, in the section's order."""
    shared = [one for one in section.requirements if one.name in provided]
    return tuple(Overlap(one, provided[one.name], _fits(one, provided[one.name])) for one in shared if one.name)


def _fits(requirement: PipRequirement, version: str) -> bool:
    return requirement.kind is PipKind.NAMED and SpecifierSet(requirement.specifier).contains(version, prereleases=True)


def kept(section: PipSection, provided: Mapping[str, str]) -> tuple[dict[str, str], tuple[Notice, ...]]:
    """Return what stays conda's, and the notices about what does not.

    A line of the pip section that conda's version cannot meet was written on purpose: pip then owns that distribution,
    with a warning that it overwrites conda's.
    """
    found = overlaps(section, provided)
    lost = {one.requirement.name for one in found if not one.fits}
    return {name: version for name, version in provided.items() if name not in lost}, tuple(
        one.notice() for one in found
    )
