"""The one place that turns what an installation of conda's raises into our failures."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from conda import CondaError
from conda import exceptions as condas
from requests.exceptions import TooManyRedirects  # type: ignore[import-untyped]  # stubs for one name

from conda_llmenv.engines.conda.faults import Fault, os_error, path_of, translated
from conda_llmenv.engines.disk import DISK_FULL, UNWRITABLE, disk_failure
from conda_llmenv.engines.metadata import damaged_records
from conda_llmenv.engines.package_cache import EXTRACTED, TAMPERED
from conda_llmenv.errors import InstallFailed, LlmenvError
from conda_llmenv.model import InstallRequest
from conda_llmenv.redact import mask


@contextlib.contextmanager
def install_errors(request: InstallRequest) -> Iterator[None]:
    """Turn what an installation raises into :class:`InstallFailed` or one of its kinds."""
    with translated(lambda causes: _install_failure(causes, request)):
        yield


def _install_failure(causes: list[BaseException], request: InstallRequest) -> LlmenvError:
    """Describe the cause that says most: a full disk and a wrong hash explain the others, not they them."""
    full = next((cause for cause in causes if os_error(cause, Fault.of(cause)) in DISK_FULL), None)
    different = next((cause for cause in causes if isinstance(cause, condas.ChecksumMismatchError)), None)
    error = full or different or causes[0]
    fault = Fault.of(error)
    number = os_error(error, fault)
    if number in DISK_FULL + UNWRITABLE or (number and getattr(error, "filename", None)):
        needed = EXTRACTED * sum(record.size or 0 for record in request.records)
        return disk_failure(number, "the packages", _place(number, path_of(error, fault), request), needed)
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
