"""Looks at where the person's own ``python`` finds modules: runs with all their variables, not isolated."""

from __future__ import annotations

import os
import re
import site
import sys
from typing import Any, Dict, List

from . import distributions, elsewhere, libraries, plain

SHOWN = 40

FIRST = ("torch", "numpy", "torchvision", "torchaudio", "transformers", "tokenizers", "accelerate", "triton", "nvidia")
"""Names worth showing before all others."""

HARMLESS = frozenset(("__pycache__", "test", "tests", "setup", "conftest", "sitecustomize", "usercustomize"))


def run(asked: Dict[str, Any], teller: Any) -> None:
    """Tell about the search paths and the user site, as far as they are asked for."""
    if "user-site" in asked["checks"]:
        with teller.looking("user-site") as values:
            user_site(values)
    if "search-paths" in asked["checks"]:
        with teller.looking("search-paths") as values:
            search_paths(asked["prefix"], values)


def user_site(values: Dict[str, Any]) -> None:
    """Tell which modules of the user site come before those of the environment, and what keeps them out."""
    folder = site.getusersitepackages()
    modules = top_level(folder)
    values["folder"] = folder
    values["active"] = folder in sys.path
    values["flag"] = bool(sys.flags.no_user_site)
    values["immune"] = _without_system_site()
    values["names"] = len(modules)
    values["shadowed"] = shadowed(modules, stdlib=False)
    values["pth"] = [name for name in sorted(_names(folder)) if name.endswith(".pth")][:SHOWN]


def search_paths(prefix: str, values: Dict[str, Any]) -> None:
    """Tell where modules are searched besides the environment, and who brought each place in."""
    values["prefix"] = os.path.realpath(sys.prefix)
    values["own"] = os.path.realpath(sys.prefix) == os.path.realpath(prefix)
    values["executable"] = sys.executable
    values["sys_path"] = list(sys.path)
    values["pythonhome"] = os.environ.get("PYTHONHOME", "")
    values["pythonpath"] = [_place(entry, stdlib=True) for entry in _python_path()]
    values["pth"] = [dict(_place(target, stdlib=False), file=file) for file, target in _pth_targets()]
    values["elsewhere"] = [_found(entry) for entry in elsewhere.entries(_told(), _added_by_lines())]
    values["cwd"] = os.getcwd()
    values["umask"] = _umask()
    values["searched"] = libraries.searched()


def _told() -> List[str]:
    """Return what PYTHONPATH and the user site bring, which is told by itself."""
    return [os.path.realpath(entry) for entry in (*_python_path(), site.getusersitepackages())]


def _added_by_lines() -> List[str]:
    return [os.path.realpath(target) for _, target in _pth_targets()]


def _found(entry: elsewhere.Entry) -> Dict[str, Any]:
    place = _place(entry.path, stdlib=entry.before_library)
    return dict(place, before=entry.before, file=elsewhere.file_that_mentions(entry.path))


def _python_path() -> List[str]:
    """Return the entries of PYTHONPATH that exist; an empty or relative one is meant from the person's folder."""
    text = os.environ.get("PYTHONPATH", "")
    if not text or sys.flags.ignore_environment:
        return []
    here = os.environ.get("PWD") or os.getcwd()
    entries = (os.path.join(here, entry) for entry in text.split(os.pathsep))
    return [entry for entry in dict.fromkeys(entries) if os.path.exists(entry)]


def _place(entry: str, *, stdlib: bool) -> Dict[str, Any]:
    return {"entry": entry, "inside": _inside(entry), "shadowed": shadowed(top_level(entry), stdlib=stdlib)}


def _inside(path: str) -> bool:
    return elsewhere.below(os.path.realpath(path), sys.prefix)


def _pth_targets() -> List[Any]:
    """Return (file, folder) of each folder outside the environment that a ``.pth`` file of it adds."""
    found = []
    for folder in distributions.site_folders():
        for name in sorted(_names(folder)):
            if name.endswith(".pth"):
                path = os.path.join(folder, name)
                found += [(path, target) for target in _added(path) if not _inside(target)]
    return found


def _added(path: str) -> List[str]:
    """Return the existing folders that a ``.pth`` file names, as :mod:`site` reads it."""
    lines = [line.strip() for line in plain.text(path).splitlines()]
    named = [line for line in lines if line and not line.startswith(("#", "import ", "import\t"))]
    targets = [os.path.normpath(os.path.join(os.path.dirname(path), line)) for line in named]
    return [target for target in targets if os.path.exists(target)]


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def top_level(folder: str) -> Dict[str, str]:
    """Return the modules and packages a folder makes importable, name to path; namespace packages shadow nothing."""
    found = {}
    for name in sorted(_names(folder)):
        path = os.path.join(folder, name)
        match = re.fullmatch(r"([A-Za-z_]\w*)(?:\.py|(?:\.[\w-]+)?\.so)?", name)
        if (
            match
            and match[1] not in HARMLESS
            and (match[1] != name or os.path.exists(os.path.join(path, "__init__.py")))
        ):
            found[match[1]] = path
    return found


def shadowed(modules: Dict[str, str], *, stdlib: bool) -> List[Dict[str, str]]:
    """Return those modules that the environment has too, what matters most first."""
    own: Dict[str, str] = {}
    for folder in distributions.site_folders():
        own.update((module, path) for module, path in top_level(folder).items() if path not in modules.values())
    if stdlib:
        own.update((name, "the standard library") for name in getattr(sys, "stdlib_module_names", ()))
    both = [{"name": name, "path": path, "own": own[name]} for name, path in modules.items() if name in own]
    return sorted(both, key=_importance)[:SHOWN]


def _importance(found: Dict[str, str]) -> Any:
    name = found["name"]
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def _without_system_site() -> bool:
    """Return whether this is a virtual environment that leaves the user site out by itself."""
    config = plain.text(os.path.join(sys.prefix, "pyvenv.cfg"))
    lines = [line.replace(" ", "").strip().lower() for line in config.splitlines()]
    return bool(config) and "include-system-site-packages=true" not in lines


def _umask() -> str:
    """Return the umask in octal; reading it means setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return f"{mask:04o}"
