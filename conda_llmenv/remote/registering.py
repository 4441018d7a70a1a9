"""Registers a kernel that runs in an environment on another host, after looking there whether it can."""

from __future__ import annotations

import base64
import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from conda_llmenv import __version__
from conda_llmenv.errors import InputError, NotFoundError
from conda_llmenv.names import check_name
from conda_llmenv.ports import CommandResult, CommandRunner
from conda_llmenv.remote.destination import check_destination, check_remote_prefix, program, ssh_argv
from conda_llmenv.remote.failures import HostFailed, explain
from conda_llmenv.remote.inside.describe import RECORD

PROVISIONER = "llmenv-ssh"
"""The entry point in the group ``jupyter_client.kernel_provisioners``."""

VERSION = 1
"""Version of what is noted in the metadata of a kernelspec; that of kernels on this host."""

LOOK_SECONDS = 120.0
"""How long connecting and a first start of Python may take; on a cold network disk that is long."""

LOGO = re.compile(r"logo-[A-Za-z0-9.]{1,40}")
LONGEST_DISPLAY_NAME = 200

Install = Callable[[Path, str], Path]
"""Puts a folder in place as a name's kernelspec, atomically, and returns where; refuses to replace a foreign one."""


class RemoteKernel(Struct, frozen=True):
    """A registered kernel: its name, where its kernelspec is, and what was found on the other host."""

    name: str
    display_name: str
    folder: Path
    host: str
    prefix: str
    python: str
    ipykernel: str
    torch: str | None = None
    cuda: str | None = None


def register_remote(
    host: str,
    prefix: str,
    *,
    run: CommandRunner,
    install: Install,
    name: str = "",
    display_name: str = "",
    launcher: Mapping[str, Path] | None = None,
) -> RemoteKernel:
    """Look at an environment on another host and register a kernel here that runs there.

    Args:
        host: an SSH destination.
        prefix: the absolute path of the environment there.
        run: starts ssh.
        install: puts the kernelspec in place.
        name: the kernelspec's name; made from the environment's and the host's where it is empty.
        display_name: what people choose it by; made from what is found there where it is empty.
        launcher: the modules that start a kernel in the activated environment, ``launch.py`` among them, by the path
            each has in the kernelspec; they are sent to the other host with each start.

    Raises:
        InputError: the host, the path or a name cannot be one; nothing was done.
        NotFoundError: there is no ipykernel in the environment.
        HostFailed: the host cannot be reached, or has no environment there.
    """
    host, prefix = check_destination(host), check_remote_prefix(prefix)
    name = check_name("kernel", name or default_name(host, prefix))
    facts = look(host, prefix, run)
    if not facts["kernelspec"]:
        hint = f"install it there: {_install_command(host, prefix, conda=facts['conda'])}"
        raise NotFoundError(f"there is no ipykernel in {prefix} on {host}", hint=hint)
    shown = display_name or default_display_name(host, prefix, facts)
    noted = {"named": True} if display_name else {}
    with tempfile.TemporaryDirectory(prefix="llmenv-kernel-") as made:
        _write(Path(made), _kernelspec(host, prefix, shown, facts, noted), facts["kernelspec"]["logos"], launcher or {})
        folder = install(Path(made), name)
    found = {key: facts[key] for key in ("python", "ipykernel", "torch", "cuda")}
    return RemoteKernel(name=name, display_name=shown, folder=folder, host=host, prefix=prefix, **found)


def look(host: str, prefix: str, run: CommandRunner) -> dict[str, Any]:
    """Return what the environment's own Python tells of it.

    Raises:
        HostFailed: the host cannot be reached, or has no Python there.
    """
    try:
        result = run(ssh_argv(host, prefix), stdin=program("describe"), timeout=LOOK_SECONDS)
    except OSError as error:
        raise HostFailed(f"ssh cannot be started: {error.strerror}", hint="install OpenSSH's client") from None
    if result.timed_out:
        raise HostFailed(
            f"{host} has not answered within {LOOK_SECONDS:.0f} s",
            hint="look whether the disk of the environment answers there",
        )
    return _facts(host, prefix, result)


def default_name(host: str, prefix: str) -> str:
    """Return a kernelspec name for an environment on a host, such as ``sft-gpu01``.

    Raises:
        InputError: neither has a character that such a name may have.
    """
    text = f"{PurePosixPath(prefix).name}-{_short(host)}".lower()
    name = re.sub(r"[^a-z0-9_-]+", "-", text).strip("-_")[:64]
    if not name:
        raise InputError(f"no kernel name can be made of {prefix!a}", hint="give one with --name")
    return name


def default_display_name(host: str, prefix: str, facts: Mapping[str, Any]) -> str:
    """Return what people choose the kernel by, such as ``sft (torch 2.9, CUDA 12.8, a100, on gpu01)``."""
    torch = facts["torch"] and ".".join(facts["torch"].split(".")[:2])
    parts = [
        torch and f"torch {torch}",
        facts["cuda"] and f"CUDA {facts['cuda']}",
        facts["state"].get("tier"),
        f"on {_short(host)}",
    ]
    text = f"{PurePosixPath(prefix).name} ({', '.join(part for part in parts if part)})"
    return "".join(character if character.isprintable() else "?" for character in text)[:LONGEST_DISPLAY_NAME]


def _install_command(host: str, prefix: str, *, conda: bool) -> str:
    """Return the line that installs ipykernel, on the other host where that takes its conda."""
    if conda:
        return shlex.join(["conda", "install", "-p", prefix, "ipykernel"])
    return shlex.join(["ssh", host, shlex.join([f"{prefix}/bin/python", "-m", "pip", "install", "ipykernel"])])


def _short(host: str) -> str:
    """Return the host's name without user, domain and port."""
    bare = host.removeprefix("ssh://").rpartition("@")[2]
    return bare if ":" in bare.partition(".")[0] else bare.partition(".")[0].partition(":")[0]


def _facts(host: str, prefix: str, result: CommandResult) -> dict[str, Any]:
    _, separator, text = result.stdout.rpartition(RECORD)
    if result.returncode == 0 and separator:
        with suppress(ValueError):  # a shell there may print anything, before and after
            facts: dict[str, Any] = json.loads(text.partition("\n")[0])
            return facts
    raise explain(host, prefix, result.returncode, result.stderr.splitlines())


def _kernelspec(
    host: str, prefix: str, display_name: str, facts: Mapping[str, Any], noted: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what ipykernel itself would register there, with where and by whom it is started."""
    spec: dict[str, Any] = facts["kernelspec"]["spec"]
    ours = {
        "version": VERSION,
        "llmenv": __version__,
        "host": host,
        "prefix": prefix,
        "tier": facts["state"].get("tier"),
        "recipe": facts["state"].get("recipe"),
        "python": facts["python"],
        **noted,
    }
    config = {"host": host, "prefix": prefix}
    return {
        **spec,
        # Read by clients that know no provisioners only; it tells them what is missing.
        "argv": [sys.executable, "-m", "conda_llmenv.remote", "-f", "{connection_file}"],
        "display_name": display_name,
        "env": {"PYTHONNOUSERSITE": "1"},
        "interrupt_mode": "signal",
        "metadata": {
            **spec.get("metadata", {}),
            "llmenv": ours,
            "kernel_provisioner": {"provisioner_name": PROVISIONER, "config": config},
        },
    }


def _write(folder: Path, spec: Mapping[str, Any], logos: Mapping[str, str], launcher: Mapping[str, Path]) -> None:
    (folder / "kernel.json").write_text(json.dumps(spec, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, data in logos.items():
        if LOGO.fullmatch(name) and ".." not in name:  # another host told it
            (folder / name).write_bytes(base64.b64decode(data))
    for name, path in launcher.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
