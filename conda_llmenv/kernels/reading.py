"""Reads kernelspecs, whoever wrote them, tolerantly: one that is broken is told as broken."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conda_llmenv.model.kernels import Kernelspec, Place
from conda_llmenv.plain_files import read_plain

LARGEST = 2**20
FILE = "kernel.json"


def kernelspecs(places: Iterable[Place]) -> tuple[Kernelspec, ...]:
    """Return every kernelspec in these folders, in their order, then by name."""
    found = []
    for place in places:
        try:
            folders = sorted(place.path.iterdir())
        except OSError:
            continue
        read = (read_kernelspec(folder, place.kind) for folder in folders)
        found += [spec for spec in read if spec is not None]
    return tuple(found)


def read_kernelspec(folder: Path, kind: str = "") -> Kernelspec | None:
    """Return what a folder says, or None where it is no kernelspec: Jupyter takes any with a kernel.json for one."""
    file = folder / FILE
    name, linked = folder.name.lower(), folder.is_symlink() or file.is_symlink()
    if not os.path.lexists(file):
        return None
    owned = _owned(folder)
    try:
        data = _load(file)
        return Kernelspec(
            name=name,
            folder=folder,
            kind=kind,
            display_name=str(data.get("display_name") or name),
            argv=tuple(_texts(data.get("argv", []))),
            language=str(data.get("language", "")),
            env={str(key): str(value) for key, value in _mapping(data, "env").items()},
            metadata=_mapping(data, "metadata"),
            linked=linked,
            owned=owned,
            problem="" if data.get("argv") else f"{FILE} has no argv",
        )
    except OSError as error:
        problem = error.strerror or str(error)
    except (ValueError, TypeError, RecursionError) as error:
        problem = f"{FILE} cannot be used: {error}"
    return Kernelspec(name, folder, kind, display_name=name, linked=linked, owned=owned, problem=problem)


def _owned(folder: Path) -> bool:
    try:
        return folder.lstat().st_uid == os.geteuid()
    except OSError:
        return False  # gone meanwhile


def _load(file: Path) -> dict[str, Any]:
    data = json.loads(read_plain(file, LARGEST))
    if "\\u0000" in json.dumps(data):
        raise ValueError("a text in it has a NUL")
    json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair is a ValueError
    if not isinstance(data, dict):
        raise TypeError("it holds no mapping")
    return data


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("argv is no list of texts")
    return value


def _mapping(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key) or {}
    if not isinstance(value, dict):
        raise TypeError(f"{key} is no mapping")
    return value
