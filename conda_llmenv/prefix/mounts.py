"""What kind of file system a path lies on, from /proc/self/mountinfo."""

from __future__ import annotations

import re
from pathlib import Path

NETWORK_TYPES = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "fuse.beegfs", "fuse.ceph", "fuse.cephfs", "fuse.glusterfs",
        "fuse.juicefs", "fuse.sshfs", "fuse.weka", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "orangefs",
        "panfs", "smb3", "smbfs", "virtiofs", "weka", "wekafs",
    }
)  # fmt: skip
"""File systems that several machines may mount at once, where a native lock may not reach the others."""

_MOUNTINFO = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")
_MOUNT_POINT = 4


def filesystem_type(path: Path, mountinfo: str | None = None) -> str | None:
    """Return the type of the file system that holds ``path`` (or its nearest existing parent), None if unknown.

    Args:
        path: an absolute path.
        mountinfo: the text to read instead of /proc/self/mountinfo.
    """
    if mountinfo is None:
        try:
            mountinfo = _MOUNTINFO.read_text("utf-8", errors="surrogateescape")
        except OSError:
            return None
    place = path.resolve()
    best: tuple[int, str] | None = None
    for line in mountinfo.splitlines():
        left, separator, right = line.partition(" - ")
        fields = left.split()
        if not separator or len(fields) <= _MOUNT_POINT or not right.split():
            continue
        point = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[_MOUNT_POINT]))
        if place.is_relative_to(point) and (best is None or len(point.parts) >= best[0]):
            best = (len(point.parts), right.split()[0])
    return best[1] if best else None


def is_network(path: Path) -> bool:
    """Return whether other machines may see the same files at ``path``."""
    kind = filesystem_type(path)
    return kind is not None and (kind in NETWORK_TYPES or kind.startswith("fuse.nfs"))
