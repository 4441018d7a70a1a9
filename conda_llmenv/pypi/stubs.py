"""Metadata-only wheels that stand for what conda provides.

Each stub has the conda package's name and version and no dependencies. Given to a resolver as ``name @ file:…``
constraints they make it take exactly that version, whether or not an index knows it, follow none of the index's
dependencies of it, and report a conflict where a requirement needs another version. They are dropped from every plan.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from conda_llmenv.pypi.buildcache import cache_root

_EPOCH = (1980, 1, 1, 0, 0, 0)


def wheel_name(name: str, version: str) -> str:
    """Return the file name of a stub."""
    return f"{name.replace('-', '_')}-{version}-py3-none-any.whl"


def wheel_bytes(name: str, version: str) -> bytes:
    """Return a stub; the same name and version give the same bytes."""
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    files = {
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{folder}/WHEEL": "Wheel-Version: 1.0\nGenerator: conda-llmenv\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={_digest(text)},{len(text.encode())}" for path, text in files.items()]
    files[f"{folder}/RECORD"] = "\n".join([*rows, f"{folder}/RECORD,,", ""])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), text)
    return buffer.getvalue()


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def stub_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder that stubs are kept in."""
    return cache_root(environ) / "stubs"


def write_stubs(versions: Mapping[str, str], folder: Path) -> list[str]:
    """Write the stubs that are not there yet and return the constraint lines that point at them.

    A stub keeps its path and time from run to run, so that an installer's cache recognises it.

    Args:
        versions: normalised name → PEP 440 version.
        folder: where stubs are kept; made if missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, version in sorted(versions.items()):
        path = folder.resolve() / wheel_name(name, version)
        content = wheel_bytes(name, version)
        if not path.is_file() or path.read_bytes() != content:
            _replace(path, content)
        lines.append(f"{name} @ file://{quote(str(path))}")
    return lines


def _replace(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".stub-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    Path(temporary).replace(path)
