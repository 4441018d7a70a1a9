"""Keep secrets out of what is shown and written: two renderings, *mask* for people and *strip* for files."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
# One word of a query that signs or opens it: indexes and forges, then AWS, Google, CloudFront and Azure.
_QUERY_KEY = (
    r"(?:token|access_token|auth_token|private_token|job_token|refresh_token|id_token|auth|key|api[_-]?key|access_key"
    r"|password|passwd|secret|client_secret|sig|signature"
    r"|x-amz-(?:signature|credential|security-token)|awsaccesskeyid"
    r"|x-goog-(?:signature|credential|security-token)|googleaccessid"
    r"|key-pair-id|policy(?==[\w~-]{40})|sk[ot]id)="
)
_QUERY = re.compile(rf"(?P<key>[?&](?:amp;)?{_QUERY_KEY})[^&\s\"'#]+", re.IGNORECASE)
_QUERY_RUN = re.compile(rf"(?P<mark>[?&](?:amp;)?)(?:{_QUERY_KEY}[^&\s\"'#]+(?P<more>(?:&(?:amp;)?)?))+", re.IGNORECASE)
"""Neighbours are taken together: each has the mark that the next one starts with."""

_HEADER = re.compile(r"(?P<key>authorization:\s*(?:basic|bearer|token)?\s*)\S+", re.IGNORECASE)
_BEARER = re.compile(
    r"(?P<key>(?<![a-z0-9])(?:(?<==)(?:bearer|basic)\s{1,8}|bearer\s{1,8}(?=[^\s\"']{0,200}?[0-9])))[^\s\"']+",
    re.IGNORECASE,
)
_KNOWN_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_-])(?:gh[opsur]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|hf_[A-Za-z0-9]{20,}|glpat-[\w-]{16,}"
    r"|sk-(?:[a-z]{1,10}[0-9]{0,3}-){0,3}\w{20,}[\w-]*|xox[abeoprs]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|AIza[\w-]{30,}|nvapi-[\w-]{20,}|pypi-Ag[\w-]{20,})(?![A-Za-z0-9_])",
    re.ASCII,
)
"""What GitHub, Hugging Face, GitLab, OpenAI and Anthropic, Slack, AWS, Google, NVIDIA and PyPI hand out."""

_ASSIGNED = re.compile(r"(?<![A-Za-z0-9_])(?P<name>[A-Z_][A-Z0-9_]{0,127})=")
_WORD = re.compile(r"\S*")
_LINE = re.compile(r"[^\n]*")
_SECRET_NAME = re.compile(
    r"(?:\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|APIKEY|CREDENTIALS?|CONNECTION_STRING)"
    r"|(?:\w+_)?(?:KEY|PAT|PW|PASS|CREDS)|\w+_PWD)(?:_?[0-9]{1,3})?",
    re.ASCII,
)
_HARMLESS_NAME = re.compile(r"(?:\w+_)?(?:PUBLIC_KEY|(?:BOS|EOS|PAD|UNK|SEP|CLS|MASK)_TOKEN)", re.ASCII)
"""Public keys, and the marks that a tokenizer puts into a text."""

_SWITCH = re.compile(r"(?:[01]|true|false|yes|no|on|off|value|…)[`'\").,;]?", re.IGNORECASE)
"""As in ``HF_HUB_DISABLE_IMPLICIT_TOKEN=1``, or ``KEY=VALUE`` and ``HF_TOKEN=…`` in what a person is told to write."""

_KEY_FILE = re.compile(r"(?:~|\.{0,2})/\S*\.[A-Za-z0-9]{2,6}")
"""The path of a file, told from a key in base64 by the dot of its ending."""

_KEY_FILE_NAME = re.compile(r"\w*(?:KEY|CREDENTIALS?)", re.ASCII)
_PLACEHOLDER = re.compile(r"/t/<TOKEN>|<TOKEN>|\*{3,}@", re.IGNORECASE)
_ENV_REFERENCE = re.compile(r"^\$\{\w+\}(?::\$\{\w+\})?$")


def mask(text: str) -> str:
    """Return ``text`` with every secret replaced by ``***``; what is left still tells which address it was.

    ``${NAME}`` references are no secrets and stay.
    """
    text = _TOKEN_PATH.sub(rf"\g<before>/t/{MASK}", text)
    text = _BARE_TOKEN.sub(f"t/{MASK}", text)
    text = _USERINFO.sub(_mask_user, text)
    text = _QUERY.sub(rf"\g<key>{MASK}", text)
    return _without_values(text, MASK)


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
    text = _QUERY_RUN.sub(_strip_query, text)
    return _without_values(text, "")


def _without_values(text: str, instead: str) -> str:
    """Return ``text`` with ``instead`` in place of headers, well-known tokens and the values of secret variables."""
    text = _HEADER.sub(rf"\g<key>{instead}", text)
    text = _BEARER.sub(rf"\g<key>{instead}", text)
    text = _KNOWN_TOKEN.sub(instead, text)
    return "".join(_without_assigned(text, instead))


def _without_assigned(text: str, instead: str) -> Iterator[str]:
    """Yield the pieces of a text; an assignment that opens a line has the rest of it as its value, else one word."""
    done = 0
    for match in _ASSIGNED.finditer(text):
        if match.start() < done or not _names_secret(match["name"]):
            continue
        opens_line = match.start() == 0 or text[match.start() - 1] == "\n"
        value = (_LINE if opens_line else _WORD).match(text, match.end())
        if value is None or not value[0]:
            continue
        yield text[done : match.end()]
        yield instead if _is_secret(match["name"], value[0]) else value[0]
        done = value.end()
    yield text[done:]


def _names_secret(name: str) -> bool:
    return _SECRET_NAME.fullmatch(name) is not None and _HARMLESS_NAME.fullmatch(name) is None


def _is_secret(name: str, value: str) -> bool:
    """Return whether a variable's name says that its value is a secret, and the value does not say otherwise."""
    if not _names_secret(name) or _SWITCH.fullmatch(value):
        return False
    return not (_KEY_FILE_NAME.fullmatch(name) and _KEY_FILE.fullmatch(value))


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


def holds_secret(name: str, value: str) -> bool:
    """Return whether a variable holds a secret, or the mask that somebody's export left of one.

    Its name says so, in whatever case (``…_KEY``, ``…_TOKEN``, ``…_PASSWORD``, ``…_PAT``), or its value does: an
    address with a password, ``Bearer …``, a token of a known form.
    """
    return bool(value) and (MASK in value or _is_secret(name.upper(), value) or has_secret(f"{name}={value}"))


def mask_variable(name: str, value: str) -> str:
    """Return a variable's value as it may be shown: a secret one is ``***`` as a whole."""
    if value and _is_secret(name.upper(), value):
        return MASK
    return mask(f"{name}={value}").partition("=")[2]


def has_placeholder(text: str) -> bool:
    """Return whether ``text`` holds a literal ``<TOKEN>`` (or a mask) that somebody's export left behind."""
    return _PLACEHOLDER.search(text) is not None
