"""The packaged files as a library, with no project folder and no home folder behind them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from conda_llmenv.compose import read_fragment
from conda_llmenv.errors import NotFoundError
from conda_llmenv.model import Fragment, Kind, Layer, Source

ROOT = Path(__file__).parents[2]
FRAGMENTS = sorted((ROOT / "envs").glob("*.yml"))
TIERS = sorted((ROOT / "envs" / "tiers").glob("*.yml"))
RECIPES = sorted((ROOT / "recipes").glob("*.yml"))
FILES = [*FRAGMENTS, *TIERS, *RECIPES]

_KINDS = {"fragment": FRAGMENTS, "tier": TIERS, "recipe": RECIPES}
_LAYERS = {"fragment": Layer.BASE, "tier": Layer.TIER, "recipe": Layer.RECIPE}


def kind_of(path: Path) -> str:
    """Return which kind of file a packaged file is: the word of its schema."""
    return next(kind for kind, paths in _KINDS.items() if path in paths)


def source_of(path: Path) -> Source:
    """Return a packaged file as the readers take it."""
    kind = kind_of(path)
    return Source(
        name=path.stem,
        display=str(path.relative_to(ROOT)),
        directory=path.parent,
        content=path.read_bytes(),
        kind=Kind(kind),
        layer=_LAYERS[kind],
        detail=path.stem,
    )


def plain(path: Path) -> Mapping[str, Any]:
    """Return a file as conda sees it: YAML, without comments and positions."""
    loaded = YAML(typ="safe", pure=True).load(path.read_text())
    assert isinstance(loaded, dict), f"{path.name} is no mapping"
    return loaded


def read(path: Path) -> Fragment:
    """Return a packaged file, read."""
    return read_fragment(source_of(path), Path.read_bytes, Path.exists)


class PackagedLibrary:
    """Finds the packaged files by name and nothing else."""

    def fragment(self, name: str) -> Source | None:
        """Return the fragment of that name, or None."""
        return self._find("fragment", name)

    def tier(self, name: str) -> Source | None:
        """Return the tier of that name, or None."""
        return self._find("tier", name)

    def recipe(self, name: str) -> Source | None:
        """Return the recipe of that name, or None."""
        return self._find("recipe", name)

    def project(self) -> Source | None:
        """Return None: there is no project here."""
        return None

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of a kind, sorted."""
        return tuple(path.stem for path in _KINDS[kind])

    def read(self, path: Path) -> bytes:
        """Return the bytes of an included file."""
        return path.read_bytes()

    def exists(self, path: Path) -> bool:
        """Return whether a path is there."""
        return path.exists()

    def file(self, path: Path) -> Source:
        """Return a file given by path."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise NotFoundError(f"{path} cannot be read: {error.strerror}") from error
        return Source(path.stem, str(path), path.parent, content, layer=Layer.COMMAND_LINE)

    def _find(self, kind: str, name: str) -> Source | None:
        return next((source_of(path) for path in _KINDS[kind] if path.stem == name), None)
