"""The one place that turns the library's failures into ours: tables of patterns, the most specific first."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct
from rattler.exceptions import (
    GatewayError,
    InstallerError,
    InvalidMatchSpecError,
    IoError,
    SolverError,
)

from conda_llmenv.engines.disk import DISK_FULL, UNWRITABLE, disk_failure
from conda_llmenv.engines.explain import conflict_lines, package_names
from conda_llmenv.engines.metadata import damaged_records
from conda_llmenv.engines.package_cache import EXTRACTED, TAMPERED
from conda_llmenv.errors import ChannelUnavailable, InputError, InstallFailed, LlmenvError, Unsatisfiable
from conda_llmenv.model import Channel, InstallRequest, SolveRequest
from conda_llmenv.redact import mask, strip

ANACONDA = "https://conda.anaconda.org"
"""The host that carries labels."""


class Fault(Struct, frozen=True):
    """A failure of the library as text.

    Attributes:
        text: everything it said, one cause a line, secrets masked.
        package: the package it was about, such as ``numpy-2.2.6-py311_0.conda``; may be empty.
        url: the address it was about, secrets masked; may be empty.
        prefix, cache: where an installation works; None while solving.
    """

    text: str
    package: str = ""
    url: str = ""
    prefix: Path | None = None
    cache: Path | None = None

    @property
    def causes(self) -> tuple[str, ...]:
        """Its lines without the library's preamble."""
        lines = (line.removeprefix("Caused by: ").strip() for line in self.text.splitlines())
        return tuple(dict.fromkeys(line for line in lines if line and "package cache layer" not in line))


class DamagedDownload(InstallFailed):
    """A package arrived cut short or changed, each time it was tried; ``file_name`` is the one."""

    file_name = ""


@contextlib.contextmanager
def solve_errors(request: SolveRequest) -> Iterator[None]:
    """Turn what a solve raises into :class:`Unsatisfiable`, :class:`ChannelUnavailable` or a disk's failure."""
    try:
        yield
    except SolverError as error:
        raise _unsatisfiable(_masked(error), request) from error
    except (GatewayError, IoError) as error:
        raise _channel_failure(_masked(error), request) from error
    except InvalidMatchSpecError as error:
        raise InputError(f"a package specification cannot be read: {_masked(error)}") from error
    except OSError as error:
        raise disk_failure(
            error.errno or 0, "repodata", _path_of(error) or request.repodata_cache or Path.cwd()
        ) from error
    except BaseException as error:
        if _is_panic(error):
            raise Unsatisfiable("the solver broke down", details=_masked(error).splitlines()) from error
        raise


@contextlib.contextmanager
def install_errors(request: InstallRequest) -> Iterator[None]:
    """Turn what an installation raises into :class:`InstallFailed` or one of its kinds."""
    try:
        yield
    except InstallerError as error:
        raise _install_failure(_masked(error), request) from error
    except OSError as error:
        raise disk_failure(error.errno or 0, "packages", _path_of(error) or request.package_cache) from error
    except BaseException as error:
        if _is_panic(error):
            raise InstallFailed("the installer broke down", details=_masked(error).splitlines()) from error
        raise


def _masked(error: BaseException) -> str:
    """Return the text of an error without secrets, and take them from the error too: a traceback prints it as cause."""
    text = mask(str(error))
    error.args = (text,)
    return text


def _is_panic(error: BaseException) -> bool:
    """Return whether this is a failed assertion inside the library, which is no ``Exception``."""
    return type(error).__name__ == "PanicException"


def _path_of(error: OSError) -> Path | None:
    return Path(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else None


# ---- solving


def _unsatisfiable(text: str, request: SolveRequest) -> Unsatisfiable:
    names = package_names(text)
    hint = ""
    missing = [name for name in re.findall(r"No candidates were found for (\S+)", text) if not name.startswith("__")]
    if missing:
        channels = ", ".join(mask(channel.name) for channel in request.channels)
        return Unsatisfiable(
            f"no channel has {', '.join(dict.fromkeys(missing))}, or not in the version asked for",
            packages=names,
            details=(*conflict_lines(text), f"looked in  {channels}"),
            hint="check the spelling, or add the channel that has it",
        )
    if request.channel_priority == "strict" and len(request.channels) > 1:
        hint = "with strict channel priority a package comes only from the first channel that has it at all"
    return Unsatisfiable(
        "these requirements cannot all hold" + (f": {', '.join(names[:6])}" if names else ""),
        packages=names,
        details=conflict_lines(text),
        hint=hint,
    )


def _channel_failure(text: str, request: SolveRequest) -> LlmenvError:
    fault = Fault(text, url=_url_in(text))
    cache, path = request.repodata_cache, _path_in(text)
    number = _os_error(text)
    if number in DISK_FULL or (number in UNWRITABLE and cache and path and path.is_relative_to(cache)):
        return disk_failure(number, "repodata", path or cache or Path.cwd())
    channel = _channel_of(text, request)
    why, hint = next((rule.why, rule.hint) for rule in CHANNEL_RULES if rule.pattern.search(text))
    if _lacks_label(channel, text):
        name = channel.url[_label_start(channel.url) :]
        hint = f"mirrors do not carry labels; name the original instead: {ANACONDA}/{mask(name)}"
    shown, address = mask(channel.name), mask(channel.url)
    return ChannelUnavailable(
        f"channel {shown} {why}",
        channel=shown,
        details=(f"address  {address}", *fault.causes),
        hint=hint,
    )


def _lacks_label(channel: Channel, text: str) -> bool:
    away = not channel.url.startswith(ANACONDA)
    return away and "/label/" in channel.url and ("404" in text or "No such file" in text)


def _label_start(url: str) -> int:
    """Return where ``owner/label/name`` begins."""
    return url.rindex("/", 0, url.index("/label/")) + 1


class _ChannelRule(Struct, frozen=True):
    pattern: re.Pattern[str]
    why: str
    hint: str


CHANNEL_RULES = tuple(
    _ChannelRule(re.compile(pattern), why, hint)
    for pattern, why, hint in (
        (r"no usable repodata cache|not in the cache|not cached",
         "is not in the repodata cache, and this run is offline",
         "run once without --offline"),
        (r"\b401\b", "wants credentials and got none it accepts",
         "put them into the channel's URL in .condarc, or log in with `rattler auth login`"),
        (r"\b403\b", "refuses access", "check the token or account, and whether this network may use the channel"),
        (r"\b407\b|proxy authorization required", "cannot be reached: the proxy wants a login",
         "put it into the proxy's address: proxy_servers in .condarc, or HTTPS_PROXY"),
        (r"too many redirects", "sends in circles: one redirect leads to the next",
         "check its address; a network that wants a login first does this too"),
        (r"\b404\b", "does not exist at its address", "check the spelling, and `channel_alias` or mirrors in .condarc"),
        (r"\b429\b", "asks to slow down", "wait a minute and try again"),
        (r"\b5\d\d\b \S+ ?\S* for|server error", "is broken at the moment: its server failed", "try again later"),
        (r"Connection refused", "cannot be reached: nothing answers at its address",
         "check the address, the proxy (HTTPS_PROXY) and the network; with a warm cache --offline works"),
        (r"Network is unreachable|No route to host|Network is down",
         "cannot be reached: there is no way to it from here",
         "check the network; with a warm cache --offline works"),
        (r"dns error|resolving DNS|lookup address", "cannot be reached: its host name is unknown",
         "check the address and the network; behind a proxy set HTTPS_PROXY"),
        (r"certificate|UnknownIssuer|tls|TLS", "cannot be trusted: its certificate is not known here",
         "name your site's authority with ssl_verify in .condarc, or SSL_CERT_FILE"),
        (r"timed out|timeout", "does not answer in time", "try again; behind a proxy set HTTPS_PROXY"),
        (r"Permission denied", "may not be read by you", "ask its owner for read permission"),
        (r"could not find subdir|No such file", "is not there: no repodata.json in its folders",
         "check the path; a channel has a noarch folder with repodata.json"),
        (r"parse|invalid|expected|EOF while|missing field", "has repodata that cannot be read",
         "it is cut short or damaged: try again; for a folder of your own, index it again"),
        (r"error sending request|error decoding response|end of file|connection", "broke off while it was read",
         "try again"),
        (r"", "cannot be read", ""),
    )
)  # fmt: skip


def _channel_of(text: str, request: SolveRequest) -> Channel:
    """Return the channel the text is about: the one with the longest address in it, else the only or first one."""
    fallback = request.channels[0] if request.channels else Channel("(none)", "")
    inside = [channel for channel in request.channels if f"{strip(channel.url)}/" in text]
    return max(inside, key=lambda channel: len(channel.url), default=fallback)


# ---- installing


def _install_failure(text: str, request: InstallRequest) -> LlmenvError:
    package = match[1] if (match := re.search(r"failed to (?:fetch|link|unlink) (\S+)", text)) else ""
    fault = Fault(text, package, _url_in(text), request.prefix, request.package_cache)
    number = _os_error(text)
    if number in DISK_FULL + UNWRITABLE:
        folder = request.package_cache if "failed to fetch" in text or "cache" in text else request.prefix
        path = _path_in(text) or folder
        where = folder if path.is_relative_to(folder) else path
        return disk_failure(
            number, package or "the packages", where, EXTRACTED * sum(one.size or 0 for one in request.records)
        )
    return next(build(fault) for pattern, build in INSTALL_RULES if re.search(pattern, text))


def _different(fault: Fault) -> LlmenvError:
    expected, actual = (
        re.search(rf"{word}\W+([0-9a-f]{{32,64}})", fault.text) for word in ("expected", "(?:actual|got)")
    )
    return InstallFailed(
        f"{fault.package} is not the file its channel describes: its hash differs",
        details=(
            f"expected  {expected[1] if expected else 'unknown'}",
            f"found     {actual[1] if actual else 'unknown'}",
            *((f"from      {fault.url}",) if fault.url else ()),
        ),
        hint=TAMPERED,
    )


STATUS_HINTS = (
    (r"\(40[13] ", "the channel wants other credentials for its packages: check the token or account"),
    (r"\(407 ", "the proxy wants a login: put it into proxy_servers in .condarc, or into HTTPS_PROXY"),
    (r"\(429 ", "the server asks to slow down: wait a minute and run the same command again"),
    (r"\(5\d\d ", "the channel's server failed: try again later"),
    (r"too many redirects", "the server sends in circles; a network that wants a login first does this too"),
    (r"", "the channel lists a file it does not give; try again later, or solve anew with fresh repodata"),
)


def _status(fault: Fault) -> LlmenvError:
    hint = next(hint for pattern, hint in STATUS_HINTS if re.search(pattern, fault.text))
    return InstallFailed(f"{fault.package} cannot be downloaded", details=fault.causes[1:], hint=hint)


def _damaged(fault: Fault) -> LlmenvError:
    error = DamagedDownload(
        f"{fault.package} did not arrive whole, and trying again did not help",
        details=fault.causes[1:],
        hint="nothing of it was kept; check the network or the proxy and run the same command again",
    )
    error.file_name = fault.package
    return error


def _unreachable(fault: Fault) -> LlmenvError:
    return InstallFailed(
        f"{fault.package} cannot be downloaded: the channel's server is not reached",
        details=fault.causes[1:],
        hint="check the network and HTTPS_PROXY and run the same command again; what has arrived is kept",
    )


def _bad_records(fault: Fault) -> LlmenvError:
    files = damaged_records(fault.prefix) if fault.prefix is not None else ()
    return InstallFailed(
        f"{fault.prefix} holds records that cannot be read, so what is installed there is not known",
        details=[str(path) for path in files] or fault.causes,
        hint="make the environment anew; its spec is in conda-meta/llmenv/spec.json if llmenv made it",
    )


def _prefix_unusable(fault: Fault) -> LlmenvError:
    return InstallFailed(f"{fault.prefix} cannot become an environment", details=fault.causes[1:])


def _other(fault: Fault) -> LlmenvError:
    first, *rest = fault.causes or ("the installation failed",)
    return InstallFailed(first, details=rest)


INSTALL_RULES: tuple[tuple[str, Callable[[Fault], LlmenvError]], ...] = (
    (r"hash mismatch", _different),
    (r"HTTP status|too many redirects", _status),
    (r"currently installed packages", _bad_records),
    (r"failed to create the prefix", _prefix_unusable),
    (
        r"Invalid checksum|end of file|EOF|error decoding|zip archive|unexpected end|corrupt|Invalid local file",
        _damaged,
    ),
    (r"error sending request|dns error|unreachable|Connection refused|timed out", _unreachable),
    (r"", _other),
)


# ---- reading texts


def _os_error(text: str) -> int:
    match = re.search(r"os error (\d+)", text)
    return int(match[1]) if match else 0


def _url_in(text: str) -> str:
    match = re.search(r"(?:https?|file)://[^\s'\")]+", text)
    return match[0] if match else ""


def _path_in(text: str) -> Path | None:
    match = re.search(r"[`'\"](/[^`'\"]+)[`'\"]", text)
    return Path(match[1]) if match else None
