"""The library's failures to install as ours: a table of patterns, the most specific first."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator

from rattler.exceptions import InstallerError

from conda_llmenv.engines.disk import DISK_FULL, UNWRITABLE, disk_failure
from conda_llmenv.engines.metadata import damaged_records
from conda_llmenv.engines.package_cache import EXTRACTED, TAMPERED
from conda_llmenv.engines.rattler.faults import Fault, is_panic, masked, os_error, path_in, path_of, url_in
from conda_llmenv.errors import InstallFailed, LlmenvError
from conda_llmenv.model import InstallRequest


class DamagedDownload(InstallFailed):
    """A package arrived cut short or changed, each time it was tried; ``file_name`` is the one."""

    file_name = ""


@contextlib.contextmanager
def install_errors(request: InstallRequest) -> Iterator[None]:
    """Turn what an installation raises into :class:`InstallFailed` or one of its kinds."""
    try:
        yield
    except InstallerError as error:
        raise _install_failure(masked(error), request) from error
    except OSError as error:
        raise disk_failure(error.errno or 0, "packages", path_of(error) or request.package_cache) from error
    except BaseException as error:
        if is_panic(error):
            raise InstallFailed("the installer broke down", details=masked(error).splitlines()) from error
        raise


def _install_failure(text: str, request: InstallRequest) -> LlmenvError:
    package = match[1] if (match := re.search(r"failed to (?:fetch|link|unlink) (\S+)", text)) else ""
    fault = Fault(text, package, url_in(text), request.prefix)
    number = os_error(text)
    if number in DISK_FULL + UNWRITABLE:
        folder = request.package_cache if "failed to fetch" in text or "cache" in text else request.prefix
        path = path_in(text) or folder
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
