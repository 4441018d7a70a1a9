"""Whether a lock still is what the layers ask for, and if not, why; no channel is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from conda_llmenv.compose.input_hash import input_hash
from conda_llmenv.model import EnvSpec, Lock, LockedPlatform, PipKind, PipRequirement
from conda_llmenv.redact import mask, strip


def changes(spec: EnvSpec, lock: Lock) -> tuple[str, ...]:
    """Return, in sentences, what is asked for otherwise than when the lock was written; empty if nothing is.

    A lock of another tool does not say what was asked for, and nothing is said about it.
    """
    if not lock.input_hash or lock.input_hash == input_hash(spec):
        return ()
    asked = tuple(strip(text) for merged in spec.specs for text in merged.texts)
    found = [
        *(f"{text} is asked for now" for text in asked if text not in lock.specs),
        *(f"{text} is no longer asked for" for text in lock.specs if text not in asked),
        *_channel_changes(spec, lock),
    ]
    return tuple(found) or ("the pip section, variables, included files or settings have changed",)


def pip_misfits(requirements: Iterable[PipRequirement], platform: LockedPlatform) -> Iterator[str]:
    """Yield, in sentences, what the pip section asks for and the lock does not have."""
    from packaging.specifiers import SpecifierSet
    from packaging.utils import canonicalize_name

    locked = {package.name: package for package in platform.pip}
    for requirement in requirements:
        if requirement.name is None or requirement.kind is not PipKind.NAMED:
            continue
        package = locked.get(canonicalize_name(requirement.name))
        where = f"{mask(requirement.text)} ({requirement.origin.where})"
        if package is None:
            yield f"{where} is not in the lock"
        elif package.version and not SpecifierSet(requirement.specifier or "").contains(
            package.version, prereleases=True
        ):
            yield f"{where} is not what is locked: {package.version}"


def _channel_changes(spec: EnvSpec, lock: Lock) -> Iterator[str]:
    now, then = _names(channel.name for channel in spec.channels), _names(channel.name for channel in lock.channels)
    if then and now and now != then[: len(now)]:
        yield f"channels are {' > '.join(now)} now, and were {' > '.join(then)}"


def _names(names: Iterable[str]) -> Sequence[str]:
    return [strip(name) for name in names]
