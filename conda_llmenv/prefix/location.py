"""Where an environment goes: conda's rules for ``-n`` and ``-p``, and the places that are refused."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from conda_llmenv.errors import InputError, NotFoundError, PrefixError, PrefixRefused
from conda_llmenv.model import Notice
from conda_llmenv.names import check_name
from conda_llmenv.prefix.durable import explain
from conda_llmenv.prefix.journal import Workplace
from conda_llmenv.prefix.state import STATE_FILE
from conda_llmenv.unlisted import HISTORY

LONGEST_PREFIX = 255
"""Bytes of a prefix that fit the placeholder compiled into conda packages."""

LONGEST_SHEBANG = 127
"""Bytes of a script's first line that every Linux kernel reads."""

UNSAFE = frozenset('$`"\\')
"""Characters that run something, or end a quotation, where a script in the environment quotes its own path."""

_SHEBANG_REST = len("#!/bin/python3.NN")
_ENVIRONMENT_PARTS = (HISTORY, STATE_FILE)


class EnvironmentFolders(Protocol):
    """The part of a person's configuration that says where environments live."""

    @property
    def envs_dirs(self) -> tuple[Path, ...]:
        """Folders of named environments, in the order they are searched."""

    @property
    def root_prefix(self) -> Path | None:
        """The ``base`` environment of the conda installation, or None without one."""


def locate(
    name: str | None = None,
    prefix: str | os.PathLike[str] | None = None,
    *,
    config: EnvironmentFolders,
    environ: Mapping[str, str],
) -> Path:
    """Return the absolute path where an environment of that name or prefix is, or would be created.

    A name is looked for in every ``envs_dirs`` folder, in order; a new one goes to the first that can be written. A
    prefix is expanded (``~``, ``$VAR``) and made absolute; its last component is not resolved if it is a link.

    Raises:
        InputError: both or neither are given, or the rules for names and paths refuse it.
        PrefixRefused: what is there now is no environment and not an empty folder, or the place is not safe.
        PrefixError: the disk does not let us look.
    """
    found = _from_name_or_prefix(name, prefix, config, environ)
    check_target(found, config=config, environ=environ)
    return found


def find(
    name: str | None = None,
    prefix: str | os.PathLike[str] | None = None,
    *,
    config: EnvironmentFolders,
    environ: Mapping[str, str],
) -> Path:
    """Return the path of an environment that exists; without name and prefix, the active one.

    Raises:
        InputError: the rules for names and paths refuse it, or nothing is given and nothing is active.
        NotFoundError: there is no such environment; close names are offered.
    """
    if name is None and prefix is None:
        active = environ.get("CONDA_PREFIX")
        if not active:
            raise InputError("no environment is given and none is active", hint="name one with -n NAME or -p FOLDER")
        prefix = active
    found = _from_name_or_prefix(name, prefix, config, environ)
    if is_environment(found):
        return found
    if name is None:
        raise NotFoundError(f"there is no environment at {found}", hint="llmenv list shows the environments known here")
    raise NotFoundError(f"there is no environment named {name!r}", hint=_close_names(name, config.envs_dirs))


def is_environment(folder: Path) -> bool:
    """Return whether the folder is an environment of conda's or ours (finished or not)."""
    return any(_says_yes((folder / part).is_file) for part in _ENVIRONMENT_PARTS)


def is_in_change(prefix: Path) -> bool:
    """Return whether a change of the prefix is under way, or was when its process ended; a transaction settles it."""
    return Workplace(prefix).folder.is_dir()


def check_target(prefix: Path, *, config: EnvironmentFolders, environ: Mapping[str, str]) -> None:
    """Refuse a path that must never become, or be replaced as, an environment.

    Raises:
        InputError: the path itself is wrong.
        PrefixRefused: what is on the disk there is in the way.
        PrefixError: the disk does not let us look.
    """
    _check_text(prefix)
    _check_place(prefix, config, environ)
    check_occupant(prefix)
    _check_parent(prefix.parent)


def path_notices(prefix: Path) -> tuple[Notice, ...]:
    """Return what a person should know about a path that is allowed but gives trouble with some tools."""
    notices = []
    if " " in str(prefix):
        notices.append(
            Notice(
                "prefix-spaces", f"the path of the environment has a space ({prefix}); some build tools fail on that"
            )
        )
    if len(os.fsencode(prefix)) + _SHEBANG_REST > LONGEST_SHEBANG:
        notices.append(
            Notice(
                "prefix-long",
                f"the path of the environment is long for a script's first line ({LONGEST_SHEBANG} bytes): {prefix}",
                hint="scripts that are installed later by other tools may not start; a shorter -p avoids it",
            )
        )
    return tuple(notices)


def _from_name_or_prefix(
    name: str | None, prefix: str | os.PathLike[str] | None, config: EnvironmentFolders, environ: Mapping[str, str]
) -> Path:
    if name is not None and prefix is not None:
        raise InputError("a name and a prefix are given", hint="use either -n NAME or -p FOLDER")
    if prefix is not None:
        return _absolute(os.fspath(prefix), environ)
    if name is None:
        raise InputError("neither a name nor a prefix is given", hint="use -n NAME or -p FOLDER")
    if "/" in name or "\\" in name:
        raise InputError(f"environment name {name[:40]!a} holds a path separator", hint="give a folder with -p instead")
    return _by_name(check_name("environment", name), config.envs_dirs)


def _by_name(name: str, envs_dirs: Iterable[Path]) -> Path:
    """Search like conda: the first folder that has it, else the first that can be written (or made)."""
    folders = tuple(envs_dirs)
    for folder in folders:
        if _says_yes((folder / name).is_dir):
            return folder / name
    for folder in folders:
        existing = next((place for place in (folder, *folder.parents) if _says_yes(place.exists)), None)
        if existing is not None and existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
            return folder / name
    raise PrefixError(
        f"no folder for environments can be written: {', '.join(map(str, folders)) or 'none is configured'}",
        hint="give a folder with -p, or set envs_dirs in ~/.condarc",
    )


def _absolute(text: str, environ: Mapping[str, str]) -> Path:
    if not text.strip():
        raise InputError("the prefix is empty", hint="give a folder after -p")
    if "\0" in text:
        raise InputError("the prefix holds a NUL character", hint="give a plain folder after -p")
    if text == "~" or text.startswith("~/"):
        text = environ.get("HOME", "~") + text[1:]
    expanded = _expand(os.path.expanduser(text), environ)  # noqa: PTH111 - Path.expanduser fails on an unknown user
    return Path(os.path.abspath(expanded))  # noqa: PTH100 - a link at the end stays one


def _expand(text: str, environ: Mapping[str, str]) -> str:
    """Expand ``$VAR`` and ``${VAR}`` as a shell would, from the given environment; unknown ones stay."""
    return re.sub(
        r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})",
        lambda match: environ.get(match["plain"] or match["braced"], match[0]),
        text,
    )


def _check_text(prefix: Path) -> None:
    text = str(prefix)
    if os.pathsep in text:
        raise InputError(
            f"the prefix holds {os.pathsep!r}, which separates folders in PATH: {text}", hint="choose another -p"
        )
    if not text.isprintable():
        raise InputError(f"the prefix holds characters that cannot be shown: {text!a}", hint="choose a plain -p")
    unsafe = sorted(set(text) & UNSAFE)
    if unsafe:
        raise InputError(
            f"the prefix holds {' '.join(unsafe)}, which shells take for something else: {text}",
            hint="choose another -p: scripts in the environment are started through a shell when its path is long",
        )
    size = len(os.fsencode(prefix))
    if size > LONGEST_PREFIX:
        raise InputError(
            f"the prefix is {size} bytes long; conda packages have room for {LONGEST_PREFIX}",
            hint="choose a shorter -p",
        )


def _check_place(prefix: Path, config: EnvironmentFolders, environ: Mapping[str, str]) -> None:
    home = environ.get("HOME")
    if prefix == prefix.parent or (home and _same(prefix, Path(home))):
        what = "the root of the file system" if prefix == prefix.parent else "your home folder"
        raise InputError(
            f"{prefix} is {what}, never an environment", hint=f"choose a folder inside it, such as {prefix / 'env'}"
        )
    if config.root_prefix is not None and _same(prefix, config.root_prefix):
        raise InputError(
            f"{prefix} is conda's own environment (base) and is never touched", hint="choose another folder with -p"
        )
    if any(_same(prefix, folder) for folder in config.envs_dirs):
        raise InputError(f"{prefix} is the folder of all named environments", hint="choose a name with -n")
    holder = next((place for place in prefix.parents if is_environment(place)), None)
    named = any(folder in prefix.parents for folder in config.envs_dirs)
    if holder is not None and (holder == prefix.parent or not named):
        raise InputError(
            f"{prefix} lies inside the environment {holder}, and would go when that is removed or replaced",
            hint="choose another folder",
        )


def check_occupant(prefix: Path) -> None:
    """Refuse anything at ``prefix`` but an environment, an empty folder, or nothing.

    Raises:
        PrefixRefused: something else is there; it is left alone.
    """
    try:
        facts = prefix.lstat()
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise PrefixRefused(f"a part of {prefix.parent} is a file", hint="choose another folder with -p") from None
    except OSError as error:
        raise explain(error, "use", prefix) from error
    if stat.S_ISLNK(facts.st_mode) and not prefix.exists():
        raise PrefixRefused(
            f"{prefix} is a link to {prefix.readlink()}, which is not there",
            hint="remove the link or choose another folder",
        )
    if not prefix.is_dir():
        raise PrefixRefused(f"{prefix} is a file", hint="choose a folder that does not exist yet")
    if is_environment(prefix) or is_in_change(prefix):
        return
    try:
        foreign = min((path.name for path in prefix.iterdir()), default=None)
    except OSError as error:
        raise explain(error, "use", prefix) from error
    if foreign is not None:
        raise PrefixRefused(
            f"{prefix} is not empty and not an environment (it holds {foreign!a})",
            hint="choose a folder that does not exist yet; what is there is left alone",
        )


def _check_parent(parent: Path) -> None:
    """Refuse a parent in which every account may swap what we write for something else."""
    try:
        facts = parent.stat()
    except OSError:
        return  # it will be made, or the transaction says why it cannot be
    if not stat.S_ISDIR(facts.st_mode):
        raise PrefixRefused(f"{parent} is no folder", hint="choose another folder with -p")
    if facts.st_mode & stat.S_IWOTH and not facts.st_mode & stat.S_ISVTX:
        raise PrefixRefused(
            f"every account may rename what is in {parent} (it is world-writable without the sticky bit)",
            hint=f"chmod o-w {parent}, or choose another folder with -p",
        )


def _says_yes(question: Callable[[], bool]) -> bool:
    """Ask the file system; a place that may not be looked at counts as a no."""
    try:
        return question()
    except OSError:
        return False


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one == other


def environment_names(envs_dirs: Iterable[Path]) -> tuple[str, ...]:
    """Return the names of the environments in these folders, sorted; a folder that cannot be read has none."""
    names: set[str] = set()
    for folder in envs_dirs:
        with contextlib.suppress(OSError):
            names |= {path.name for path in folder.iterdir() if is_environment(path)}
    return tuple(sorted(names))


def _close_names(name: str, envs_dirs: Iterable[Path]) -> str:
    close = difflib.get_close_matches(name, environment_names(envs_dirs), n=3)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return "llmenv list shows the environments known here"
