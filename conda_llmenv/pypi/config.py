"""pip's configuration, read exactly as pip reads it: which files, which sections, which value wins.

The rules are pip's (``pip._internal.configuration`` and ``pip._internal.cli.parser``): files of kind global < user <
site < ``PIP_CONFIG_FILE``, then ``PIP_*`` variables; section ``[install]`` beats ``[global]`` whichever file it stands
in, and the environment beats both; an empty value counts as not set.
"""

from __future__ import annotations

import configparser
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from conda_llmenv.errors import FileFormatError, InputError
from conda_llmenv.model import Layer, Origin

SECTIONS = ("global", "install")
"""The sections ``pip install`` reads, weaker first."""

ALIASES = {"pypi-url": "index-url", "default-timeout": "timeout"}
"""Second names of pip's long options."""

IGNORED_VARIABLES = frozenset({"config-file", "version", "help"})
"""``PIP_*`` variables that are not options of ``pip install``."""

TRUE_WORDS = frozenset({"y", "yes", "t", "true", "on", "1"})
FALSE_WORDS = frozenset({"n", "no", "f", "false", "off", "0"})


class Setting(Struct, frozen=True):
    """One value of pip's configuration with the file and line, or the variable, it comes from."""

    key: str
    value: str
    origin: Origin

    def words(self) -> tuple[str, ...]:
        """Return the value as pip splits options that may be given several times."""
        return tuple(self.value.split())

    def truth(self) -> bool:
        """Return the value of a flag.

        Raises:
            InputError: it is none of the words pip accepts.
        """
        word = self.value.lower()
        if word in TRUE_WORDS or word in FALSE_WORDS:
            return word in TRUE_WORDS
        raise InputError(
            f"{self.origin}: {self.value!r} is no value for pip's {self.key}",
            hint="use yes or no",
            origins=[self.origin],
        )


class PipConfig(Struct, frozen=True):
    """Every setting that applies to ``pip install``, weakest first."""

    settings: tuple[Setting, ...] = ()

    def get(self, key: str) -> Setting | None:
        """Return the setting that wins for a key, or None."""
        return next((setting for setting in reversed(self.settings) if setting.key == key), None)

    def every(self, key: str) -> tuple[Setting, ...]:
        """Return all settings of a key, weakest first: for the options that pip accumulates."""
        return tuple(setting for setting in self.settings if setting.key == key)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a flag's value, or ``default`` where it is not set."""
        setting = self.get(key)
        return default if setting is None else setting.truth()


def parse_config(files: Sequence[tuple[str, str]], environ: Mapping[str, str]) -> PipConfig:
    """Return the configuration that ``files`` and ``PIP_*`` variables give together.

    Args:
        files: (display path, text), weakest first.
        environ: the environment.

    Raises:
        FileFormatError: a file is not in pip's format.
    """
    sections: dict[str, dict[str, Setting]] = {section: {} for section in SECTIONS}
    for path, text in files:
        for section, setting in _read_text(path, text):
            sections[section][setting.key] = setting
    ordered = [setting for section in SECTIONS for setting in sections[section].values()]
    ordered += _read_environment(environ)
    return PipConfig(tuple(setting for setting in ordered if setting.value))


def _read_text(path: str, text: str) -> Iterator[tuple[str, Setting]]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text, source=path)
    except configparser.Error as error:
        line = getattr(error, "lineno", None) or next((number for number, _ in getattr(error, "errors", ())), None)
        origin = Origin(path, line, Layer.BASE, "pip's configuration")
        raise FileFormatError(
            f"{origin}: not in the format of pip's configuration",
            details=str(error).splitlines()[:1],
            hint="pip itself stops at this file too; correct it or set PIP_CONFIG_FILE=/dev/null to go without",
            origins=[origin],
        ) from error
    for section in SECTIONS:
        if parser.has_section(section):
            for name, value in parser.items(section):
                origin = Origin(path, _line_of(text, section, name), Layer.BASE, "pip's configuration")
                yield section, Setting(normalise_key(name), value.strip(), origin)


def _line_of(text: str, section: str, name: str) -> int | None:
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\[(?P<name>[^\]]+)\]", line)
        if header:
            inside = header["name"] == section
        elif inside and re.split(r"[=:]", line, maxsplit=1)[0].strip().lower() == name:
            return number
    return None


def _read_environment(environ: Mapping[str, str]) -> Iterator[Setting]:
    for variable, value in environ.items():
        if variable.startswith("PIP_"):
            key = normalise_key(variable[4:])
            if key not in IGNORED_VARIABLES:
                yield Setting(key, value.strip(), Origin(variable, None, Layer.BASE, "environment"))


def normalise_key(name: str) -> str:
    """Return the long option a key of a file or a variable stands for, without its dashes."""
    key = name.lower().replace("_", "-").removeprefix("--")
    return ALIASES.get(key, key)


def config_paths(environ: Mapping[str, str], home: Path, prefix: Path | None) -> tuple[Path, ...]:
    """Return the files pip would look for, weakest first, whether or not they exist.

    Args:
        environ: for ``XDG_CONFIG_DIRS``, ``XDG_CONFIG_HOME`` and ``PIP_CONFIG_FILE``.
        home: the user's home folder.
        prefix: the environment whose ``pip.conf`` counts as pip's "site" file, if it is known.
    """
    override = environ.get("PIP_CONFIG_FILE")
    if override == os.devnull:
        return ()
    shared = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    paths = [Path(folder) / "pip" / "pip.conf" for folder in shared if folder] + [Path("/etc/pip.conf")]
    if not (override and Path(override).exists()):
        own = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        paths += [home / ".pip" / "pip.conf", own / "pip" / "pip.conf"]
    if prefix is not None:
        paths.append(prefix / "pip.conf")
    if override:
        paths.append(Path(override))
    return tuple(paths)


def read_config(environ: Mapping[str, str], home: Path, prefix: Path | None = None) -> PipConfig:
    """Return pip's configuration as it is on this machine.

    Raises:
        FileFormatError: a file that is there cannot be read or is not in pip's format.
    """
    texts = ((str(path), _read(path)) for path in config_paths(environ, home, prefix))
    return parse_config([(path, text) for path, text in texts if text is not None], environ)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(
            f"{path}: pip's configuration cannot be read",
            details=[str(error)],
            hint="pip itself stops at this file too; make it readable UTF-8",
        ) from error
