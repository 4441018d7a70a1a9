"""The one place that turns what a solve of conda's raises into our failures."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from conda import CondaError
from conda import exceptions as condas

from conda_llmenv.engines.conda.channel_faults import CHANNEL_RULES
from conda_llmenv.engines.conda.faults import Fault, os_error, path_of, translated
from conda_llmenv.engines.conda.repodata import unreadable
from conda_llmenv.engines.disk import DISK_FULL, UNWRITABLE, disk_failure
from conda_llmenv.engines.explain import conflict_lines, package_names
from conda_llmenv.engines.unavailable import kind_of_fault, unavailable
from conda_llmenv.engines.unsatisfiable import contradiction, not_found, strict_hint
from conda_llmenv.errors import InputError, LlmenvError, Unsatisfiable
from conda_llmenv.model import Channel, SolveRequest
from conda_llmenv.redact import mask, strip

UNREACHABLE = (
    condas.CondaHTTPError,
    condas.UnavailableInvalidChannel,
    condas.ChannelNotAllowed,
    condas.CondaSSLError,
    condas.ProxyError,
    condas.OfflineError,
)
"""What conda raises about a channel."""


@contextlib.contextmanager
def solve_errors(request: SolveRequest) -> Iterator[None]:
    """Turn what a solve raises into :class:`Unsatisfiable`, :class:`ChannelUnavailable` or a disk's failure."""
    with translated(lambda causes: _solve_failure(causes[0], request)):
        yield


def _solve_failure(error: BaseException, request: SolveRequest) -> LlmenvError:
    fault = Fault.of(error)
    number = os_error(error, fault)
    if number in DISK_FULL + UNWRITABLE:
        return disk_failure(number, "repodata", path_of(error, fault) or request.repodata_cache or Path.cwd())
    for kind, build in SOLVE_KINDS:
        if isinstance(error, kind):
            return build(error, fault, request)
    if isinstance(error, CondaError):
        return LlmenvError(fault.lines[0], details=fault.lines[1:])
    return _channel_failure(error, fault, request)


def _pinned(_: BaseException, fault: Fault, __: SolveRequest) -> LlmenvError:
    """Describe a spec and a constraint that exclude each other."""
    requested, pinned = ({spec.name for spec in fault.facts[f"{kind}_specs"]} for kind in ("requested", "pinned"))
    return contradiction(sorted(requested & pinned), fault.lines)


def _unreadable(error: BaseException, fault: Fault, request: SolveRequest) -> LlmenvError:
    """Describe a spec that is none, or two for one package that have nothing in common."""
    if "Incompatible" in fault.text:
        return contradiction(_asked_for(fault.text, request), fault.lines)
    if isinstance(error, condas.InvalidSpec):
        return InputError(f"a package specification cannot be read: {fault.lines[0]}", details=fault.lines[1:])
    if isinstance(error, CondaError):
        return LlmenvError(fault.lines[0], details=fault.lines[1:], hint=_solver_hint(fault))
    return _channel_failure(error, fault, request)


def _solver_hint(fault: Fault) -> str:
    if "solver backend" not in fault.text:
        return ""
    return "install that solver beside conda, or choose one that is there: `conda config --set solver NAME`"


def _not_found(error: BaseException, fault: Fault, request: SolveRequest) -> Unsatisfiable:
    specs = [str(spec) for spec in (*getattr(error, "packages", ()), *getattr(error, "bad_deps", ()))]
    names = _unique(_name(spec) for spec in specs) or _asked_for(fault.text, request)
    shown = [name for name in names if not name.startswith("__")] or names
    return not_found(shown, names, (f"asked for  {mask(spec)}" for spec in specs), request)


def _unsatisfiable(error: BaseException, fault: Fault, request: SolveRequest) -> Unsatisfiable:
    text = mask(str(error))
    missing = [name for name in re.findall(r"No candidates were found for (\S+)", text) if not name.startswith("__")]
    names = package_names(text) or _in_chains(error) or tuple(_asked_for(text, request))
    if missing:
        return not_found(missing, names, conflict_lines(text), request)
    return contradiction(names, conflict_lines(text) or fault.lines, strict_hint(request))


def _in_chains(error: Any) -> tuple[str, ...]:
    """Return the packages in the chains that conda's classic solver keeps with its explanation."""
    chains = getattr(error, "unsatisfiable", ()) or ()
    return tuple(_unique(_name(str(spec)) for chain in chains for spec in chain))


def _asked_for(text: str, request: SolveRequest) -> list[str]:
    """Return the request's packages that a text mentions."""
    names = _unique(_name(spec) for spec in (*request.specs, *request.constraints))
    return [name for name in names if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text)]


def _name(spec: str) -> str:
    """Return the package a MatchSpec names."""
    match = re.match(r"[A-Za-z0-9_.-]+", spec.rpartition("::")[2].strip())
    return match[0].lower() if match else spec


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _channel_failure(error: BaseException, fault: Fault, request: SolveRequest) -> LlmenvError:
    channel = _channel_of(error, fault, request)
    name = type(error).__name__
    text = f"{name}: {fault.text}"
    kind = kind_of_fault(text, CHANNEL_RULES)
    if kind is None:
        return LlmenvError("conda's solver broke down", details=(f"{name}: {fault.lines[0]}", *fault.lines[1:]))
    return unavailable(kind, channel, text, fault.brief)


def _channel_of(error: BaseException, fault: Fault, request: SolveRequest) -> Channel:
    """Return the channel a failure is about: with the longest address in it, else a damaged one, else the first."""
    texts = [fault.text, *(str(fault.facts.get(key) or "") for key in ("url", "channel_url")), str(error)]
    text = strip("\n".join(texts)).rstrip("/") + "/"
    inside = [channel for channel in request.channels if re.search(rf"{re.escape(strip(channel.url))}(?=[/>\s])", text)]
    if inside:
        return max(inside, key=lambda channel: len(channel.url))
    first = request.channels[0] if request.channels else Channel("(none)", "")
    return first if isinstance(error, CondaError) else unreadable(request) or first


SOLVE_KINDS: tuple[tuple[Any, Callable[[BaseException, Fault, SolveRequest], LlmenvError]], ...] = (
    ((condas.PackagesNotFoundError, condas.ResolvePackageNotFound), _not_found),
    (condas.UnsatisfiableError, _unsatisfiable),
    (condas.SpecsConfigurationConflictError, _pinned),
    (UNREACHABLE, _channel_failure),
    (ValueError, _unreadable),
)
