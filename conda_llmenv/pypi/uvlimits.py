"""What pip takes in a pip section and uv does not: refused with its place before uv sees it."""

from __future__ import annotations

import re

from conda_llmenv.errors import InputError
from conda_llmenv.model import PipRequirement, PipSection
from conda_llmenv.pypi.requirements import config_settings
from conda_llmenv.redact import mask

_OTHER_THAN_GIT = re.compile(r"(?:^|\s)(?P<program>hg|svn|bzr)\+", re.IGNORECASE)


def check_supported(section: PipSection) -> None:
    """Refuse what uv cannot install.

    Raises:
        InputError: names every such line.
    """
    found = [(one, reason) for one in section.requirements if (reason := _reason(one))]
    if not found:
        return
    reasons = [f"{one.origin}: {mask(one.text)} {reason[0]}" for one, reason in found]
    raise InputError(
        reasons[0], details=reasons[1:], hint=found[0][1][1], origins=[requirement.origin for requirement, _ in found]
    )


def _reason(requirement: PipRequirement) -> tuple[str, str] | None:
    """Return what is wrong with a requirement and the next step, or None."""
    other = _OTHER_THAN_GIT.search(requirement.text)
    if other:
        return (f"needs {other['program']}, and uv knows git only", "`--installer pip` knows the others")
    if config_settings(requirement) and requirement.name is None:
        return ("has settings for its build and no name", "write it as `NAME @ URL --config-settings=KEY=VALUE`")
    return None
