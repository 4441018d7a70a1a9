"""Whether records hold what specs ask for, by the library's own rules and without any metadata of a channel; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import rattler

from conda_llmenv.engines.rattler.compat import build_string
from conda_llmenv.model import Record, VirtualPackage

NO_ARCH = "noarch"


class Installed:
    """What is locked or installed, and what the machine offers, ready to be asked.

    Args:
        records: conda packages.
        virtual: virtual packages of the machine.
    """

    def __init__(self, records: Iterable[Record], virtual: Iterable[VirtualPackage] = ()) -> None:
        self.records = tuple(records)
        offered = (Record(one.name, one.version, one.build, 0, NO_ARCH, "", "", "") for one in virtual)
        self._found: Mapping[str, Any] = {record.name: _package(record) for record in (*self.records, *offered)}

    def missing(self, specs: Sequence[str]) -> tuple[str, ...]:
        """Return the specs that nothing here matches."""
        return tuple(text for text in specs if not self.satisfies(text))

    def unmet(self) -> Iterator[tuple[Record, str]]:
        """Yield each record with a dependency of its that nothing here matches."""
        for record in self.records:
            for text in record.depends:
                if not self.satisfies(text):
                    yield record, text

    def contradicted(self) -> Iterator[tuple[Record, str]]:
        """Yield each record with a constraint of its that a package here does not keep."""
        for record in self.records:
            for text in record.constrains:
                spec = rattler.MatchSpec(text, strict=False)
                package = self._found.get(_name(spec))
                if package is not None and not spec.matches(package):
                    yield record, text

    def satisfies(self, text: str) -> bool:
        """Return whether something here matches a spec; the channel a spec names is not looked at."""
        spec = rattler.MatchSpec(text, strict=False)
        package = self._found.get(_name(spec))
        return package is not None and bool(spec.matches(package))


def _name(spec: Any) -> str:
    return str(spec.name.normalized)


def _package(record: Record) -> Any:
    return rattler.PackageRecord(
        name=record.name,
        version=record.version,
        build=build_string(record.build),
        build_number=record.build_number,
        subdir=record.subdir or NO_ARCH,
    )
