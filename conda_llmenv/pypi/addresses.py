"""Values of pip's settings that name something: an index, a page or a file; a wrong one is told where it stands."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from conda_llmenv.errors import InputError
from conda_llmenv.model import Origin
from conda_llmenv.redact import mask


def checked_url(url: str, origin: Origin) -> str:
    """Return a URL or path as it is.

    Raises:
        InputError: it cannot be taken apart, such as one with half an IPv6 address or a port that is no number.
    """
    try:
        _ = urlsplit(url).port
    except ValueError as error:
        raise InputError(f"{origin}: {mask(url)!r} is not a URL: {error}", origins=[origin]) from error
    return url


def checked_index(url: str, origin: Origin) -> str:
    """Return the URL of an index; a local folder becomes a ``file:`` URL.

    Raises:
        InputError: it is neither.
    """
    parts = urlsplit(checked_url(url, origin))
    if parts.scheme == "file" or (parts.scheme in ("http", "https") and parts.hostname):
        return url
    if not parts.scheme and Path(url).is_dir():
        return Path(url).absolute().as_uri()
    raise InputError(
        f"{origin}: {mask(url)!r} is not the URL of a package index",
        hint="write https://HOST/simple, or file:///FOLDER for a folder laid out like one",
        origins=[origin],
    )


def existing_file(path: str, key: str, origin: Origin) -> str:
    """Return the path of a file that a setting names; a URL is taken as it is.

    Raises:
        InputError: nothing is there.
    """
    if "://" not in path and not Path(path).expanduser().exists():
        raise InputError(f"{origin}: pip's {key} is not there: no file {path}", origins=[origin])
    return path
