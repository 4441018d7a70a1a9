"""A small environment as installers leave it, in any prefix, with each kind of file that holds its place."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PLACEHOLDER = b"/opt/placeholder".ljust(255, b"_")
SITE = "lib/python3.11/site-packages"

PLAIN = {
    "share/tool/about.txt": b"about\n",
    "lib/libplain.so.1.0": b"\x7fELF\0plain\0",
    "share/tool/empty": b"",
    "share/tool/mentions.txt": b"start it with #!/usr/bin/env python3.11\n",
}
TEXTS = {
    "bin/tool": b"#!" + PLACEHOLDER + b"/bin/python3.11 -u\nprint('" + PLACEHOLDER + b"')\n",
    "lib/pkgconfig/tool.pc": b"prefix=" + PLACEHOLDER + b"\nCflags: -I" + PLACEHOLDER + b"/include\n",
    "bin/found-on-path": b"#!/usr/bin/env python3.11\n# " + PLACEHOLDER + b"\n",
}
BINARIES = {
    "lib/libtool.so": b"\x7fELF\0"
    + PLACEHOLDER
    + b"/lib:"
    + PLACEHOLDER
    + b"/lib64\0after\0"
    + PLACEHOLDER
    + b"\0end\0\0",
}
LINKS = {"lib/libplain.so": "libplain.so.1.0", "lib/libplain.so.1": "libplain.so.1.0"}
PURE = {"pure/__init__.py": b"__version__ = '1'\n", "pure-1.dist-info/METADATA": b"Name: pure\nVersion: 1\n"}
PURE_RECORD = b"pure/__init__.py,,\npure-1.dist-info/METADATA,,\npure-1.dist-info/RECORD,,\n"

CONDA_COMMAND = """\
# -*- coding: utf-8 -*-
import re
import sys

from pure.cli import main

if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw?|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
RATTLER_COMMAND = CONDA_COMMAND.replace("    ", "\t")
PIP_COMMAND = """\
# -*- coding: utf-8 -*-
import re
import sys
from theirs.cli import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
UV_COMMAND = """\
# -*- coding: utf-8 -*-
import sys
from theirs.cli import main
if __name__ == "__main__":
    if sys.argv[0].endswith("-script.pyw"):
        sys.argv[0] = sys.argv[0][:-11]
    elif sys.argv[0].endswith(".exe"):
        sys.argv[0] = sys.argv[0][:-4]
    sys.exit(main())
"""
THEIRS = {
    "theirs/__init__.py": b"x = 1\n",
    "theirs/native.so": b"\x7fELF\0\1\2",
    "theirs-2.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: theirs\nVersion: 2.0\n\n",
}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def install(
    prefix: Path, *, conda: str = "rattler", pip: str = "pip", variables: Mapping[str, str] | None = None
) -> Path:
    """Put the environment into ``prefix``, as ``conda`` or ``rattler`` and ``pip`` or ``uv`` do."""
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta" / "history").touch()
    state = {"version": 1, "env_vars": {"DATA": f"{prefix}/data", **(variables or {})}}
    (prefix / "conda-meta" / "state").write_text(json.dumps(state))
    _record(prefix, "python", "3.11.7", _python(prefix))
    _record(prefix, "tool", "1.0", _tool(prefix, conda))
    _record(prefix, "pure", "1", _pure(prefix, conda), noarch="python")
    _theirs(prefix, pip)
    return prefix


def write(path: Path, content: bytes, *, executable: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755 if executable else 0o644)


def _record(prefix: Path, name: str, version: str, paths: list[dict[str, Any]], *, noarch: str | None = None) -> None:
    site = "site-packages/"
    files = [
        path["_path"].replace(site, f"{SITE}/") if path["_path"].startswith(site) else path["_path"] for path in paths
    ]
    record = {
        "name": name,
        "version": version,
        "build": "0",
        "subdir": "noarch" if noarch else "linux-64",
        "noarch": noarch,
        "sha256": sha256(f"{name}-{version}".encode()),
        "files": files,
        "paths_data": {"paths": paths, "paths_version": 1},
        "link": {"source": f"{prefix.parent}/pkgs/{name}", "type": 1},
    }
    (prefix / "conda-meta" / f"{name}-{version}-0.json").write_text(json.dumps(record))


def _python(prefix: Path) -> list[dict[str, Any]]:
    write(prefix / "bin/python3.11", b"\x7fELF\0python\0", executable=True)
    (prefix / "bin/python").symlink_to("python3.11")
    checksum = sha256(b"\x7fELF\0python\0")
    return [
        {"_path": "bin/python3.11", "path_type": "hardlink", "sha256": checksum, "size_in_bytes": 12},
        {"_path": "bin/python", "path_type": "softlink", "sha256": checksum, "size_in_bytes": 10},
    ]


def _tool(prefix: Path, conda: str) -> list[dict[str, Any]]:
    paths = []
    for path, content in PLAIN.items():
        write(prefix / path, content)
        paths.append({"_path": path, "path_type": "hardlink", "sha256": sha256(content), "size_in_bytes": len(content)})
    for mode, contents in (("text", TEXTS), ("binary", BINARIES)):
        for path, content in contents.items():
            here = placed(content, prefix, conda) if mode == "text" else padded(content, prefix)
            write(prefix / path, here, executable=path.startswith("bin/"))
            size = len(content) if conda == "conda" else len(here)
            paths.append({
                "_path": path, "path_type": "hardlink", "sha256": sha256(content), "sha256_in_prefix": sha256(here),
                "size_in_bytes": size, "file_mode": mode, "prefix_placeholder": PLACEHOLDER.decode(),
            })  # fmt: skip
    for path, target in LINKS.items():
        (prefix / path).symlink_to(target)
        paths.append({"_path": path, "path_type": "softlink", "sha256": sha256(PLAIN["lib/libplain.so.1.0"])})
    return paths


def _pure(prefix: Path, conda: str) -> list[dict[str, Any]]:
    site, paths = SITE if conda == "rattler" else "site-packages", []
    for path, content in {**PURE, "pure-1.dist-info/RECORD": PURE_RECORD}.items():
        write(prefix / SITE / path, content)
        paths.append({"_path": f"{site}/{path}", "path_type": "hardlink", "sha256": sha256(content)})
    body = (RATTLER_COMMAND if conda == "rattler" else CONDA_COMMAND).encode()
    script = shebang(prefix, "conda") + body
    write(prefix / "bin/pure", script, executable=True)
    noted = {"sha256": sha256(script)} if conda == "rattler" else {}
    entry = {"_path": "bin/pure", "path_type": "unix_python_entry_point", "size_in_bytes": len(script), **noted}
    return [*paths, entry]


def _theirs(prefix: Path, pip: str) -> None:
    command = (PIP_COMMAND if pip == "pip" else UV_COMMAND).encode()
    info = "theirs-2.0.dist-info"
    contents = {
        **THEIRS,
        "../../../bin/theirs": shebang(prefix, pip) + command,
        "../../../bin/theirs-run": shebang(prefix, pip) + b"import theirs\n",
        f"{info}/INSTALLER": pip.encode(),
        f"{info}/entry_points.txt": b"[console_scripts]\ntheirs = theirs.cli:main\n\n[other]\ntheirs-run = x\n",
        f"{info}/direct_url.json": json.dumps({"url": f"file://{prefix.parent}/theirs.whl"}).encode(),
    }
    rows = []
    for name, content in contents.items():
        write((prefix / SITE / name).resolve(), content, executable=name.startswith(".."))
        code = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={code},{len(content)}")
    rows += [f"{info}/RECORD,,", "theirs/__pycache__/__init__.cpython-311.pyc,,"]
    write(prefix / SITE / info / "RECORD", "\r\n".join(rows).encode())


def shebang(prefix: Path, tool: str) -> bytes:
    """Return the first line, or the lines that stand for one that is too long or holds a space."""
    python = f"{prefix}/bin/{'python3.11' if tool == 'conda' else 'python'}"
    if len(python) <= 124 and " " not in python:
        return f"#!{python}\n".encode()
    if tool == "conda":
        return f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\" #'''\n".encode()
    quote = "'" if tool == "uv" else '"' if " " in python else ""
    return f"#!/bin/sh\n'''exec' {quote}{python}{quote} \"$0\" \"$@\"\n' '''\n".encode()


def placed(content: bytes, prefix: Path, conda: str) -> bytes:
    """Replace the placeholder in a text, and a first line that gets too long, as the two tools do."""
    here = content.replace(PLACEHOLDER, str(prefix).encode())
    first, _, rest = here.partition(b"\n")
    if not first.startswith(b"#!/") or first.startswith(b"#!/usr") or (len(first) <= 127 and b" " not in bytes(prefix)):
        return here
    program, _, options = first[2 + len(bytes(prefix)) :].partition(b" ")
    options = b" " + options if options else b""
    if conda == "rattler":
        return b"#!/bin/sh\n'''exec' \"" + bytes(prefix) + program + b'"' + options + b' "$0" "$@" #\'\'\'\n' + rest
    return b"#!/usr/bin/env " + program.rpartition(b"/")[2] + options + b"\n" + rest


def padded(content: bytes, prefix: Path) -> bytes:
    """Replace the placeholder in the strings of a binary and keep its length."""
    strings = []
    for string in content.split(b"\0"):
        gap = string.count(PLACEHOLDER) * (len(PLACEHOLDER) - len(bytes(prefix)))
        strings.append(string.replace(PLACEHOLDER, bytes(prefix)) + b"\0" * gap)
    return b"\0".join(strings)
