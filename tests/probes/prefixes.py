"""Makes small environments with faults: a real interpreter, packages of a few lines, libraries without functions."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from conda_llmenv.checks.registry import BY_ID
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware import load_tables
from conda_llmenv.model import Finding, HostFacts, Observation, ProbeEnd, ProbeRun
from conda_llmenv.probes.running import run_probe

TORCH = '''\
"""Says of itself what a test wants to hear."""
import types
{before}
__version__ = "{version}"
version = types.SimpleNamespace(cuda={cuda!r}, hip=None, debug=False, git_version="0" * 40)
cuda = types.SimpleNamespace(
    is_available=lambda: False, get_arch_list=lambda: [], device_count=lambda: 0, init=lambda: None,
    nccl=types.SimpleNamespace(version=lambda: (2, 27, 3)),
)
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 91002))
distributed = types.SimpleNamespace(is_available=lambda: True, is_gloo_available=lambda: True)
def compiled_with_cxx11_abi(): return True
def from_numpy(array): raise RuntimeError("Numpy is not available")
'''
"""A package of torch's name, with code to run before it is there."""


class Prefix:
    """An environment to look at, and what can be put into it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.site = next(path.glob("lib/python3.*/site-packages"))

    def package(
        self,
        name: str,
        version: str,
        files: Mapping[str, str] | None = None,
        *,
        requires: Sequence[str] = (),
        installer: str = "pip",
        tags: Sequence[str] = ("py3-none-any",),
    ) -> Path:
        """Install a distribution the way pip does; return the folder of its metadata."""
        info = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
        described = {
            "METADATA": f"Name: {name}\nVersion: {version}\n{needs}\nRequires-Dist: not-a-header\n",
            "INSTALLER": f"{installer}\n",
            "WHEEL": "".join(["Wheel-Version: 1.0\n", *(f"Tag: {tag}\n" for tag in tags)]),
        }
        contents = {**(files or {}), **{f"{info.name}/{key}": text for key, text in described.items()}}
        for path, text in contents.items():
            (self.site / path).parent.mkdir(parents=True, exist_ok=True)
            (self.site / path).write_text(text, encoding="utf-8")
        rows = [f"{path},sha256={_digest(text)},{len(text.encode())}" for path, text in contents.items()]
        rows += [f"{info.name}/RECORD,,", f"{name}/__pycache__/x.cpython-311.pyc,,"]
        (info / "RECORD").write_text("\n".join(rows) + "\n", encoding="utf-8")
        return info

    def torch(self, version: str = "2.8.0", cuda: str | None = None, before: str = "") -> Path:
        """Install a package of torch's name."""
        return self.package(
            "torch", version, {"torch/__init__.py": TORCH.format(version=version, cuda=cuda, before=before)}
        )

    def conda(self, name: str, version: str, build: str, files: Mapping[str, str], depends: Sequence[str] = ()) -> None:
        """Write the record of a conda package, with the hash of each file whose content is given."""
        folder = self.path / "conda-meta"
        folder.mkdir(exist_ok=True)
        hashes = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items() if text}
        record = {
            "name": name,
            "version": version,
            "build": build,
            "files": list(files),
            "depends": list(depends),
            "paths_data": {"paths": [{"_path": path, "sha256_in_prefix": digest} for path, digest in hashes.items()]},
        }
        (folder / f"{name}-{version}-{build}.json").write_text(json.dumps(record), encoding="utf-8")


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def make(folder: Path, *, user_site: bool = False) -> Prefix:
    """Return an empty environment; one that does not leave the user site out, as conda's do not, on request."""
    venv.create(folder, system_site_packages=user_site, with_pip=False, symlinks=True)
    return Prefix(folder)


def shared_library(path: Path, source: str = "") -> Path:
    """Compile a shared library."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    path.parent.mkdir(parents=True, exist_ok=True)
    argv = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
    subprocess.run(argv, input=source, text=True, check=True, timeout=60)
    return path


def shell(**variables: str) -> dict[str, str]:
    """Return the variables of a clean shell, and those given."""
    dropped = ("PYTHON", "LD_", "CUDA", "KMP", "LLMENV", "VIRTUAL_ENV")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**clean, **variables}


def look(prefix: Path, run: ProbeRun, environ: Mapping[str, str] | None = None) -> ProbeEnd:
    """Run a probe as the program does."""
    return run_probe(prefix, run, shell() if environ is None else environ)


def observe(prefix: Path, *checks: str, environ: Mapping[str, str] | None = None) -> dict[str, tuple[Observation, ...]]:
    """Return what the probe ``runtime`` sees, by what it was asked for."""
    return seen(look(prefix, ProbeRun("runtime", checks), environ))


def seen(end: ProbeEnd) -> dict[str, tuple[Observation, ...]]:
    """Return the observations of a run, which has to have come to its end."""
    assert end.returncode == 0, end.tail
    return {one.check: (one,) for one in end.observations}


def judge(
    check: str,
    prefix: Path,
    observations: Mapping[str, tuple[Observation, ...]],
    variables: Mapping[str, str] | None = None,
) -> Finding:
    """Return what a check comes to on a machine without a card."""
    for one in observations.values():
        assert not one[0].error, one[0]
    scene = Scene(str(prefix), HostFacts("linux-64"), load_tables(), variables=variables or {}, seen=observations)
    return BY_ID[check].judge(scene)
