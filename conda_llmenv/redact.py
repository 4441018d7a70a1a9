"""Keep secrets out of what is shown and written: two renderings, *mask* for people and *strip* for files."""

from __future__ import annotations

import re
from typing import Any

MASK = "***"

# Source archives of projects in T lie below …/source/t/, where no token stands.
# The look-behind and the bounds keep these linear in the length of the text.
_TOKEN_PATH = re.compile(
    r"(?P<before>(?<![a-z])(?:https?|ftp|s3|oci)://[^/\s\"']*(?:/[^/\s\"']+)*?)(?<!/source)/t/[^/\s\"']+", re.IGNORECASE
)
_BARE_TOKEN = re.compile(r"(?<![\w.-])t/[a-z]{2}-[0-9a-f]{8}-[0-9a-f-]{20,}(?=/|\b)", re.IGNORECASE)
_USERINFO = re.compile(
    r"(?<![a-z0-9+.-])(?P<scheme>[a-z][a-z0-9+.-]{0,20}://)(?P<user>[^/@\s\"']{1,2000})@", re.IGNORECASE
)
_QUERY = re.compile(
    r"(?P<key>(?P<mark>[?&])(?:token|access_token|auth|key|api_key|password|sig|signature)=)[^&\s\"'#]+(?P<more>&?)",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(?P<key>authorization:\s*(?:basic|bearer|token)?\s*)\S+", re.IGNORECASE)
_ASSIGNED = re.compile(r"(?P<key>\b(?:HF_TOKEN|[A-Z0-9_]*(?:_TOKEN|_SECRET|_PASSWORD|_API_KEY))=)\S+")
_PLACEHOLDER = re.compile(r"/t/<TOKEN>|<TOKEN>|\*{3,}@", re.IGNORECASE)
_ENV_REFERENCE = re.compile(r"^\$\{\w+\}(?::\$\{\w+\})?$")


def mask(text: str) -> str:
    """Return ``text`` with every secret replaced by ``***``; what is left still tells which address it was.

    ``${NAME}`` references are no secrets and stay.
    """
    text = _TOKEN_PATH.sub(rf"\g<before>/t/{MASK}", text)
    text = _BARE_TOKEN.sub(f"t/{MASK}", text)
    text = _USERINFO.sub(_mask_user, text)
    text = _QUERY.sub(rf"\g<key>{MASK}\g<more>", text)
    text = _HEADER.sub(rf"\g<key>{MASK}", text)
    return _ASSIGNED.sub(rf"\g<key>{MASK}", text)


def mask_values(value: Any) -> Any:
    """Return JSON-like data with every string in it masked; keys are ours and stay."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: mask_values(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_values(item) for item in value]
    return value


def _mask_user(match: re.Match[str]) -> str:
    user = match["user"]
    if user == "git" or _ENV_REFERENCE.match(user):  # git+ssh://git@host names an account, not a secret
        return match[0]
    return f"{match['scheme']}{MASK}@"


def strip(text: str) -> str:
    """Return ``text`` with the secret parts of its URLs removed, so that it can be written and read again elsewhere."""
    text = _TOKEN_PATH.sub(r"\g<before>", text)
    text = _BARE_TOKEN.sub("", text)
    text = _USERINFO.sub(_strip_user, text)
    text = _QUERY.sub(_strip_query, text)
    text = _HEADER.sub(r"\g<key>", text)
    return _ASSIGNED.sub(r"\g<key>", text)


def _strip_query(match: re.Match[str]) -> str:
    return match["mark"] if match["more"] else ""


def _strip_user(match: re.Match[str]) -> str:
    user = match["user"]
    if user == "git" or _ENV_REFERENCE.match(user):
        return match[0]
    return match["scheme"]


def has_secret(text: str) -> bool:
    """Return whether masking would change ``text``."""
    return mask(text) != text


def has_placeholder(text: str) -> bool:
    """Return whether ``text`` holds a literal ``<TOKEN>`` (or a mask) that somebody's export left behind."""
    return _PLACEHOLDER.search(text) is not None
