"""Find fragments, tiers, recipes and the project file on disk; the nearest file of a name wins."""

from __future__ import annotations

import errno
import importlib.resources
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import platformdirs
from msgspec import Struct
from msgspec.structs import replace

from conda_llmenv.errors import NotFoundError
from conda_llmenv.model import Kind, Layer, Source
from conda_llmenv.names import RULES

SUFFIXES = (".yml", ".yaml")
PROJECT_NAME = "llmenv"
READ_LIMIT = 1024 * 1024 + 1
"""Bytes read of one file: one more than the readers take, so that they can say that it is too large."""

_LAYERS = {Kind.FRAGMENT: Layer.BASE, Kind.RECIPE: Layer.RECIPE, Kind.TIER: Layer.TIER}


class _Root(Struct, frozen=True):
    """A folder that holds ``envs`` and ``recipes``, and how its files are shown."""

    envs: Path
    recipes: Path
    shown: str

    def folder(self, kind: Kind) -> tuple[Path, str]:
        """Return the folder of a kind and the start of its display path."""
        if kind is Kind.RECIPE:
            return self.recipes, f"{self.shown}recipes"
        if kind is Kind.TIER:
            return self.envs / "tiers", f"{self.shown}envs/tiers"
        return self.envs, f"{self.shown}envs"


class FileLibrary:
    """Looks in the project, then in shared folders, then in the person's configuration, then in the package.

    Files of the project are shown as ``./envs/NAME.yml``, those of the package as ``envs/NAME.yml``.

    Args:
        cwd: absolute folder of the project.
        config_dir: absolute folder of the person's own ``envs`` and ``recipes``.
        packaged_envs, packaged_recipes: absolute folders that came with the package.
        shared: absolute folders of fragments that a group shares; a folder ``recipes`` beside one counts too.
    """

    def __init__(
        self, cwd: Path, config_dir: Path, packaged_envs: Path, packaged_recipes: Path, shared: Sequence[Path] = ()
    ) -> None:
        self._cwd = cwd
        self._roots = (
            _Root(cwd / "envs", cwd / "recipes", "./"),
            *(_Root(folder, folder.parent / "recipes", f"{_shortened(folder.parent)}/") for folder in shared),
            _Root(config_dir / "envs", config_dir / "recipes", f"{_shortened(config_dir)}/"),
            _Root(packaged_envs, packaged_recipes, ""),
        )

    def fragment(self, name: str) -> Source | None:
        """Return the nearest fragment of that name, or None."""
        return self._nearest(name, Kind.FRAGMENT)

    def tier(self, name: str) -> Source | None:
        """Return the nearest tier of that name, or None."""
        return self._nearest(name, Kind.TIER)

    def recipe(self, name: str) -> Source | None:
        """Return the nearest recipe of that name, or None."""
        return self._nearest(name, Kind.RECIPE)

    def project(self) -> Source | None:
        """Return the project file of the current folder, or None."""
        found = [path for path in (self._cwd / f"{PROJECT_NAME}{suffix}" for suffix in SUFFIXES) if path.is_file()]
        if not found:
            return None
        source = self._source(found[0], f"./{found[0].name}", Kind.PROJECT, Layer.PROJECT)
        shadows = tuple(f"./{path.name}" for path in found[1:])
        return replace(source, shadows=shadows)

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the known names of a kind (``fragment``, ``tier``, ``recipe``), sorted."""
        pattern, _rule = RULES[kind]
        found = set()
        for root in self._roots:
            folder, _shown = root.folder(Kind(kind))
            if folder.is_dir():
                found |= {path.stem for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file()}
        return tuple(sorted(name for name in found if pattern.fullmatch(name)))

    def read(self, path: Path) -> bytes:
        """Return the bytes of a file, at most :data:`READ_LIMIT` of them.

        Raises:
            OSError: it cannot be read.
        """
        _refuse_endless(path)
        with path.open("rb") as stream:
            return stream.read(READ_LIMIT)

    def exists(self, path: Path) -> bool:
        """Return whether a file or folder is there."""
        return path.exists()

    def file(self, path: Path) -> Source:
        """Return a file given by path, as a fragment.

        Raises:
            NotFoundError: it cannot be read.
        """
        if path == Path():
            raise NotFoundError(
                "the path is empty, or `.`, which is a folder", hint="give the path of an environment.yml"
            )
        try:
            return self._source(self._cwd / path, str(path), Kind.FRAGMENT, Layer.COMMAND_LINE)
        except OSError as error:
            hint = "give the path of an environment.yml" if "://" not in str(path) else "download it and give its path"
            raise NotFoundError(f"{path} cannot be read: {error.strerror or error}", hint=hint) from error

    def _nearest(self, name: str, kind: Kind) -> Source | None:
        pattern, _rule = RULES[kind.value]
        if not pattern.fullmatch(name):
            return None
        found = list(self._files(name, kind))
        if not found:
            return None
        (path, display), *others = found
        shadows = tuple(shown for _path, shown in others)
        return replace(self._source(path, display, kind, _LAYERS[kind]), shadows=shadows)

    def _files(self, name: str, kind: Kind) -> Iterator[tuple[Path, str]]:
        """Yield the files of a name with their display paths, nearest first; one file is never its own shadow."""
        seen: set[Path] = set()
        for root in self._roots:
            folder, shown = root.folder(kind)
            for suffix in SUFFIXES:
                path = folder / f"{name}{suffix}"
                if path.is_file() and path.resolve() not in seen:
                    seen.add(path.resolve())
                    yield path, f"{shown}/{path.name}"

    def _source(self, path: Path, display: str, kind: Kind, layer: Layer) -> Source:
        return Source(path.stem, display, path.parent.absolute(), self.read(path), kind, layer)


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe, which is read through /dev/stdin only",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def _refuse_endless(path: Path) -> None:
    """Refuse what may have no end: anything but a file or a pipe from the shell (``-f /dev/stdin``, ``-f <(…)``)."""
    kind = stat.S_IFMT(path.stat().st_mode)
    inherited = str(path) == "/dev/stdin" or str(path.parent) in {"/dev/fd", "/proc/self/fd"}
    if kind != stat.S_IFREG and not (kind == stat.S_IFIFO and inherited):
        raise OSError(errno.EINVAL, f"it is {_KINDS.get(kind, 'no regular file')}")


def read_whole(path: Path, limit: int) -> bytes:
    """Return the bytes of a plain file, or of a pipe from the shell.

    Args:
        path: of the file.
        limit: bytes from which it counts as no file of the kind that is meant.

    Raises:
        OSError: it cannot be read, has no end, or is larger.
    """
    _refuse_endless(path)
    with path.open("rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit // 2**20} MiB")
    return content


def default_library(cwd: Path, shared: Sequence[Path] = ()) -> FileLibrary:
    """Return the library of a project folder, with the person's configuration and what ships with the package.

    Args:
        cwd: the project folder.
        shared: folders of fragments that conda's configuration names (``plugins: llmenv_envs_path``).
    """
    config_dir = platformdirs.user_config_path("llmenv", appauthor=False)
    return FileLibrary(cwd.absolute(), config_dir, _packaged("envs"), _packaged("recipes"), shared)


def _packaged(name: str) -> Path:
    """Return a packaged folder: inside the wheel, or at the top of the checkout where the package runs from one."""
    package = Path(str(importlib.resources.files("conda_llmenv")))
    inside = package / "data" / name
    return inside if inside.is_dir() else package.parent / name


def _shortened(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
