"""The library's failures to solve as ours: a table of patterns for channels, the most specific first."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from rattler.exceptions import GatewayError, InvalidMatchSpecError, IoError, SolverError

from conda_llmenv.engines.disk import DISK_FULL, UNWRITABLE, disk_failure
from conda_llmenv.engines.explain import conflict_lines, package_names
from conda_llmenv.engines.rattler.faults import Fault, is_panic, masked, os_error, path_in, path_of, url_in
from conda_llmenv.errors import ChannelUnavailable, InputError, LlmenvError, Unsatisfiable
from conda_llmenv.model import Channel, SolveRequest
from conda_llmenv.redact import mask, strip

ANACONDA = "https://conda.anaconda.org"
"""The host that carries labels."""


@contextlib.contextmanager
def solve_errors(request: SolveRequest) -> Iterator[None]:
    """Turn what a solve raises into :class:`Unsatisfiable`, :class:`ChannelUnavailable` or a disk's failure."""
    try:
        yield
    except SolverError as error:
        raise _unsatisfiable(masked(error), request) from error
    except (GatewayError, IoError) as error:
        raise _channel_failure(masked(error), request) from error
    except InvalidMatchSpecError as error:
        raise InputError(f"a package specification cannot be read: {masked(error)}") from error
    except OSError as error:
        raise disk_failure(
            error.errno or 0, "repodata", path_of(error) or request.repodata_cache or Path.cwd()
        ) from error
    except BaseException as error:
        if is_panic(error):
            raise Unsatisfiable("the solver broke down", details=masked(error).splitlines()) from error
        raise


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
    fault = Fault(text, url=url_in(text))
    cache, path = request.repodata_cache, path_in(text)
    number = os_error(text)
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
