"""Where distributions come from: pip's configuration and a pip section's own options, as one set of facts.

Later statements act on earlier ones as in pip: ``--index-url`` in a section replaces every index known so far, the
configured extra ones too, while ``--extra-index-url``, ``--find-links``, ``--trusted-host`` and ``--constraint`` add.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct, field
from packaging.utils import canonicalize_name

from conda_llmenv.errors import InputError
from conda_llmenv.model import Notice, Origin, PipOption
from conda_llmenv.pypi.addresses import checked_index, checked_url, existing_file
from conda_llmenv.pypi.config import PipConfig, Setting
from conda_llmenv.redact import mask

PUBLIC_INDEX = "https://pypi.org/simple"
"""pip's default index."""

PUBLIC_HOSTS = frozenset({"pypi.org", "pypi.python.org"})

_APPLIED = frozenset(
    {
        "cert",
        "client-cert",
        "constraint",
        "extra-index-url",
        "find-links",
        "index-url",
        "keyring-provider",
        "no-binary",
        "no-build-isolation",
        "no-index",
        "only-binary",
        "pre",
        "proxy",
        "require-hashes",
        "retries",
        "timeout",
        "trusted-host",
        "uploaded-prior-to",
    }
)
_WITHOUT_EFFECT = frozenset(
    {
        "break-system-packages",
        "cache-dir",
        "check-build-dependencies",
        "compile",
        "debug",
        "disable-pip-version-check",
        "exists-action",
        "format",
        "log",
        "no-cache-dir",
        "no-clean",
        "no-color",
        "no-compile",
        "no-input",
        "no-python-version-warning",
        "no-require-hashes",
        "no-warn-conflicts",
        "no-warn-script-location",
        "prefer-binary",
        "progress-bar",
        "quiet",
        "require-venv",
        "require-virtualenv",
        "resume-retries",
        "root-user-action",
        "src",
        "upgrade",
        "upgrade-strategy",
        "use-deprecated",
        "use-pep517",
        "verbose",
    }
)
"""Settings about pip's own output, cache or habits: nothing of what is installed depends on them here."""

_REFERENCE = re.compile(r"\$\{(?P<name>[A-Z0-9_]+)\}")


class FormatControl(Struct):
    """Which distributions may be wheels or sources, with pip's rule for several statements in a row."""

    no_binary: list[str] = field(default_factory=list)
    only_binary: list[str] = field(default_factory=list)

    def state(self, option: str, value: str) -> None:
        """Apply one ``--no-binary`` or ``--only-binary``: ``:all:`` clears both sides, ``:none:`` clears its own."""
        target, other = (
            (self.no_binary, self.only_binary) if option == "no-binary" else (self.only_binary, self.no_binary)
        )
        for word in filter(None, (part.strip() for part in value.split(","))):
            if word == ":all:":
                other.clear()
                target[:] = [word]
            elif word == ":none:":
                target.clear()
            else:
                name = canonicalize_name(word)
                other[:] = [one for one in other if one != name]
                target.append(name)


class Sources(Struct):
    """Everything that decides where a resolution looks and what it accepts.

    Attributes:
        index_url: the main index, None for pip's default.
        extra_index_urls: further indexes, in the order given.
        pinned: True where the section itself chose the main index.
        find_links: folders (absolute) and pages that list distributions.
        constraints: constraint files (absolute paths) or their URLs.
        isolation: False where every build shares the environment.
        notices: what could not be taken over.
    """

    index_url: str | None = None
    extra_index_urls: list[str] = field(default_factory=list)
    pinned: bool = False
    find_links: list[str] = field(default_factory=list)
    no_index: bool = False
    trusted_hosts: list[str] = field(default_factory=list)
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    timeout: int | None = None
    retries: str | None = None
    keyring: str | None = None
    exclude_newer: str | None = None
    constraints: list[str] = field(default_factory=list)
    formats: FormatControl = field(default_factory=FormatControl)
    prerelease: bool = False
    require_hashes: bool = False
    isolation: bool = True
    notices: list[Notice] = field(default_factory=list)

    def indexes(self) -> tuple[str, ...]:
        """Return every index in the order of preference.

        A distribution is taken from the first index that has a version that fits. Indexes that somebody added on
        purpose come first, the public one last wherever it was written: a stranger's upload of an internal name,
        however high its version, cannot win (dependency confusion). pip would take the highest version of all.
        """
        if self.no_index:
            return ()
        chosen = [*self.extra_index_urls, self.index_url or PUBLIC_INDEX]
        unique = list(dict.fromkeys(chosen))
        return tuple(sorted(unique, key=lambda url: urlsplit(url).hostname in PUBLIC_HOSTS))


def gather(config: PipConfig, options: Iterable[PipOption], environ: Mapping[str, str], base: Path) -> Sources:
    """Return the sources that the configuration and a section's options give together.

    Args:
        config: pip's configuration.
        options: the section's options, canonical long names, in order.
        environ: for ``${NAME}`` references.
        base: folder that relative paths of the configuration start from (pip uses the current one).

    Raises:
        InputError: a value is not what its setting needs (flag, number, URL, file that is there).
    """
    sources = _configured(config, base, environ)
    for option in options:
        tokens = tuple(expand(token, environ) for token in option.tokens)
        _apply_option(sources, PipOption(tokens, option.origin), base)
    return sources


def _configured(config: PipConfig, base: Path, environ: Mapping[str, str]) -> Sources:
    def text(key: str) -> str | None:
        """Return the value of a setting, None where it is not set."""
        setting = config.get(key)
        return setting.value if setting else None

    def words(key: str, check: Callable[[str, Origin], str] | None = None) -> list[str]:
        """Return the words of a setting with variables filled in, checked where a check is given."""
        setting = config.get(key)
        if setting is None:
            return []
        found = [expand(word, environ) for word in setting.words()]
        return [check(word, setting.origin) for word in found] if check else found

    def file(key: str) -> str | None:
        """Return the file that a setting names, which has to exist."""
        setting = config.get(key)
        return existing_file(setting.value, key, setting.origin) if setting else None

    def constraint(word: str, origin: Origin) -> str:
        """Return a file or address of constraints; a file has to exist."""
        return existing_file(_located(checked_url(word, origin), base), "constraint", origin)

    sources = Sources(
        index_url=next(iter(words("index-url", checked_index)), None),
        extra_index_urls=words("extra-index-url", checked_index),
        find_links=[_located(link, base) for link in words("find-links", checked_url)],
        no_index=config.flag("no-index"),
        trusted_hosts=words("trusted-host"),
        cert=file("cert"),
        client_cert=file("client-cert"),
        proxy=text("proxy"),
        timeout=_seconds(config.get("timeout")),
        retries=_count(config.get("retries")),
        keyring=text("keyring-provider"),
        exclude_newer=text("uploaded-prior-to"),
        constraints=words("constraint", constraint),
        prerelease=config.flag("pre"),
        require_hashes=config.flag("require-hashes"),
        # pip stores the flag under the opposite meaning: `no-build-isolation = false` switches isolation off (pip#5735)
        isolation=config.flag("no-build-isolation", default=True),
    )
    for option in ("no-binary", "only-binary"):
        for setting in config.every(option):
            sources.formats.state(option, setting.value)
    sources.notices += [_left_out(setting) for setting in config.settings if _is_left_out(setting.key)]
    return sources


def _is_left_out(key: str) -> bool:
    return key not in _APPLIED and key not in _WITHOUT_EFFECT


def _left_out(setting: Setting) -> Notice:
    return Notice(
        "pip-setting-not-applied",
        f"{setting.origin}: pip's setting {setting.key} = {mask(setting.value)} is not applied to the pip section",
        (setting.origin,),
    )


def _seconds(setting: Setting | None) -> int | None:
    if setting is None:
        return None
    try:
        return max(1, round(float(setting.value)))
    except (ValueError, OverflowError):
        raise InputError(
            f"{setting.origin}: {setting.value!r} is no number of seconds for pip's timeout", origins=[setting.origin]
        ) from None


def _count(setting: Setting | None) -> str | None:
    if setting is None or setting.value.isdecimal():
        return setting.value if setting else None
    raise InputError(
        f"{setting.origin}: {setting.value!r} is no number for pip's {setting.key}", origins=[setting.origin]
    )


def _apply_option(sources: Sources, option: PipOption, base: Path) -> None:
    name, value = option.tokens[0].removeprefix("--"), " ".join(option.tokens[1:])
    folder = base / Path(option.origin.file).parent
    if name in ("index-url", "extra-index-url"):
        value = checked_index(value, option.origin)
    elif name in ("find-links", "constraint"):
        value = _located(checked_url(value, option.origin), folder)
    if name == "index-url":
        sources.index_url, sources.extra_index_urls, sources.pinned = value, [], True
    elif name in ("no-binary", "only-binary"):
        sources.formats.state(name, value)
    elif name in _ADDING:
        _ADDING[name](sources).append(value)
    elif name in _FLAGS:
        setattr(sources, _FLAGS[name], True)
    elif name not in _WITHOUT_EFFECT:
        message = f"{option.origin}: pip option {mask(option.text)} is not applied"
        sources.notices.append(Notice("pip-option-not-applied", message, (option.origin,)))


_ADDING = {
    "extra-index-url": lambda sources: sources.extra_index_urls,
    "find-links": lambda sources: sources.find_links,
    "trusted-host": lambda sources: sources.trusted_hosts,
    "constraint": lambda sources: sources.constraints,
}
_FLAGS = {"no-index": "no_index", "pre": "prerelease", "require-hashes": "require_hashes"}


def _located(value: str, base: Path) -> str:
    """Return a local path as an absolute one, and a URL as it is."""
    return value if "://" in value or value.startswith(("file:", "${")) else str(base / Path(value).expanduser())


def expand(text: str, environ: Mapping[str, str]) -> str:
    """Return ``text`` with each ``${NAME}`` that the environment knows replaced, as pip does in requirements files."""
    return _REFERENCE.sub(lambda match: environ.get(match["name"]) or match[0], text)
