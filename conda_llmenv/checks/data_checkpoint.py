"""A checkpoint is on the disk as it was written, and what the disk says where it is not."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Status

MIB = 1024**2


class Refusal(Struct, frozen=True):
    """What the name of an errno means for a checkpoint, and what to do; ``{folder}`` is filled in."""

    means: str
    fix: str


REFUSALS = {
    "ENOSPC": Refusal("the disk is full", "df -h {folder} && df -i {folder} show space and inodes; free some"),
    "EDQUOT": Refusal("your quota is used up", "quota -s (or lfs quota -h -u $USER {folder}) shows it; free some"),
    "EROFS": Refusal(
        "the file system is mounted read-only",
        "findmnt -T {folder} shows the mount; run from a folder on a file system you may write to",
    ),
    "EACCES": Refusal("you may not write there", "ls -ld {folder} shows who may; run from a folder of your own"),
    "EPERM": Refusal("you may not write there", "ls -ld {folder} shows who may; run from a folder of your own"),
    "ENOENT": Refusal("the folder does not exist", "mkdir -p {folder}"),
    "ENOTDIR": Refusal("it is no folder", "ls -ld {folder}"),
    "EIO": Refusal("the disk reports an input/output error", "dmesg | tail -50 names the disk; keep nothing on it"),
    "ESTALE": Refusal("the network file system lost the folder", "cd out of {folder} and back, or mount it anew"),
    "EFBIG": Refusal("the file is larger than is allowed", "ulimit -f unlimited"),
}


def checkpoint(scene: Scene) -> Finding:
    """Judge a checkpoint that was written, synced, renamed, read and loaded."""
    seen = scene.values("checkpoint")
    if "failed" in seen:
        return _refused(seen)
    size = f"{seen['length'] / MIB:.0f} MiB"
    speeds = f"write {seen['write_mbs']:.0f} MB/s, read {seen['read_mbs']:.0f} MB/s"
    if not (seen["same_bytes"] and seen["same_values"]):
        what = "other bytes" if not seen["same_bytes"] else "other values"
        return Finding(
            Status.FAIL,
            f"a checkpoint in {seen['folder']} is read back with {what} than were written",
            measured=f"{what} in {size}",
            expected="the same SHA-256 and equal tensors",
            fix=f"findmnt -T {shlex.quote(seen['folder'])} names the disk or server: keep nothing there meanwhile",
        )
    return Finding(
        Status.PASS,
        f"a checkpoint of {size} in {seen['folder']} is read back as written",
        measured=speeds,
        expected="the same SHA-256 and equal tensors",
        detail=_where(seen),
        figures={"checkpoint_write_mbs": seen["write_mbs"], "checkpoint_read_mbs": seen["read_mbs"]},
    )


def _where(seen: Mapping[str, Any]) -> tuple[str, ...]:
    on = f"on {seen['filesystem']}" if seen["filesystem"] else "on a file system of unknown type"
    cached = "" if seen.get("dropped") else "; read from memory, since the cache could not be dropped"
    return (f"{on}, written with fsync and renamed{cached}",)


def _refused(seen: Mapping[str, Any]) -> Finding:
    failed, folder = seen["failed"], seen["folder"]
    refusal = REFUSALS.get(failed["errno"])
    free = f"; {seen['free'] / MIB:.0f} MiB free" if "free" in seen else ""
    return Finding(
        Status.FAIL,
        f"a checkpoint cannot be written to {folder}: {refusal.means if refusal else failed['text']}",
        measured=f"{failed['errno']}{free}",
        expected=f"{seen['bytes'] / MIB:.0f} MiB can be written",
        fix=(refusal.fix if refusal else "findmnt -T {folder}").format(folder=shlex.quote(folder)),
        detail=(failed["text"],),
    )
