"""Conda specs, parsed by py-rattler in lenient mode, as the parts that merging looks at."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from conda_llmenv.compose.problems import Unreadable

MAX_LENGTH = 1000
"""Longest spec read, in characters."""

_BUILD = re.compile(r"[A-Za-z0-9_.+*^$()|?\[\]\\{}-]+")
_EXPERIMENTAL = re.compile(r"""\[.*\b(extras|when|flags)\s*=""")
_NAME = re.compile(r"[a-z0-9_][a-z0-9._-]*")
_PACKAGE_FILE = re.compile(r"\.(?:conda|tar\.bz2)\Z")
_VERSION_LIKE = re.compile(r"[\d.]+")


class ParsedSpec(Struct, frozen=True):
    """One MatchSpec taken apart.

    Attributes:
        name: lower-case package name.
        version: version constraint in rattler's spelling (``=1.26`` is ``1.26.*``), empty for any.
        build: build string, glob or ``^regex$``; empty for any.
        channel: as written before ``::``, without the subdir; empty for any.
        subdir: such as ``linux-64``; empty for any.
        brackets: the other ``[key="value"]`` pairs, sorted.
    """

    name: str
    version: str = ""
    build: str = ""
    channel: str = ""
    subdir: str = ""
    brackets: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=65536)
def parse_spec(text: str) -> ParsedSpec:
    """Take a conda spec apart.

    Raises:
        Unreadable: not a spec, or one that conda, mamba and rattler do not read alike.
    """
    from rattler import MatchSpec
    from rattler.exceptions import InvalidMatchSpecError

    if len(text) > MAX_LENGTH:  # py-rattler overflows its stack on thousands of nested parentheses
        raise Unreadable(f"a spec of {len(text)} characters is too long")
    if "[" in text and _EXPERIMENTAL.search(text):
        raise Unreadable("extras and conditions are read by rattler only", hint="name the packages you need one by one")
    _refuse_location(text)
    try:
        spec = MatchSpec(text, strict=False)
    except InvalidMatchSpecError as error:
        raise _bad_spec(text, error) from error
    name = spec.name.normalized
    if not name or _VERSION_LIKE.fullmatch(name):
        raise Unreadable(
            f"{text!r} does not name a package", hint="write `name` or `name version`, such as `python =3.11`"
        )
    if not _NAME.fullmatch(name):
        raise Unreadable(
            f"{text!r} is not a conda spec: no package can be called {name!r}",
            hint="package names are letters, digits, dots, hyphens and underscores, and start with none of `.` and `-`",
        )
    build = _build(text, spec.build)
    channel, subdir = _channel(text, spec.subdir or "")
    brackets = _brackets(str(spec)) if "[" in text or "://" in text else ()
    return ParsedSpec(name, _version(spec.version), build, channel, subdir, brackets)


def _refuse_location(text: str) -> None:
    """Refuse a package file or its address, which conda takes in lists that start with ``@EXPLICIT`` only."""
    head = text.partition("[")[0].strip()
    name = head.rpartition("::")[2]
    if _PACKAGE_FILE.search(name) or name.startswith(("/", "./", "../", "~/")) or "://" in name:
        raise Unreadable(
            f"{text!r} is a file or an address, not a conda spec",
            hint="give the package's name, and its channel with -c CHANNEL or under `channels:`",
        )
    if ":" in name:
        before, _, after = name.partition(":")
        pip = before.strip().lower() in {"pip", "pypi"}
        hint = "list pip packages under `- pip:` in a file, and give that with -f" if pip else ""
        raise Unreadable(f"{text!r} is not a conda spec", hint=hint or f"write `{before}::{after}` for a channel")


def _bad_spec(text: str, error: Exception) -> Unreadable:
    reason = re.sub(r"\s+", " ", str(error)).strip()
    hint = "write `name`, `name version` or `channel::name version build`"
    if "@" in text or text.startswith("-e"):
        hint = "this looks like a pip requirement: put it under `- pip:`"
    return Unreadable(f"{text!r} is not a conda spec: {reason}", hint=hint)


def _build(text: str, build: object) -> str:
    found = str(build) if build is not None else ""
    if found == "*":
        return ""
    if found and not _BUILD.fullmatch(found):
        raise Unreadable(
            f"{text!r} is read as build string {found!r}",
            hint="separate version constraints by a comma, as in `name >=1,<2`",
        )
    return found


def _version(version: object) -> str:
    found = str(version) if version is not None else ""
    return "" if found == "*" else found


def _channel(text: str, subdir: str) -> tuple[str, str]:
    # rattler gives the channel's URL under its own alias; the person's alias is not known here, so the text is kept
    if "::" not in text and "[" not in text:
        return "", subdir
    before, separator, _rest = text.partition("::")
    match = re.search(r"""\bchannel\s*=\s*['"]?([^'",\]]+)""", text)
    channel = before.strip() if separator else match[1] if match else ""
    channel = channel.rstrip("/")
    if subdir and channel.endswith(f"/{subdir}"):
        channel = channel[: -len(subdir) - 1]
    if channel.endswith("]"):
        raise Unreadable(f"{text!r} has brackets in its channel", hint="write it as `channel/subdir::name`")
    return channel, subdir


_OWN_FIELDS = frozenset({"version", "build", "channel", "subdir", "name"})


def _brackets(canonical: str) -> tuple[tuple[str, str], ...]:
    inside = canonical[canonical.rfind("[") + 1 : -1] if canonical.endswith("]") else ""
    pairs = re.findall(r"""(\w+)\s*=\s*"([^"]*)\"""", inside)
    return tuple(sorted((key, value.removeprefix("==")) for key, value in pairs if key not in _OWN_FIELDS))


def write_spec(spec: ParsedSpec) -> str:
    """Return a spec in a spelling that conda, mamba and rattler (lenient and strict) read alike.

    ``name version build`` with spaces and every operator written out: ``=1.26`` beside a build means "exactly" to
    conda and "starts with" to mamba, so it is never written.
    """
    place = (
        f"{spec.channel}/{spec.subdir}::"
        if spec.channel and spec.subdir
        else f"{spec.channel}::"
        if spec.channel
        else ""
    )
    words = [place + spec.name]
    if spec.version or spec.build:
        words.append(spec.version or "*")
    if spec.build:
        words.append(spec.build)
    fields = list(spec.brackets)
    if spec.subdir and not spec.channel:
        fields.append(("subdir", spec.subdir))
    inside = ",".join(f'{key}="{value}"' for key, value in fields)
    return " ".join(words) + (f"[{inside}]" if inside else "")
