"""The index a distribution comes from, as far as a lock tells, and the option lines that name it.

A local version such as ``2.1.0+cu121`` is on no public index: without its index's line nobody can install it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from packaging.version import InvalidVersion, Version

from conda_llmenv.compose.pip_lines import Option, parse_line
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.model import Lock, LockedPlatform, Notice, PipPackage
from conda_llmenv.redact import strip

PUBLIC_INDEX = "https://pypi.org/simple"
PUBLIC_FILES = "files.pythonhosted.org"
TORCH_INDEX = "https://download.pytorch.org/whl"
TORCH_FILES = frozenset({"download.pytorch.org", "download-r2.pytorch.org"})
"""Hosts of PyTorch's own wheels; the pages of its indexes link to both."""

_INDEXES = ("--index-url", "--extra-index-url")

_BUILD = re.compile(r"(?:cu\d+|cpu|rocm[\d.]+|xpu)\Z")
"""Local versions that PyTorch has an index of the same name for."""


def index_of(package: PipPackage, options: Iterable[str]) -> str | None:
    """Return the index a distribution comes from, by its files' addresses and the lock's option lines, or None."""
    named = option_values(options, *_INDEXES)
    for artifact in package.artifacts or ():
        parts = urlsplit(artifact.url)
        if parts.hostname == PUBLIC_FILES:
            return PUBLIC_INDEX
        if parts.hostname in TORCH_FILES:
            return _torch_index(parts.path)
        same = [url for url in named if urlsplit(url).netloc.rpartition("@")[2] == parts.netloc and parts.netloc]
        if same:
            return max(same, key=lambda url: _shared(url, artifact.url))
    local = local_version(package)
    return next((url for url in named if local and local in urlsplit(url).path.split("/")), None)


def local_version(package: PipPackage) -> str:
    """Return the local part of a version (``cu121`` of ``2.1.0+cu121``), empty where it has none."""
    try:
        return Version(package.version or "0").local or ""
    except InvalidVersion:
        return ""


def option_lines(lock: Lock, platform: LockedPlatform) -> tuple[str, ...]:
    """Return the lock's option lines, and those it lacks for the indexes of local versions.

    Constraints are left out: everything is pinned, and their files lie on the machine that wrote the lock.
    """
    kept = [strip(line) for line in lock.pip_options if not line.lstrip().startswith(("-c", "--constraint"))]
    known = {url.rstrip("/") for url in option_values(kept, *_INDEXES)}
    for package in platform.pip:
        index = index_of(package, kept) if local_version(package) and not package.direct else None
        if index is not None and index.rstrip("/") not in known:
            known.add(index)
            kept.append(f"--extra-index-url {strip(index)}")
    return tuple(kept)


def local_version_notices(lock: Lock) -> tuple[Notice, ...]:
    """Return a notice for each local version whose index nothing in the lock names."""
    packages = {(one.name, one.version): one for platform in lock.platforms for one in platform.pip}
    return tuple(_notice(one) for one in packages.values() if _is_homeless(one, lock.pip_options))


def _is_homeless(package: PipPackage, options: Iterable[str]) -> bool:
    if package.direct or not local_version(package) or index_of(package, options) is not None:
        return False
    return bool(package.artifacts) or not any(
        _is_other_place(url) for url in option_values(options, *_INDEXES, "--find-links")
    )


def _is_other_place(url: str) -> bool:
    return urlsplit(url).hostname not in ("pypi.org", "pypi.python.org")


def _notice(package: PipPackage) -> Notice:
    local = local_version(package)
    index = f"{TORCH_INDEX}/{local}" if _BUILD.match(local) else "URL"
    return Notice(
        "local-version-without-index",
        f"{package.name} {package.version} is on no public index, and the index it came from is not known",
        hint=f"add its index to the pip section, such as `--extra-index-url {index}`",
    )


def _torch_index(path: str) -> str:
    """Return the index of a file such as ``/whl/cu121/torch-2.1.0%2Bcu121-….whl``."""
    _whl, *folders, _file = path.strip("/").split("/")
    return "/".join((TORCH_INDEX, *folders[:1]))


def _shared(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def option_values(lines: Iterable[str], *names: str) -> tuple[str, ...]:
    """Return the values of the options of these names, in order; a line that pip would not read has none."""
    return tuple(_values(lines, names))


def _values(lines: Iterable[str], names: tuple[str, ...]) -> Iterator[str]:
    for line in lines:
        try:
            parsed = parse_line(line.strip())
        except Unreadable:
            continue
        yield from (one.tokens[1] for one in parsed if isinstance(one, Option) and one.tokens[0] in names)
