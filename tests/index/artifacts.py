"""Real wheels and source archives, a few hundred bytes each, made in memory."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BACKEND = """
import base64, hashlib, os, zipfile

NAME, VERSION, REQUIRES, BEFORE = {name!r}, {version!r}, {requires!r}, {before!r}
exec(BEFORE)

def metadata():
    lines = ["Metadata-Version: 2.1", f"Name: {{NAME}}", f"Version: {{VERSION}}"]
    return "\\n".join([*lines, *(f"Requires-Dist: {{one}}" for one in REQUIRES), "", ""])

def prepare_metadata_for_build_wheel(directory, config_settings=None):
    folder = f"{{NAME.replace('-', '_')}}-{{VERSION}}.dist-info"
    os.makedirs(os.path.join(directory, folder))
    with open(os.path.join(directory, folder, "METADATA"), "w") as file:
        file.write(metadata())
    return folder

def build_wheel(directory, config_settings=None, metadata_directory=None):
    module = NAME.replace("-", "_")
    folder = f"{{module}}-{{VERSION}}.dist-info"
    files = {{
        f"{{module}}/__init__.py": f"__version__ = {{VERSION!r}}\\nBUILT = {{globals().get('BUILT')!r}}\\n",
        f"{{folder}}/METADATA": metadata(),
        f"{{folder}}/WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }}
    rows = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{{path}},sha256={{digest}},{{len(text)}}")
    files[f"{{folder}}/RECORD"] = "\\n".join([*rows, f"{{folder}}/RECORD,,", ""])
    target = f"{{module}}-{{VERSION}}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, target), "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return target

build_editable = build_wheel

def get_requires_for_build_wheel(config_settings=None):
    return []

get_requires_for_build_editable = get_requires_for_build_wheel
"""
"""A build backend that lies inside its source archive, so that a build needs nothing from an index."""


@dataclass(frozen=True)
class Artifact:
    """A file of an index."""

    name: str
    file_name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """Hex digest of the content."""
        return hashlib.sha256(self.content).hexdigest()


def wheel(
    name: str,
    version: str,
    requires: Sequence[str] = (),
    *,
    files: Mapping[str, str] | None = None,
    tag: str = "py3-none-any",
    broken: bool = False,
) -> Artifact:
    """Return a wheel with a package of its own name.

    Args:
        name: distribution name.
        version: PEP 440 version.
        requires: its dependencies.
        files: path → text; by default one module with ``__version__``.
        tag: compatibility tag.
        broken: cut the archive short.
    """
    module = name.replace("-", "_")
    folder = f"{module}-{version}.dist-info"
    contents = dict(files or {f"{module}/__init__.py": f"__version__ = {version!r}\n"})
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {one}" for one in requires),
    ]
    contents[f"{folder}/METADATA"] = "\n".join([*lines, "", ""])
    contents[f"{folder}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n"
    contents[f"{folder}/RECORD"] = "\n".join([*map(_row, contents.items()), f"{folder}/RECORD,,", ""])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in contents.items():
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), text)
    content = buffer.getvalue()
    return Artifact(name, f"{module}-{version}-{tag}.whl", content[: len(content) // 2] if broken else content)


def _row(item: tuple[str, str]) -> str:
    path, text = item
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(text.encode())}"


def source_files(name: str, version: str, requires: Sequence[str] = (), *, before: str = "") -> dict[str, str]:
    """Return the files of a source tree that builds itself.

    Args:
        name: distribution name.
        version: PEP 440 version.
        requires: its dependencies.
        before: Python code that every hook runs first, as a ``setup.py`` would; a value it gives ``BUILT`` ends up in
            the package.
    """
    backend = BACKEND.format(name=name, version=version, requires=list(requires), before=before)
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    return {"pyproject.toml": project, "backend.py": backend}


def sdist(name: str, version: str, files: Mapping[str, str]) -> Artifact:
    """Return a source archive of the given files, without static metadata."""
    root = f"{name.replace('-', '_')}-{version}"
    package_info = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in {**files, "PKG-INFO": package_info}.items():
            info = tarfile.TarInfo(f"{root}/{path}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return Artifact(name, f"{root}.tar.gz", buffer.getvalue())
