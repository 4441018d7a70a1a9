"""The library's failures to solve as ours: a table of patterns for channels, the most specific first."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from rattler.exceptions import GatewayError, InvalidMatchSpecError, IoError, SolverError

from conda_llmenv.engines.disk import DISK_FULL, UNWRITABLE, disk_failure
from conda_llmenv.engines.explain import conflict_lines, package_names
from conda_llmenv.engines.rattler.faults import Fault, is_panic, masked, os_error, path_in, path_of, url_in
from conda_llmenv.engines.unavailable import kind_of_fault, unavailable
from conda_llmenv.engines.unsatisfiable import contradiction, not_found, strict_hint
from conda_llmenv.errors import InputError, LlmenvError, Unsatisfiable
from conda_llmenv.model import Channel, SolveRequest
from conda_llmenv.redact import strip


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
    missing = [name for name in re.findall(r"No candidates were found for (\S+)", text) if not name.startswith("__")]
    if missing:
        return not_found(missing, names, conflict_lines(text), request)
    return contradiction(names, conflict_lines(text), strict_hint(request))


def _channel_failure(text: str, request: SolveRequest) -> LlmenvError:
    fault = Fault(text, url=url_in(text))
    cache, path = request.repodata_cache, path_in(text)
    number = os_error(text)
    if number in DISK_FULL or (number in UNWRITABLE and cache and path and path.is_relative_to(cache)):
        return disk_failure(number, "repodata", path or cache or Path.cwd())
    kind = kind_of_fault(text, CHANNEL_RULES) or "unread"
    return unavailable(kind, _channel_of(text, request), text, fault.causes)


CHANNEL_RULES = (
    (r"no usable repodata cache|not in the cache|not cached", "offline"),
    (r"\b401\b", "credentials"),
    (r"\b403\b", "refused"),
    (r"\b407\b|proxy authorization required", "proxy-login"),
    (r"too many redirects", "circle"),
    (r"\b404\b", "address"),
    (r"\b429\b", "slow-down"),
    (r"\b5\d\d\b \S+ ?\S* for|server error", "server"),
    (r"Connection refused", "no-answer"),
    (r"Network is unreachable|No route to host|Network is down", "no-route"),
    (r"dns error|resolving DNS|lookup address", "no-host"),
    (r"certificate|UnknownIssuer|tls|TLS", "certificate"),
    (r"timed out|timeout", "timeout"),
    (r"Permission denied", "permission"),
    (r"could not find subdir|No such file", "folder"),
    (r"parse|invalid|expected|EOF while|missing field", "damaged"),
    (r"error sending request|error decoding response|end of file|connection", "broke-off"),
)
"""The library's words, the most specific first."""


def _channel_of(text: str, request: SolveRequest) -> Channel:
    """Return the channel the text is about: the one with the longest address in it, else the only or first one."""
    fallback = request.channels[0] if request.channels else Channel("(none)", "")
    inside = [channel for channel in request.channels if f"{strip(channel.url)}/" in text]
    return max(inside, key=lambda channel: len(channel.url), default=fallback)
