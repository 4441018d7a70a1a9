"""The one place that turns conda's failures into ours, by their classes and, where those are coarse, by their texts."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from conda import CondaError, CondaMultiError
from conda import exceptions as condas
from msgspec import Struct
from requests.exceptions import TooManyRedirects  # type: ignore[import-untyped]  # stubs for one name

from conda_llmenv.engines.conda.channel_faults import channel_fault
from conda_llmenv.engines.disk import DISK_FULL, UNWRITABLE, disk_failure
from conda_llmenv.engines.explain import conflict_lines, package_names
from conda_llmenv.engines.metadata import damaged_records
from conda_llmenv.errors import ChannelUnavailable, InputError, InstallFailed, LlmenvError, Unsatisfiable
from conda_llmenv.model import Channel, InstallRequest, SolveRequest
from conda_llmenv.redact import mask, strip

TAMPERED = "nothing of it was kept; if trying again does not help, tell the channel: it may have been tampered with"

EXTRACTED = 8
"""How many times bigger than its archive a package may be once extracted."""

BRIEF = 3
"""Lines of a failure that are shown without being cut."""

UNREACHABLE = (
    condas.CondaHTTPError,
    condas.UnavailableInvalidChannel,
    condas.ChannelNotAllowed,
    condas.CondaSSLError,
    condas.ProxyError,
    condas.OfflineError,
)
"""What conda raises about a channel, while solving."""


@contextlib.contextmanager
def solve_errors(request: SolveRequest) -> Iterator[None]:
    """Turn what a solve raises into :class:`Unsatisfiable`, :class:`ChannelUnavailable` or a disk's failure."""
    with _translated(lambda causes: _solve_failure(causes[0], request)):
        yield


@contextlib.contextmanager
def install_errors(request: InstallRequest) -> Iterator[None]:
    """Turn what an installation raises into :class:`InstallFailed` or one of its kinds."""
    with _translated(lambda causes: _install_failure(causes, request)):
        yield


@contextlib.contextmanager
def _translated(translate: Callable[[list[BaseException]], LlmenvError]) -> Iterator[None]:
    """Raise what ``translate`` makes of a failure, without the original: its texts may carry credentials.

    Signals and our own failures pass; conda wraps both.
    """
    try:
        yield
    except (LlmenvError, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - conda ends with SystemExit, and its solvers may panic
        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, KeyboardInterrupt):
                raise cause from None
            if isinstance(cause, condas.CondaSignalInterrupt):
                _signal_again(cause)
        ours = next((cause for cause in causes if isinstance(cause, LlmenvError)), None)
        raise ours or translate(causes) from None


def _causes(error: object) -> Iterator[BaseException]:
    """Yield the failures inside one of conda's, which may be lists of lists; the first is the reason."""
    if isinstance(error, CondaMultiError):
        found = [cause for inner in error.errors for cause in _causes(inner)]
        yield from found or [CondaError("conda's work was cancelled")]
    elif isinstance(error, (tuple, list)):
        for inner in error:
            yield from _causes(inner)
    elif isinstance(error, BaseException):
        yield error


def _signal_again(error: Any) -> None:
    """Let a signal that conda took for itself reach whoever listens for it here; its handlers are gone by now."""
    signal.raise_signal(error.dump_map()["signum"])
    raise KeyboardInterrupt from None


class Fault(Struct, frozen=True):
    """A failure as text, secrets masked.

    Attributes:
        lines: what it said, without blank lines.
        reason: what was behind it, in a line; empty for nothing.
        facts: what conda attached to it, such as ``url`` and ``status_code``.
    """

    lines: tuple[str, ...]
    reason: str
    facts: dict[str, Any]

    @classmethod
    def of(cls, error: BaseException) -> Fault:
        """Describe a failure of whichever class."""
        *_, last = _chain(error)
        lines = _lines(error) or (type(error).__name__,)
        reason = " ".join(_lines(last)) if last is not error else ""
        return cls(lines, reason, _facts(error))

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join((*self.lines, self.reason))

    @property
    def brief(self) -> tuple[str, ...]:
        """The first line of many, since the rest is advice, and what was behind it."""
        shown = self.lines if len(self.lines) <= BRIEF else self.lines[:1]
        return (*shown, *((self.reason,) if self.reason else ()))


def _lines(error: BaseException) -> tuple[str, ...]:
    stripped = (line.strip() for line in mask(str(error)).splitlines())
    return tuple(dict.fromkeys(line for line in stripped if line))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in seen:
        seen.append(following)
        yield following
        following = getattr(following, "_caused_by", None) or following.__cause__


def _facts(error: BaseException) -> dict[str, Any]:
    return dict(error.dump_map()) if isinstance(error, CondaError) else {}


# ---- solving


def _solve_failure(error: BaseException, request: SolveRequest) -> LlmenvError:
    fault = Fault.of(error)
    number = _os_error(error, fault)
    if number in DISK_FULL + UNWRITABLE:
        return disk_failure(number, "repodata", _path_of(error, fault) or request.repodata_cache or Path.cwd())
    for kind, build in SOLVE_KINDS:
        if isinstance(error, kind):
            return build(error, fault, request)
    if isinstance(error, CondaError):
        return LlmenvError(fault.lines[0], details=fault.lines[1:])
    return _channel_failure(error, fault, request)


def _pinned(_: BaseException, fault: Fault, __: SolveRequest) -> LlmenvError:
    """Describe a spec and a constraint that exclude each other."""
    requested, pinned = ({spec.name for spec in fault.facts[f"{kind}_specs"]} for kind in ("requested", "pinned"))
    return _conflict(sorted(requested & pinned), fault.lines, "")


def _unreadable(error: BaseException, fault: Fault, request: SolveRequest) -> LlmenvError:
    """Describe a spec that is none, or two for one package that have nothing in common."""
    if "Incompatible" in fault.text:
        return _conflict(_asked_for(fault.text, request), fault.lines, "")
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
    shown = ", ".join(name for name in names if not name.startswith("__")) or ", ".join(names)
    channels = ", ".join(mask(channel.name) for channel in request.channels)
    return Unsatisfiable(
        f"no channel has {shown}, or not in the version asked for",
        packages=names,
        details=(*(f"asked for  {mask(spec)}" for spec in specs), f"looked in  {channels}"),
        hint="check the spelling, or add the channel that has it",
    )


def _unsatisfiable(error: BaseException, fault: Fault, request: SolveRequest) -> Unsatisfiable:
    text = mask(str(error))
    missing = [name for name in re.findall(r"No candidates were found for (\S+)", text) if not name.startswith("__")]
    names = package_names(text) or _in_chains(error) or tuple(_asked_for(text, request))
    if missing:
        channels = ", ".join(mask(channel.name) for channel in request.channels)
        return Unsatisfiable(
            f"no channel has {', '.join(_unique(missing))}, or not in the version asked for",
            packages=names,
            details=(*conflict_lines(text), f"looked in  {channels}"),
            hint="check the spelling, or add the channel that has it",
        )
    hint = ""
    if request.channel_priority == "strict" and len(request.channels) > 1:
        hint = "with strict channel priority a package comes only from the first channel that has it at all"
    return _conflict(names, conflict_lines(text) or fault.lines, hint)


def _conflict(names: Iterable[str], lines: Iterable[str], hint: str) -> Unsatisfiable:
    names = tuple(names)
    return Unsatisfiable(
        "these requirements cannot all hold" + (f": {', '.join(names[:6])}" if names else ""),
        packages=names,
        details=lines,
        hint=hint,
    )


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
    found = channel_fault(fault.text, channel.url)
    if found is None:
        name = type(error).__name__
        return LlmenvError("conda's solver broke down", details=(f"{name}: {fault.lines[0]}", *fault.lines[1:]))
    shown = mask(channel.name)
    return ChannelUnavailable(
        f"channel {shown} {found.why}",
        channel=shown,
        details=(f"address  {mask(channel.url)}", *fault.brief),
        hint=found.hint,
    )


def _channel_of(error: BaseException, fault: Fault, request: SolveRequest) -> Channel:
    """Return the channel a failure is about: the one with the longest address in it, else the only or first one."""
    texts = [fault.text, *(str(fault.facts.get(key) or "") for key in ("url", "channel_url")), str(error)]
    text = strip("\n".join(texts)).rstrip("/") + "/"
    inside = [channel for channel in request.channels if re.search(rf"{re.escape(strip(channel.url))}(?=[/>\s])", text)]
    fallback = request.channels[0] if request.channels else Channel("(none)", "")
    return max(inside, key=lambda channel: len(channel.url), default=fallback)


SOLVE_KINDS: tuple[tuple[Any, Callable[[BaseException, Fault, SolveRequest], LlmenvError]], ...] = (
    ((condas.PackagesNotFoundError, condas.ResolvePackageNotFound), _not_found),
    (condas.UnsatisfiableError, _unsatisfiable),
    (condas.SpecsConfigurationConflictError, _pinned),
    (UNREACHABLE, _channel_failure),
    (ValueError, _unreadable),
)


# ---- installing


def _install_failure(causes: list[BaseException], request: InstallRequest) -> LlmenvError:
    """Describe the cause that says most: a full disk and a wrong hash explain the others, not they them."""
    full = next((cause for cause in causes if _os_error(cause, Fault.of(cause)) in DISK_FULL), None)
    different = next((cause for cause in causes if isinstance(cause, condas.ChecksumMismatchError)), None)
    error = full or different or causes[0]
    fault = Fault.of(error)
    number = _os_error(error, fault)
    if number in DISK_FULL + UNWRITABLE or (number and getattr(error, "filename", None)):
        needed = EXTRACTED * sum(record.size or 0 for record in request.records)
        return disk_failure(number, "the packages", _place(number, _path_of(error, fault), request), needed)
    if isinstance(error, condas.CorruptedEnvironmentError):
        return _bad_records(request)
    for kind, build in INSTALL_KINDS:
        if isinstance(error, kind):
            return build(fault)
    first, *rest = fault.lines
    return InstallFailed(
        first if isinstance(error, CondaError) else f"conda's installer broke down: {first}", details=rest
    )


def _place(number: int, path: Path | None, request: InstallRequest) -> Path:
    """Return the path of a disk's failure, or the one of the two folders it most likely is about."""
    folders = (request.prefix, request.package_cache)
    if path is not None and any(path.is_relative_to(folder) for folder in folders):
        return path
    existing = {folder: next(one for one in (folder, *folder.parents) if one.exists()) for folder in folders}
    if number in DISK_FULL:
        return min(folders, key=lambda folder: shutil.disk_usage(existing[folder]).free)
    return next((folder for folder in folders if not os.access(existing[folder], os.W_OK)), path or folders[0])


def _bad_records(request: InstallRequest) -> LlmenvError:
    return InstallFailed(
        f"{request.prefix} holds records that cannot be read, so what is installed there is not known",
        details=[str(path) for path in damaged_records(request.prefix)],
        hint="make the environment anew; its spec is in conda-meta/llmenv/spec.json if llmenv made it",
    )


def _different(fault: Fault) -> LlmenvError:
    kind, expected, found = (str(fault.facts[key]) for key in ("checksum_type", "expected_checksum", "actual_checksum"))
    file_name = _file_name(fault)
    if kind == "size":
        return InstallFailed(
            f"{file_name} did not arrive whole: {found} of {expected} bytes",
            hint="nothing of it was kept; check the network or the proxy and run the same command again",
        )
    url = mask(str(fault.facts["url"]))
    return InstallFailed(
        f"{file_name} is not the file its channel describes: its {kind} differs",
        details=(f"expected  {expected}", f"found     {found}", f"from      {url}"),
        hint=TAMPERED,
    )


DOWNLOAD_HINTS = (
    (r"HTTP 40[13]", "the channel wants other credentials for its packages: check the token or account"),
    (
        r"HTTP 407|find a proxy for|EOF when reading a line",
        "the proxy wants a login: put it into proxy_servers in .condarc, or into HTTPS_PROXY",
    ),
    (r"HTTP 429", "the server asks to slow down: wait a minute and run the same command again"),
    (r"HTTP 5\d\d", "the channel's server failed: try again later"),
    (r"redirects", "the server sends in circles; a network that wants a login first does this too"),
    (r"", "the channel lists a file it does not give; try again later, or solve anew with fresh repodata"),
)


def _download(fault: Fault) -> LlmenvError:
    file_name = _file_name(fault)
    if "HTTP 000" in fault.text or "[Errno" in fault.text:
        return InstallFailed(
            f"{file_name} cannot be downloaded: the channel's server is not reached",
            details=fault.brief,
            hint="check the network and HTTPS_PROXY and run the same command again; what has arrived is kept",
        )
    hint = next(hint for pattern, hint in DOWNLOAD_HINTS if re.search(pattern, fault.text))
    return InstallFailed(f"{file_name} cannot be downloaded", details=fault.brief, hint=hint)


def _offline(fault: Fault) -> LlmenvError:
    return InstallFailed("offline, and a package has to be downloaded", details=fault.brief)


def _script(fault: Fault) -> LlmenvError:
    return InstallFailed(
        fault.lines[0],
        details=fault.lines[1:],
        hint="the package's own script failed; nothing of the environment is kept",
    )


def _corrupt(_: Fault) -> LlmenvError:
    return InstallFailed(
        "a package cannot be extracted: its archive has no index.json",
        hint="tell the channel; `conda clean --tarballs` removes what was downloaded",
    )


INSTALL_KINDS: tuple[tuple[Any, Callable[[Fault], LlmenvError]], ...] = (
    (condas.ChecksumMismatchError, _different),
    (
        (condas.CondaHTTPError, condas.ProxyError, TooManyRedirects, ConnectionError, TimeoutError, EOFError),
        _download,  # EOFError: the answer to conda's question for the proxy's password
    ),
    (condas.OfflineError, _offline),
    (condas.LinkError, _script),
    (SystemExit, _corrupt),
)


def _file_name(fault: Fault) -> str:
    return str(fault.facts.get("url") or "a package").rpartition("/")[2]


# ---- reading failures


def _os_error(error: BaseException, fault: Fault) -> int:
    """Return the error number of the operating system behind a failure, 0 for none."""
    if isinstance(error, condas.NoSpaceLeftError):
        return DISK_FULL[0]
    for one in _chain(error):
        if isinstance(one, OSError) and isinstance(one.errno, int):
            return one.errno
    noted = fault.facts.get("errno")
    if isinstance(noted, int):
        return noted
    match = re.search(r"(?:os error |\[Errno )(\d+)", fault.text)
    return int(match[1]) if match else 0


def _path_of(error: BaseException, fault: Fault) -> Path | None:
    found = getattr(error, "filename", None) or fault.facts.get("path") or fault.facts.get("target_path")
    return Path(str(found)) if found else None
