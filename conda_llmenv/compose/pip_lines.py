"""One line of a pip section or requirements file: an option, an include, or a requirement.

The options are those pip takes in a requirements file (pip's reference "Requirements File Format").
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.compose.reading import did_you_mean
from conda_llmenv.model import PipKind
from conda_llmenv.redact import mask

FLAGS = frozenset({"--no-index", "--prefer-binary", "--require-hashes", "--pre"})
VALUED = frozenset(
    {
        "--index-url",
        "--extra-index-url",
        "--find-links",
        "--no-binary",
        "--only-binary",
        "--trusted-host",
        "--use-feature",
    }
)
INCLUDES = frozenset({"--requirement", "--constraint"})
EDITABLE = "--editable"
URL_OPTIONS = frozenset({"--index-url", "--extra-index-url"})
PER_REQUIREMENT = frozenset({"--hash", "--config-settings"})
NOT_TAKEN = frozenset({"--global-option", "--install-option", "--build-option"})
"""Options for ``setup.py`` that pip gave up or is giving up, and that uv never had."""
ALIASES = {
    "-i": "--index-url",
    "--pypi-url": "--index-url",
    "-f": "--find-links",
    "-r": "--requirement",
    "-c": "--constraint",
    "-e": EDITABLE,
    "-C": "--config-settings",
    "--config-setting": "--config-settings",
}
_KNOWN = FLAGS | VALUED | INCLUDES | PER_REQUIREMENT | {EDITABLE}

_COMMENT = re.compile(r"(?:^|\s+)#(.*)$")
_VCS = re.compile(r"(?:git|hg|svn|bzr)\+", re.IGNORECASE)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_WEB_SCHEMES = frozenset({"http", "https"})
_VCS_SCHEMES = frozenset(
    f"{program}+{transport}"
    for program, transports in {
        "git": "http https ssh git file",
        "hg": "http https ssh file static-http",
        "svn": "http https ssh svn file",
        "bzr": "http https ssh sftp ftp lp file",
    }.items()
    for transport in transports.split()
)
"""The schemes of pip's reference "VCS Support"; git itself would run a program for one like ``ext::``."""
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_PATH_EXTRAS = re.compile(r"(?P<path>.*?)(?P<extras>\[[^\]]*\])?\Z")


class Option(Struct, frozen=True):
    """A file-wide option, canonical long name first."""

    tokens: tuple[str, ...]


class Include(Struct, frozen=True):
    """``-r FILE`` or ``-c FILE``."""

    option: str
    target: str


class Line(Struct, frozen=True):
    """One requirement, not yet placed in a file.

    ``location`` is the local path as written, for PATH and EDITABLE lines and ``file:`` URLs.
    """

    text: str
    kind: PipKind
    name: str | None = None
    specifier: str = ""
    extras: tuple[str, ...] = ()
    marker: str = ""
    location: str | None = None


Parsed = Option | Include | Line


def split_comment(text: str) -> tuple[str, str]:
    """Return a line without its comment, and the comment."""
    match = _COMMENT.search(text)
    return (text[: match.start()].strip(), match[1].strip()) if match else (text.strip(), "")


@lru_cache(maxsize=16384)
def parse_line(text: str) -> tuple[Parsed, ...]:
    """Take apart one line without its comment.

    Raises:
        Unreadable: pip would not take it either, or it has an option we do not know.
    """
    if text.startswith("-"):
        return tuple(_options(text))
    return (_requirement(text),)


def _options(text: str) -> list[Parsed]:
    try:
        tokens = shlex.split(text)
    except ValueError as error:
        raise Unreadable(f"the quotes of {text!r} do not match") from error
    found: list[Parsed] = []
    while tokens:
        name, value = _split_option(tokens.pop(0))
        if name in FLAGS:
            found.append(Option((name,)))
            continue
        if not value:
            if not tokens:
                raise Unreadable(f"{name} needs a value")
            value = tokens.pop(0)
        if name == EDITABLE:
            found.append(_editable(value, text, tokens))
            break
        if name in URL_OPTIONS:
            check_index(value)
        elif "://" in value:
            split_url(value)
        found.append(Include(name, value) if name in INCLUDES else Option((name, value)))
    return found


def _split_option(token: str) -> tuple[str, str]:
    """Return the long name and the value glued to it (``--opt=value``, ``-ivalue``), if any."""
    name, _, value = token.partition("=") if token.startswith("--") else (token[:2], "", token[2:].lstrip("="))
    name = ALIASES.get(name, name)
    _refuse_not_taken(name)
    if name in PER_REQUIREMENT:
        raise Unreadable(f"{name} belongs behind a requirement", hint=f"write it as `name==version {name}=…`")
    if name not in _KNOWN:
        hint = "name the packages under llmenv: {no_build_isolation: […]}" if name == "--no-build-isolation" else ""
        raise Unreadable(f"{token!r} is no option of a requirements file", hint=hint or did_you_mean(name, _KNOWN))
    if name in FLAGS and value:
        raise Unreadable(f"{name} takes no value")
    return name, value


def _refuse_not_taken(name: str) -> None:
    if name in NOT_TAKEN:
        raise Unreadable(
            f"{name} is not supported: it reaches setup.py only",
            hint='write --config-settings="--build-option=…" behind the requirement',
        )


def _editable(value: str, text: str, rest: list[str]) -> Line:
    for token in rest:
        _refuse_not_taken(_option_name(token))
    if any(_option_name(token) not in PER_REQUIREMENT for token in rest if token.startswith("-")):
        raise Unreadable(f"only one requirement fits in a line: {text!r}")
    target, marker = _split_marker(value)
    kind, name, extras, location = _direct(target)
    if kind is PipKind.URL and location is None:
        raise Unreadable(f"{mask(target)!r} cannot be editable", hint="only a folder or a git repository can be")
    shown = " ".join([f"-e {shlex.quote(value) if ' ' in value else value}", *_written(rest)])
    return Line(
        shown,
        PipKind.EDITABLE,
        name,
        extras=extras,
        marker=marker,
        location=location if kind is not PipKind.VCS else None,
    )


def _option_name(token: str) -> str:
    name = token.partition("=")[0]
    return ALIASES.get(name, name)


def _requirement(text: str) -> Line:
    requirement, options = _split_per_requirement_options(text)
    target, marker = _split_marker(requirement)
    if _is_url(target) or _looks_like_path(target):
        kind, name, extras, location = _direct(target)
        return Line(_joined(requirement, options), kind, name, extras=extras, marker=marker, location=location)
    try:
        parsed = Requirement(requirement)
    except InvalidRequirement as error:
        raise _bad_requirement(requirement, error) from error
    name, extras = canonicalize_name(parsed.name), tuple(sorted(canonicalize_name(extra) for extra in parsed.extras))
    marker = str(parsed.marker) if parsed.marker else ""
    if parsed.url is None:
        specifier = ",".join(sorted(str(one) for one in parsed.specifier))
        return Line(_joined(requirement, options), PipKind.NAMED, name, specifier, extras, marker)
    kind, _name, _extras, location = _direct(parsed.url)
    kind = kind if kind is PipKind.VCS else PipKind.URL
    return Line(_joined(requirement, options), kind, name, extras=extras, marker=marker, location=location)


def _joined(requirement: str, options: str) -> str:
    return f"{requirement} {options}".strip()


def _split_per_requirement_options(text: str) -> tuple[str, str]:
    match = re.search(r"\s(--?[A-Za-z].*)$", text)
    if not match:
        return text, ""
    try:
        tokens = shlex.split(match[1])
    except ValueError as error:
        raise Unreadable(f"the quotes of {text!r} do not match") from error
    return text[: match.start()].strip(), " ".join(_written(tokens))


def _written(tokens: list[str]) -> list[str]:
    """Return the options behind a requirement as ``--long-name=value``, quoted where pip's shell words need it."""
    rest, found = list(tokens), []
    while rest:
        token = rest.pop(0)
        name, value = _option_name(token), token.partition("=")[2]
        _refuse_not_taken(name)
        if name not in PER_REQUIREMENT:
            hint = "give the option an entry of its own" if name in _KNOWN else did_you_mean(token, PER_REQUIREMENT)
            raise Unreadable(f"option {token.partition('=')[0]} cannot stand behind a requirement", hint=hint)
        value = value or (rest.pop(0) if rest else "")
        if not value:
            raise Unreadable(f"{name} needs a value")
        if name == "--config-settings" and not value.partition("=")[1]:
            raise Unreadable(f"{name} {value!r} has no value", hint="write --config-settings=KEY=VALUE")
        found.append(f"{name}={shlex.quote(value)}")
    return found


def _split_marker(text: str) -> tuple[str, str]:
    """Split ``target ; marker`` where the target is no PEP 508 name (pip wants a space before the semicolon there)."""
    target, separator, marker = text.partition(" ;")
    return (target.strip(), marker.strip()) if separator else (text.strip(), "")


def _is_url(text: str) -> bool:
    return (_SCHEME.match(text) or _VCS.match(text)) is not None and " @ " not in text


def _looks_like_path(text: str) -> bool:
    bare = _PATH_EXTRAS.match(text)
    path = bare["path"] if bare else text
    if " @ " in text or re.match(r"[\w.-]+(\[[^\]]*\])?\s*@", text):
        return False
    return "/" in path or path.startswith(".") or path.lower().endswith(_ARCHIVES)


def _direct(target: str) -> tuple[PipKind, str | None, tuple[str, ...], str | None]:
    """Return kind, name, extras and local path of a requirement that says where it is."""
    if _is_url(target):
        name, extras = _egg(target)
        parts = split_url(target)
        _check_scheme(target, parts)
        if "+" in parts.scheme:
            return PipKind.VCS, name, extras, None
        location = unquote(parts.path) if parts.scheme.lower() == "file" else None
        return PipKind.URL, name or _archive_name(parts.path), extras, location
    match = _PATH_EXTRAS.match(target)
    path, extras_text = (match["path"], match["extras"] or "") if match else (target, "")
    path = path.partition("#")[0]
    return PipKind.PATH, _archive_name(path), _extras(extras_text), path


def split_url(url: str) -> SplitResult:
    """Return the parts of a URL.

    Raises:
        Unreadable: it is none, such as one with half an IPv6 address.
    """
    try:
        return urlsplit(url)
    except ValueError as error:
        raise Unreadable(f"{mask(url)!r} is not a URL: {error}") from error


def check_index(url: str) -> None:
    """Check the address of a package index.

    Raises:
        Unreadable: it is no ``http``, ``https`` or ``file`` URL.
    """
    if url.startswith("${"):
        return
    parts = split_url(url)
    if parts.scheme not in {*_WEB_SCHEMES, "file"} or (parts.scheme in _WEB_SCHEMES and not parts.netloc):
        raise Unreadable(
            f"{mask(url)!r} is not the URL of an index",
            hint="write https://HOST/simple, or file:///FOLDER for a folder laid out like one",
        )


def _check_scheme(target: str, parts: SplitResult) -> None:
    """Refuse an address that no installer could fetch."""
    if parts.scheme == "file" or (parts.scheme in _WEB_SCHEMES and parts.netloc):
        return
    if parts.scheme in _VCS_SCHEMES and target[len(parts.scheme) :].startswith("://"):
        return
    hint = "pip takes http, https and file URLs, and git+https, git+ssh, git+file and the like"
    if re.match(r"git\+\w+@[\w.-]+:", target):
        hint = "begin with git+ssh:// and write a slash, not a colon, behind the host"
    raise Unreadable(f"{mask(target)!r} is no address that pip can install from", hint=hint)


def _egg(url: str) -> tuple[str | None, tuple[str, ...]]:
    match = re.search(r"[#&]egg=([^&\[]+)(\[[^\]]*\])?", url)
    return (canonicalize_name(unquote(match[1])), _extras(match[2] or "")) if match else (None, ())


def _extras(text: str) -> tuple[str, ...]:
    return tuple(sorted(canonicalize_name(extra.strip()) for extra in text.strip("[]").split(",") if extra.strip()))


def _archive_name(path: str) -> str | None:
    file_name = unquote(path.rsplit("/", 1)[-1])
    try:
        if file_name.endswith(".whl"):
            return parse_wheel_filename(file_name)[0]
        return parse_sdist_filename(file_name)[0]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def _bad_requirement(text: str, error: Exception) -> Unreadable:
    reason = str(error).splitlines()[0].strip()
    hint = "write `name`, `name==version`, `name>=1,<2` or `name @ URL`"
    if re.search(r"[^=!<>~]=[^=]", text):
        corrected = re.sub(r"([^=!<>~])=([^=])", r"\1==\2", text, count=1)
        hint = f"pip compares with two equals signs: `{corrected}`"
    return Unreadable(f"{text!r} is not a pip requirement: {reason}", hint=hint)
