"""Whether some PEP 440 version fits several specifiers at once; versions are compared by :mod:`packaging` only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from packaging.specifiers import Specifier, SpecifierSet
from packaging.version import InvalidVersion, Version

HUGE = 10**15
"""A release number above any in use, calendar versions included."""


@lru_cache(maxsize=16384)
def is_satisfiable(specifiers: tuple[str, ...]) -> bool:
    """Return whether some version fits all specifier sets; True also where that cannot be settled."""
    combined = SpecifierSet(",".join(text for text in specifiers if text))
    if any(one.operator == "===" for one in combined):
        literals = {one.version for one in combined if one.operator == "==="}
        return len(literals) == 1
    try:
        return any(combined.contains(version, prereleases=True) for version in _candidates(combined))
    except InvalidVersion:
        return True


def _candidates(specifiers: SpecifierSet) -> Iterator[Version]:
    """Yield each version named, its neighbours on both sides, and the ends of the ``==1.2.*`` and ``~=`` ranges."""
    yield Version("0")
    for one in sorted(specifiers, key=str):
        named = Version(one.version.removesuffix(".*"))
        yield from _around(named)
        for end in _range_ends(one, named):
            yield from _around(end)


def _around(version: Version) -> Iterator[Version]:
    yield version
    public = version.public
    release = ".".join(map(str, version.release))
    epoch = f"{version.epoch}!" if version.epoch else ""
    nested = f"{epoch}{release}" + ".0" * 8
    suffixed = (f"{epoch}{release}{suffix}" for suffix in (".dev0", "a0", f"rc{HUGE}", ".post0", f".post{HUGE}"))
    texts = [public, f"{nested}.1.dev0", f"{nested}.1", *suffixed, *_steps(version), f"{public}+0", f"{public}+{HUGE}"]
    if version.local:
        texts += [f"{version}.0", f"{version}.{HUGE}"]
    if version.dev is None:
        texts += [f"{public}.dev0", f"{public}.dev{HUGE}"]
    if version.post is None and version.dev is None:
        texts += [f"{public}.post0", f"{public}.post0.dev0", f"{public}.post{HUGE}"]
    yield from map(Version, texts)


def _steps(version: Version) -> Iterator[str]:
    """Yield the releases right below: ``1.4.HUGE`` below ``1.5``, and the neighbours of a pre-, post- or dev-number."""
    epoch = f"{version.epoch}!" if version.epoch else ""
    release = list(version.release)
    while release:
        if release[-1] > 0:
            lower = [*release[:-1], release[-1] - 1, HUGE]
            yield epoch + ".".join(map(str, lower))
            yield epoch + ".".join(map(str, lower)) + f".post{HUGE}"
        release.pop()
    for number in re.finditer(r"(?<=[a-z])\d+", version.public):
        for step in (-1, 1):
            if int(number[0]) + step >= 0:
                yield version.public[: number.start()] + str(int(number[0]) + step) + version.public[number.end() :]


def _range_ends(one: Specifier, named: Version) -> Iterator[Version]:
    release = named.release[:-1] if one.operator == "~=" else named.release
    if one.operator == "~=" or one.version.endswith(".*"):
        epoch = f"{named.epoch}!" if named.epoch else ""
        yield Version(epoch + ".".join(map(str, [*release[:-1], release[-1] + 1])))
        yield Version(epoch + ".".join(map(str, release)))
