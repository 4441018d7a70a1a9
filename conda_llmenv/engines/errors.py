"""The one place that turns the library's failures into ours: tables of patterns, the most specific first."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from rattler.exceptions import GatewayError, InstallerError, SolverError

from conda_llmenv.errors import ChannelUnavailable, InstallFailed, Unsatisfiable
from conda_llmenv.model import InstallRequest, SolveRequest
from conda_llmenv.redact import mask


@contextlib.contextmanager
def solve_errors(request: SolveRequest) -> Iterator[None]:
    """Turn what a solve raises into :class:`Unsatisfiable` or :class:`ChannelUnavailable`."""
    try:
        yield
    except SolverError as error:
        text = mask(str(error))
        raise Unsatisfiable(
            "no set of packages fits", packages=package_names(text), details=text.splitlines()
        ) from error
    except GatewayError as error:
        lines = mask(str(error)).splitlines()
        raise ChannelUnavailable(lines[0], details=lines[1:]) from error


@contextlib.contextmanager
def install_errors(request: InstallRequest) -> Iterator[None]:
    """Turn what an installation raises into :class:`InstallFailed`."""
    try:
        yield
    except InstallerError as error:
        lines = mask(str(error)).splitlines()
        raise InstallFailed(lines[0], details=lines[1:]) from error


_NAMED = re.compile(
    r"^[\s│├└─]*(?:No candidates were found for )?([a-z0-9_][a-z0-9_.-]*) (?=[0-9*<>=!~])", re.MULTILINE
)


def package_names(text: str) -> tuple[str, ...]:
    """Return the packages a solver's explanation names, in order of appearance."""
    return tuple(dict.fromkeys(_NAMED.findall(text.replace("Cannot solve the request because of: ", ""))))
