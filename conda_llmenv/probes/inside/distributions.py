"""Reads what is installed from its own metadata: names and versions, requirements, and files that two packages own."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import platform
import re
import sys
import sysconfig
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from . import plain

METADATA = {".dist-info": "METADATA", ".egg-info": "PKG-INFO"}

CONDA_SHOWN = frozenset(
    (
        "pytorch",
        "pytorch-cuda",
        "cudatoolkit",
        "cuda-version",
        "cudnn",
        "nccl",
        "cuda-nvcc",
        "numpy",
        "mkl",
        "llvm-openmp",
    )
)
"""Conda packages whose version says something about torch."""

PIP = frozenset(("pip", "uv"))
"""Who notes itself as the installer of what did not come from conda."""

CONDA_TORCH = ("pytorch", "libtorch")
"""Conda packages that bring torch's files."""

UNIMPORTANT = re.compile(
    r"(.*/)?__pycache__/.*|.*\.pyc|(tests?|docs?|examples?|benchmarks?)/.*|[^/]*\.(md|rst|txt)|LICENSE[^/]*"
)
"""Files that packages overwrite for one another without harm."""

SHOWN_FILES = 12


class Info(NamedTuple):
    """One installed distribution: normalised name, version, and the folder (or file) of its metadata."""

    name: str
    version: str
    folder: str


def site_folders() -> List[str]:
    """Return the folders of this environment that packages are installed into."""
    paths = sysconfig.get_paths()
    folders = [os.path.realpath(paths[key]) for key in ("purelib", "platlib")]
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


def normalised(name: str) -> str:
    """Return a distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def infos() -> List[Info]:
    """Return every distribution, in the order of the folders and their names."""
    return [info for folder in site_folders() for entry in sorted(os.listdir(folder)) for info in _info(folder, entry)]


def _info(folder: str, entry: str) -> Iterator[Info]:
    stem, suffix = os.path.splitext(entry)
    path = os.path.join(folder, entry)
    if suffix not in METADATA or stem.startswith("~") or not os.path.exists(metadata_file(path)):
        return
    name, _, version = stem.partition("-")
    if suffix == ".egg-info":
        header = _header(path)
        name, version = header.get("Name", [name])[0], header.get("Version", [""])[0]
    yield Info(normalised(name), version, path)


def metadata_file(folder: str) -> str:
    """Return the path of a distribution's metadata; an old ``.egg-info`` can be that file itself."""
    return folder if os.path.isfile(folder) else os.path.join(folder, METADATA[os.path.splitext(folder)[1]])


def _header(folder: str) -> Dict[str, List[str]]:
    """Return the header fields of a distribution's metadata, each with all its values."""
    fields: Dict[str, List[str]] = {}
    for line in plain.text(metadata_file(folder)).split("\n"):
        if not line.strip():
            break
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            fields.setdefault(key, []).append(value.strip())
    return fields


def installed(values: Dict[str, Any]) -> None:
    """Tell what is installed: names, versions, and every name that is there more than once."""
    found = infos()
    by_name: Dict[str, List[Info]] = {}
    for info in found:
        by_name.setdefault(info.name, []).append(info)
    conda = _conda_packages()
    values["versions"] = {name: those[0].version for name, those in by_name.items()}
    values["names"] = sorted(by_name)
    values["python"] = platform.python_version()
    values["torch"] = values["versions"].get("torch") or _version_of_folder()
    values["several"] = {name: [_told(info) for info in those] for name, those in by_name.items() if len(those) > 1}
    values["torch_infos"] = [dict(_told(info), conda=_owned_by_conda(info, conda)) for info in by_name.get("torch", ())]
    values["conda"] = {name: version for name, (version, _) in conda.items() if name in CONDA_SHOWN}
    values["conda_torch"] = [" ".join((name, *conda[name][:1])) for name in CONDA_TORCH if name in conda]
    values["leftovers"] = [e for folder in site_folders() for e in sorted(os.listdir(folder)) if e.startswith("~")][:20]


def _told(info: Info) -> Dict[str, str]:
    installer = plain.text(os.path.join(info.folder, "INSTALLER")).strip()
    return {"version": info.version, "folder": info.folder, "installer": installer}


def _version_of_folder() -> Optional[str]:
    """Return the version of a torch that no metadata tells of, None where there is none."""
    for folder in site_folders():
        match = re.search(r"__version__\s*=\s*['\"]([^'\"]+)", plain.text(os.path.join(folder, "torch", "version.py")))
        if match:
            return match[1]
    return None


def _conda_packages() -> Dict[str, Tuple[str, str]]:
    """Return name to version with build, and the path of the record, of what conda installed."""
    folder = os.path.join(sys.prefix, "conda-meta")
    found = {}
    for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        parts = entry[: -len(".json")].rsplit("-", 2)
        if entry.endswith(".json") and len(parts) == len(("name", "version", "build")):
            found[parts[0]] = ("{} {}".format(*parts[1:]), os.path.join(folder, entry))
    return found


def _owned_by_conda(info: Info, conda: Dict[str, Tuple[str, str]]) -> bool:
    """Return whether a conda package of torch brought this metadata folder as it is now.

    pip writes the folder anew under the same name where it installs the same version: its note of the installer then
    differs from the one in conda's record.
    """
    wanted = os.path.relpath(metadata_file(info.folder), os.path.realpath(sys.prefix))
    note = plain.text(os.path.join(info.folder, "INSTALLER"))
    digest = hashlib.sha256(note.encode()).hexdigest()
    records = [plain.text(conda[name][1]) for name in CONDA_TORCH if name in conda]
    return any(
        wanted in record and (digest in record if '"sha256_in_prefix"' in record else note.strip() not in PIP)
        for record in records
    )


def records(values: Dict[str, Any]) -> None:
    """Tell which records of conda and which metadata of distributions cannot be read, and why."""
    folder = os.path.join(sys.prefix, "conda-meta")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = [os.path.join(folder, name) for name in names if name.endswith(".json")]
    broken = [(path, _fault_of_record(path)) for path in paths]
    for info in infos():
        files = [metadata_file(info.folder), *(os.path.join(info.folder, name) for name in ("RECORD", "INSTALLER"))]
        broken += [(path, plain.oddity(path)) for path in dict.fromkeys(files)]
    values["records"] = len(paths)
    values["broken"] = [{"path": path, "why": why} for path, why in broken if why][:SHOWN_FILES]


def _fault_of_record(path: str) -> str:
    """Return what is wrong with the record of a conda package, an empty text where nothing is."""
    try:
        record = json.loads(plain.read(path))
    except OSError as error:
        return error.strerror or str(error)
    except (ValueError, RecursionError):
        return "it is no JSON text"
    if not isinstance(record, dict):
        return "it holds no mapping"
    missing = [key for key in ("name", "version", "build") if not isinstance(record.get(key), str)]
    return f"it has no {missing[0]}" if missing else ""


def requirements(values: Dict[str, Any]) -> None:
    """Tell what every distribution requires, and what markers are compared with here."""
    values["distributions"] = [
        {"name": info.name, "version": info.version, "requires": _header(info.folder).get("Requires-Dist", [])}
        for info in infos()
    ]
    values["markers"] = {
        "implementation_name": sys.implementation.name,
        "implementation_version": platform.python_version(),
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": platform.python_version(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
    }


def wheel_tags(values: Dict[str, Any]) -> None:
    """Tell the platform tags of every wheel, and what conda's torch asks of the C library."""
    values["wheels"] = [
        {"name": info.name, "version": info.version, "tags": tags}
        for info in infos()
        for tags in [re.findall(r"^Tag:.*-(\S+)\s*$", plain.text(os.path.join(info.folder, "WHEEL")), re.MULTILINE)]
        if any(tag.startswith("manylinux") for tag in tags)
    ]
    conda = _conda_packages()
    values["conda"] = {name: _depends_on_glibc(conda[name][1]) for name in CONDA_TORCH if name in conda}


def _depends_on_glibc(record: str) -> str:
    try:
        depends = json.loads(plain.text(record)).get("depends", [])
    except (ValueError, AttributeError):
        return ""
    return next((str(spec) for spec in depends if str(spec).startswith("__glibc")), "")


def overlaps(values: Dict[str, Any]) -> None:
    """Tell which files two distributions claim with different content, by pair of distributions."""
    owners: Dict[str, List[Tuple[Info, str, str]]] = {}
    for info in infos():
        for path, digest, size in _record(info):
            owners.setdefault(path, []).append((info, digest, size))
    pairs: Dict[Tuple[str, ...], Dict[str, Any]] = {}
    for path, claims in owners.items():
        names = tuple(sorted({info.name for info, _, _ in claims}))
        if len(names) > 1 and len({digest for _, digest, _ in claims}) > 1 and os.path.exists(path):
            _add(pairs, names, path, claims)
    values["pairs"] = list(pairs.values())
    values["files"] = len(owners)


def _add(
    pairs: Dict[Tuple[str, ...], Dict[str, Any]], names: Tuple[str, ...], path: str, claims: List[Tuple[Info, str, str]]
) -> None:
    pair = pairs.setdefault(names, {"names": list(names), "count": 0, "libraries": 0, "files": []})
    library = re.search(r"\.so(\.[\d.]+)?$", path) is not None
    pair["count"] += 1
    pair["libraries"] += library
    if len(pair["files"]) < SHOWN_FILES:
        there = str(os.path.getsize(path))
        of = [info.name for info, _, size in claims if size == there]
        pair["files"].append({"path": path, "library": library, "there": of if len(of) == 1 else []})


def _record(info: Info) -> Iterator[Tuple[str, str, str]]:
    """Yield absolute path, digest and size of each file that a distribution's RECORD lists and that matters."""
    folder = os.path.dirname(info.folder)
    own = os.path.basename(info.folder) + "/"
    for path, digest, size in record_rows(info):
        if not path.startswith(own) and not UNIMPORTANT.fullmatch(path):
            yield os.path.normpath(os.path.join(folder, path)), digest, size


def record_rows(info: Info) -> Iterator[Tuple[str, str, str]]:
    """Yield path, digest and size of each file in a distribution's RECORD, as they are written there."""
    lines = io.StringIO(plain.text(os.path.join(info.folder, "RECORD")), newline="")
    with contextlib.suppress(csv.Error):
        for row in csv.reader(lines):
            if len(row) == len(("path", "digest", "size")):
                yield row[0], row[1], row[2]
