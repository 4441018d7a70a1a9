"""Every lockfile format: how it is called, which files are it, what it carries, and what reads and writes it."""

from __future__ import annotations

import importlib
from fnmatch import fnmatch
from pathlib import PurePath

from msgspec import Struct

from conda_llmenv.errors import InputError
from conda_llmenv.locks.header import CREATE, FIRST_LINE, carried, carry, head_length
from conda_llmenv.model import Lock


class Format(Struct, frozen=True):
    """One row of the table of formats.

    Attributes:
        name: as ``--format`` takes it.
        module: what has ``write(lock) -> str`` and, where ``reads``, ``read(text, display) -> Lock``.
        file_names: patterns of file names; the first is what is written.
        summary: what it is for, in a line.
        exact: it has an address and a hash for each package, so that nothing is solved.
        platforms: it holds several platforms.
        conda, pip: which packages it holds.
        reads: whether it can be read.
        variables: it holds variables, option lines and ``nodefaults`` itself; where not, the head carries them.
        reader: the module with ``read``, where it is another one: a library that wants a file is an adapter's.
        again: what the first line of a file says of how to use it.
    """

    name: str
    module: str
    file_names: tuple[str, ...]
    summary: str
    exact: bool = True
    platforms: bool = False
    conda: bool = True
    pip: bool = True
    reads: bool = True
    variables: bool = False
    reader: str = ""
    again: str = CREATE

    @property
    def creates(self) -> bool:
        """Whether ``create --lock`` makes an environment of it."""
        return self.reads and self.conda

    def write(self, lock: Lock) -> str:
        """Return the text of a lockfile.

        Raises:
            InputError: the lock holds what this format cannot say; all of it is named.
        """
        text: str = importlib.import_module(self.module).write(lock)
        return text if self.variables else carry(text, lock, self.again)

    def read(self, text: str, display: str) -> Lock:
        """Return what a lockfile says.

        Args:
            text: of the file.
            display: its path as shown in messages, which start with it and the line.

        Raises:
            FileFormatError: it is not what it should be.
        """
        from conda_llmenv.locks.carried import check_head  # reading is rarer than writing, and costs more

        check_head(text, display)
        lock: Lock = importlib.import_module(self.reader or self.module).read(text, display)
        return lock if self.variables else carried(text, lock)


FORMATS = {
    entry.name: entry
    for entry in (
        Format(
            "environment",
            "conda_llmenv.locks.environment_lock",
            ("environment.lock.yml", "environment.lock.yaml"),
            "for people and other platforms: name and version of everything, read by conda and mamba too",
            exact=False,
            variables=True,
            reader="conda_llmenv.locks.environment_reader",
        ),
        Format(
            "pixi",
            "conda_llmenv.locks.pixi",
            ("pixi.lock",),
            "exact, several platforms, conda and pip; read by pixi and rattler",
            platforms=True,
            reader="conda_llmenv.engines.rattler.pixi_lock",
        ),
        Format(
            "conda-lock",
            "conda_llmenv.locks.conda_lock",
            ("conda-lock.yml", "*conda-lock.yml", "*conda-lock.yaml"),
            "exact, several platforms, conda and pip; read by conda-lock, mamba and micromamba",
            platforms=True,
        ),
        Format(
            "explicit",
            "conda_llmenv.locks.explicit",
            ("explicit.txt", "conda-*.lock"),
            "exact, one platform, conda packages only; read by conda, mamba and micromamba",
            pip=False,
        ),
        Format(
            "pylock",
            "conda_llmenv.locks.pylock",
            ("pylock.toml", "pylock.*.toml"),
            "exact, the pip section only (PEP 751); read by pip and uv",
            conda=False,
            again="It is for an environment that is there: pip install -r FILE, or uv pip install -r FILE",
        ),
        Format(
            "requirements",
            "conda_llmenv.locks.requirements",
            ("requirements.lock.txt", "requirements.txt"),
            "the pip section only, with hashes; read by pip and uv",
            conda=False,
            again="It is for an environment that is there: pip install -r FILE",
        ),
        Format(
            "constraints",
            "conda_llmenv.locks.constraints",
            ("constraints.txt",),
            "versions of the pip section for `pip install -c`",
            exact=False,
            conda=False,
            reads=False,
            again="It installs nothing by itself: pip install -c FILE PACKAGE",
        ),
    )
}
"""Every format, in the order a person meets them."""


def format_of(name: str) -> Format:
    """Return the format of a name.

    Raises:
        InputError: there is none.
    """
    if name not in FORMATS:
        raise InputError(f"there is no lock format called {name!r}", hint=f"use one of {', '.join(FORMATS)}")
    return FORMATS[name]


def detect(file_name: str, text: str) -> Format:
    """Return the format of a file: by its name, else by how it starts.

    Raises:
        InputError: it is no lockfile we know, or one that is not for reading.
    """
    name = PurePath(file_name).name
    for entry in FORMATS.values():
        if entry.reads and any(fnmatch(name, pattern) for pattern in entry.file_names):
            return entry
    for entry in FORMATS.values():
        if not entry.reads and text.startswith(f"{FIRST_LINE} {entry.again}"):
            hint = "`llmenv lock --format pixi` writes what create --lock takes"
            raise InputError(f"{file_name} is for pip, and no environment can be made of it alone", hint=hint)
    start = text[: _LOOKED_AT + head_length(text)]
    for mark, known in _MARKS:
        if mark in start:
            return FORMATS[known]
    readable = ", ".join(entry.file_names[0] for entry in FORMATS.values() if entry.reads)
    raise InputError(f"{file_name} is no lockfile that is known here", hint=f"known are {readable}")


_LOOKED_AT = 4096
"""Characters below the head in which a format shows itself."""

_MARKS = (
    ("@EXPLICIT", "explicit"),
    ("lock-version", "pylock"),
    ("content_hash:", "conda-lock"),
    ("\nenvironments:", "pixi"),
    (FIRST_LINE, "environment"),
)
"""What stands near the start of a file of each format, the most telling first."""
