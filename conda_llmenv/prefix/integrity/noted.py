"""Is an environment what was noted when it was made? Its packages, by either tool, and what activation sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from packaging.utils import canonicalize_name, canonicalize_version

from conda_llmenv.errors import PrefixError
from conda_llmenv.plain_files import read_plain
from conda_llmenv.prefix.integrity.inventory import Inventory
from conda_llmenv.prefix.integrity.model import Finding, Owner, Package, Problem
from conda_llmenv.prefix.integrity.pip_records import distribution_of
from conda_llmenv.prefix.state import SPEC_FILE, STATE_FILE, read_spec, read_state
from conda_llmenv.prefix.unfinished import why_unfinished
from conda_llmenv.prefix.variables import STATE, read_variables
from conda_llmenv.redact import MASK, strip

ADDED, REMOVED = "it was added after the environment was made", "it was removed after the environment was made"


class _Conda(Struct):
    name: str
    version: str
    build: str = ""
    sha256: str | None = None
    md5: str | None = None


class _Pip(Struct):
    name: str
    version: str | None = None


class _Noted(Struct):
    """The parts of ``spec.json`` that say what was made; None where it does not say that."""

    conda: tuple[_Conda, ...] | None = None
    pip: tuple[_Pip, ...] | None = None
    variables: dict[str, str] | None = None


def unlike_noted(inventory: Inventory) -> Iterator[Finding]:
    """Yield what is not as it was noted, and notes of ours that are broken or gone.

    Of an environment that somebody else made nothing was noted, and there is nothing to yield.
    """
    prefix = inventory.prefix
    broken = tuple(_broken(prefix))
    yield from broken
    if broken:
        return
    why = why_unfinished(prefix)
    if why:
        yield Finding(Problem.UNFINISHED, str(STATE_FILE), (), why)
        return  # what was noted of it is not there yet, or is of the one that was there before
    if (prefix / STATE_FILE).exists() and not (prefix / SPEC_FILE).exists():
        yield Finding(Problem.MISSING, str(SPEC_FILE))
    noted = _read_noted(prefix)
    yield from _unlike_conda(noted.conda, inventory.packages)
    yield from _unlike_pip(noted.pip, inventory)
    yield from _unlike_variables(noted.variables, prefix)


def _broken(prefix: Path) -> Iterator[Finding]:
    """Yield each of the notes that cannot be read, or that is not there although the other one is."""
    readers: Mapping[Path, Callable[[Path], object]] = {
        STATE_FILE: read_state,
        SPEC_FILE: _read_noted,
        STATE: read_variables,
    }
    for path, read in readers.items():
        why = _why_unreadable(read, prefix)
        if why:
            yield Finding(Problem.ALTERED, str(path), (), why)
    if (prefix / SPEC_FILE).exists() and not (prefix / STATE_FILE).exists():
        yield Finding(Problem.MISSING, str(STATE_FILE))


def _why_unreadable(read: Callable[[Path], object], prefix: Path) -> str:
    try:
        read(prefix)
    except PrefixError as error:
        return error.message
    return ""


def _read_noted(prefix: Path) -> _Noted:
    """Return what was noted.

    Raises:
        PrefixError: the file is broken; the message names it.
    """
    try:
        return msgspec.convert(read_spec(prefix) or {}, type=_Noted)
    except msgspec.ValidationError as error:
        raise PrefixError(f"{prefix / SPEC_FILE} is broken: {error}") from error


def _unlike_conda(noted: tuple[_Conda, ...] | None, present: tuple[Package, ...]) -> Iterator[Finding]:
    if noted is None:
        return
    there, then = {one.name: one for one in present}, {one.name: one for one in noted}
    for name in sorted(then.keys() | there.keys()):
        before, now = then.get(name), there.get(name)
        if now is None and before is not None:
            owner = Owner("conda", name, before.version)
            path = f"conda-meta/{name}-{before.version}-{before.build}.json"
            yield Finding(Problem.DRIFTED, path, (owner,), REMOVED)
        elif now is not None:
            detail = ADDED if before is None else _exchanged(before, now)
            owner = Owner("conda", name, now.version)
            if detail:
                path = f"conda-meta/{name}-{now.version}-{now.build}.json"
                yield Finding(Problem.DRIFTED, path, (owner,), detail)


def _exchanged(before: _Conda, now: Package) -> str:
    """Return what is another package than was noted; nothing if it is the same one."""
    if (before.version, before.build or now.build) != (now.version, now.build):
        return f"it was {before.version} {before.build}, and is {now.version} {now.build}"
    known = {len(text): text for text in (before.sha256, before.md5) if text}
    then = known.get(len(now.checksum), now.checksum)
    return "" if then == now.checksum else "it is another package of that version and build"


def _unlike_pip(noted: tuple[_Pip, ...] | None, inventory: Inventory) -> Iterator[Finding]:
    """Compare distributions; one that a conda package has is nobody's addition, but may be in the place of pip's."""
    if noted is None:
        return
    then = {canonicalize_name(one.name): one.version for one in noted}
    every: dict[str, set[str]] = {}
    for path in inventory.entries:
        named = distribution_of(path)
        if named is None:
            continue
        name, version = canonicalize_name(named[0]), named[1]
        every.setdefault(name, set()).add(canonicalize_version(version))
        if name not in then and not inventory.from_conda(path) and not _is_condas(inventory.prefix, path):
            yield _pip_drift(name, version, ADDED)
    for name, wanted in then.items():
        found = every.get(name)
        if found is None:
            yield _pip_drift(name, wanted or "", REMOVED)
        elif wanted is not None and canonicalize_version(wanted) not in found:
            yield _pip_drift(name, wanted, f"it was {wanted}, and is {', '.join(sorted(found))}")


def _is_condas(prefix: Path, record: str) -> bool:
    """Return whether a distribution is what is left of a conda package whose record is gone, which is told as such."""
    installer = Path(prefix, record).with_name("INSTALLER")
    try:
        return read_plain(installer).strip() == b"conda"
    except OSError:
        return False


def _pip_drift(name: str, version: str, detail: str) -> Finding:
    return Finding(Problem.DRIFTED, str(SPEC_FILE), (Owner("pip", name, version),), detail)


def _unlike_variables(noted: Mapping[str, str] | None, prefix: Path) -> Iterator[Finding]:
    """Compare what activation sets; no value is told, and one that was noted without its secret is let be."""
    if noted is None:
        return
    now = read_variables(prefix)
    for name in sorted(noted.keys() | now.keys()):
        if name not in now:
            detail = f"{name} was taken away"
        elif name not in noted:
            detail = f"{name} was added"
        elif MASK in noted[name] or strip(now[name]) == strip(noted[name]):
            continue
        else:
            detail = f"{name} has another value"
        yield Finding(Problem.DRIFTED, str(STATE), (), detail)
