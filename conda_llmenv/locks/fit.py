"""Whether a lock still is what the layers ask for, and if not, why; no channel is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from conda_llmenv.compose.input_hash import input_hash
from conda_llmenv.locks.fields import same_channel, specs_by_package
from conda_llmenv.locks.options import portable
from conda_llmenv.model import EnvSpec, Lock, Origin, PipOption
from conda_llmenv.redact import holds_secret, mask_variable, strip

_SET_ANYWAY = frozenset({"PYTHONNOUSERSITE"})
"""Variables that every environment of ours sets, whether a layer says so or not."""

_USUAL = frozenset({"--index-url https://pypi.org/simple"})
"""Option lines that some formats need and that say what holds anyway."""


def changes(spec: EnvSpec, lock: Lock) -> tuple[str, ...]:
    """Return, in sentences, what is asked for otherwise than when the lock was written; empty if nothing is.

    A lock of another tool does not say what was asked for, and nothing is said about it.
    """
    if not lock.input_hash or lock.input_hash == input_hash(spec):
        return ()
    found = (
        *_spec_changes(spec, lock),
        *_channel_changes(spec, lock),
        *_option_changes(spec.pip.options, lock.pip_options),
        *_variable_changes(spec, lock),
    )
    return found or ("the pip section, an included file or a setting has changed",)


def _spec_changes(spec: EnvSpec, lock: Lock) -> Iterator[str]:
    then = specs_by_package(lock.specs)
    for merged in spec.specs:
        now = sorted(map(strip, merged.texts))
        before = then.pop(merged.name, None)
        if before == now:
            continue
        text = f"{' and '.join(now)} is asked for now{_places(part.origin for part in merged.parts)}"
        yield f"{text}, and {' and '.join(before)} was" if before else text
    for texts in then.values():
        yield f"{' and '.join(texts)} is no longer asked for"


def _channel_changes(spec: EnvSpec, lock: Lock) -> Iterator[str]:
    now, then = [channel.name for channel in spec.channels], [channel.name for channel in lock.channels]
    if then and now and not (len(now) <= len(then) and all(map(same_channel, now, then))):
        places = _places(channel.origins[0] for channel in spec.channels if channel.origins)
        yield f"channels are {_order(now)} now{places}, and were {_order(then)}"
    if spec.nodefaults is not None and not lock.nodefaults:
        yield f"nodefaults is asked for now{_places([spec.nodefaults])}"
    if spec.nodefaults is None and lock.nodefaults:
        yield "nodefaults is no longer asked for"


def _option_changes(options: Sequence[PipOption], then: Iterable[str]) -> Iterator[str]:
    """Tell of option lines; paths are left out, as they are others on each machine."""
    now = {strip(option.text): option for option in options if not option.written}
    before = portable(then)
    for text, option in now.items():
        if text not in before and text not in _USUAL:
            yield f"{text} is asked for now{_places([option.origin])}"
    for text in before:
        if text not in now and text not in _USUAL:
            yield f"{text} is no longer asked for"
    kept = [text for text in now if text in before]
    if kept != [text for text in before if text in now]:
        yield f"option lines stand in another order now{_places(now[text].origin for text in kept)}"


def _variable_changes(spec: EnvSpec, lock: Lock) -> Iterator[str]:
    """Tell of variables; a lock leaves out secrets."""
    now = {one.name: one for one in spec.variables if one.value is not None}
    for name, variable in now.items():
        before = lock.variables.get(name)
        if variable.value != before and not (variable.value and holds_secret(name, variable.value)):
            was = f"was {mask_variable(name, before)}" if before is not None else "was not set"
            yield f"{name} is {variable.value} now{_places([variable.origin])}, and {was}"
    for name, value in lock.variables.items():
        unset = next((one for one in spec.variables if one.name == name and one.value is None), None)
        if name not in now and not holds_secret(name, value) and (unset or name not in _SET_ANYWAY):
            yield f"{name} is no longer set{_places([unset.origin] if unset else [])}"


def _order(names: Iterable[str]) -> str:
    return " > ".join(map(strip, names))


def _places(origins: Iterable[Origin]) -> str:
    """Return `` (file:line, …)`` with each place once; empty where there is none."""
    places = dict.fromkeys(origin.where for origin in origins if origin.where)
    return f" ({', '.join(places)})" if places else ""
