"""Fragments from text, for tests: files behind a fake of the reading port, or real ones in a temporary folder."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from conda_llmenv.compose import merge, read_fragment
from conda_llmenv.errors import LlmenvError
from conda_llmenv.model import EnvSpec, Fragment, Kind, Layer, Source

HOME = Path("/project/envs")


def source(text: str | bytes, name: str = "f", kind: Kind = Kind.FRAGMENT, directory: Path = HOME) -> Source:
    """Return a file called ``NAME.yml``."""
    content = text if isinstance(text, bytes) else text.encode()
    return Source(name, f"{name}.yml", directory, content, kind)


class Files:
    """A folder of files that are not on disk."""

    def __init__(self, contents: dict[str, str] | None = None) -> None:
        self.contents = {HOME / name: text.encode() for name, text in (contents or {}).items()}

    def read(self, path: Path) -> bytes:
        """Return the bytes of a file, or fail as the disk would."""
        if path not in self.contents:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return self.contents[path]

    def exists(self, path: Path) -> bool:
        """Return whether a file or the folder of one is there."""
        return path == HOME or any(known == path or path in known.parents for known in self.contents)


def fragment(
    text: str | bytes,
    name: str = "f",
    *,
    kind: Kind = Kind.FRAGMENT,
    layer: Layer = Layer.BASE,
    files: dict[str, str] | None = None,
    pure: bool = False,
) -> Fragment:
    """Read one fragment."""
    there = Files(files)
    return read_fragment(replace(source(text, name, kind), layer=layer), there.read, there.exists, pure=pure)


def merged(*texts: str) -> EnvSpec:
    """Merge fragments ``a.yml``, ``b.yml``, … each of its own layer, in order."""
    layers = list(Layer)
    return merge([fragment(text, "abcdefgh"[i], layer=layers[min(i, 4)]) for i, text in enumerate(texts)])


def texts_of(spec: EnvSpec) -> dict[str, tuple[str, ...]]:
    """Return the specs to solve by package."""
    return {one.name: one.texts for one in spec.specs}


def report(error: LlmenvError) -> str:
    """Return everything a person would read of an error."""
    return "\n".join([error.message, *error.details, error.hint])
