"""What the address of a package says: its channel, its subdir and, in the file's name, the package itself."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from conda_llmenv.model import Channel, Record
from conda_llmenv.redact import strip

ALIAS = "https://conda.anaconda.org"
"""Where a channel lives that is called by its bare name."""

_DEFAULTS = "https://repo.anaconda.com"
_DEFAULT_NAMES = ("pkgs/main", "pkgs/r", "pkgs/msys2")
_KEPT = "/!+,:=@~"
_ENDINGS = (".conda", ".tar.bz2")
SUBDIR = re.compile(r"noarch|(?:linux|osx|win|freebsd|zos|emscripten|wasi)-\w+")
_FILE = re.compile(r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)-(?P<version>[A-Za-z0-9_.!+]+)-(?P<build>[A-Za-z0-9_.+]+)")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
_REFERENCE = re.compile(r"(?<=://)\$\{\w+\}(?::\$\{\w+\})?@")
_BUILD_NUMBER = re.compile(r"(?:^|\D)(\d{1,9})$", re.ASCII)


class Address(Struct, frozen=True):
    """The parts of a package's address; ``subdir`` is empty for a file that lies in no channel's folder."""

    url: str
    channel: str
    subdir: str
    file_name: str
    name: str
    version: str
    build: str

    def record(self) -> Record:
        """Return the record as far as an address tells it; the build number and the kind of noarch are guesses.

        rattler guesses them alike where a lock leaves them out, so that both read the same from the same file.
        """
        return Record(
            name=self.name,
            version=self.version,
            build=self.build,
            build_number=build_number(self.build),
            subdir=self.subdir,
            url=self.url,
            channel=self.channel,
            file_name=self.file_name,
            noarch=noarch_kind(self.subdir, self.build),
        )


def clean(url: str) -> str:
    """Return an address without credentials, whether they stand there or are ``${NAME}`` references."""
    return _REFERENCE.sub("", strip(url))


def has_blank(url: str) -> bool:
    """Return whether an address holds what would end it on a command line or in a list: blanks, control characters."""
    return _BLANK.search(url) is not None


def parse_address(url: str) -> Address:
    """Return what an address says; a path is the address of that file.

    Raises:
        ValueError: it is not the address of a conda package; the text is the reason, one clause.
    """
    address = clean(f"file://{quote(url, safe=_KEPT)}" if url.startswith("/") else url)
    if urlsplit(address).scheme not in {"https", "http", "file"}:
        raise ValueError("is no address that starts with https://, http:// or file://, and no absolute path")
    if has_blank(address):
        raise ValueError("holds a blank")
    folder, _, last = address.rpartition("/")
    file_name = unquote(last)
    ending = next((ending for ending in _ENDINGS if file_name.endswith(ending)), None)
    if ending is None:
        raise ValueError("does not end in .conda or .tar.bz2")
    match = _FILE.fullmatch(file_name.removesuffix(ending))
    if match is None:
        raise ValueError("has no file name of the form name-version-build")
    channel, _, subdir = folder.rpartition("/")
    if not SUBDIR.fullmatch(subdir):
        if not address.startswith("file://"):
            raise ValueError("does not lie in a folder such as linux-64 or noarch")
        channel, subdir = folder, ""
    return Address(address, channel, subdir, file_name, match["name"], match["version"], match["build"])


def build_number(build: str) -> int:
    """Return the number at the end of a build string, 0 where there is none."""
    match = _BUILD_NUMBER.search(build)
    return int(match[1]) if match else 0


def noarch_kind(subdir: str, build: str) -> str | None:
    """Return the kind of noarch package that a build string suggests: ``python`` where it mentions ``py``."""
    if subdir != "noarch":
        return None
    return "python" if "py" in build else "generic"


def channel_of(written: str) -> tuple[Channel, ...]:
    """Return the channels that a name or an address in a lockfile stands for, without credentials."""
    if "://" not in written:
        names = _DEFAULT_NAMES if written == "defaults" else (written.strip("/"),)
        return tuple(
            Channel(name, f"{_DEFAULTS if name.startswith('pkgs/') else ALIAS}/{quote(name)}") for name in names
        )
    url = clean(written).rstrip("/")
    return (Channel(url.removeprefix(f"{ALIAS}/"), url),)
