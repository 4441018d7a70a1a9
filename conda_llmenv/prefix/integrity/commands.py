"""The small programs that installers write to start a Python function, and the ways their first line names Python.

Each installer words them its own way, and a long prefix changes their first line, but what they do is said by the
function they call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

PLACE = b"\0prefix\0"
"""Stands for the prefix in what is hashed; no text can hold it."""

LARGEST = 64 * 1024
"""Bytes of a script that is looked at as a whole."""

_BODIES = (
    # conda
    (
        "# -*- coding: utf-8 -*-\nimport re\nimport sys\n\nfrom MODULE import NAME\n\nif __name__ == '__main__':\n"
        "    sys.argv[0] = re.sub(r'(-script\\.pyw?|\\.exe)?$', '', sys.argv[0])\n    sys.exit(FUNCTION())\n"
    ),
    # rattler
    (
        "# -*- coding: utf-8 -*-\nimport re\nimport sys\n\nfrom MODULE import NAME\n\nif __name__ == '__main__':\n"
        "\tsys.argv[0] = re.sub(r'(-script\\.pyw?|\\.exe)?$', '', sys.argv[0])\n\tsys.exit(FUNCTION())\n"
    ),
    # pip until 25, and other users of distlib
    (
        "# -*- coding: utf-8 -*-\nimport re\nimport sys\nfrom MODULE import NAME\nif __name__ == '__main__':\n"
        "    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])\n    sys.exit(FUNCTION())\n"
    ),
    # pip from 25 on
    (
        "import sys\nfrom MODULE import NAME\nif __name__ == '__main__':\n"
        "    if sys.argv[0].endswith('.exe'):\n        sys.argv[0] = sys.argv[0][:-4]\n    sys.exit(FUNCTION())\n"
    ),
    (
        "import sys\nfrom MODULE import NAME\nif __name__ == '__main__':\n"
        "    sys.argv[0] = sys.argv[0].removesuffix('.exe')\n    sys.exit(FUNCTION())\n"
    ),
    # uv
    (
        '# -*- coding: utf-8 -*-\nimport sys\nfrom MODULE import NAME\nif __name__ == "__main__":\n'
        '    if sys.argv[0].endswith("-script.pyw"):\n        sys.argv[0] = sys.argv[0][:-11]\n'
        '    elif sys.argv[0].endswith(".exe"):\n        sys.argv[0] = sys.argv[0][:-4]\n    sys.exit(FUNCTION())\n'
    ),
)
"""What each installer writes below the first line, byte for byte: anything else counts with its content."""


def _pattern(body: str) -> re.Pattern[bytes]:
    text = re.escape(body).replace("MODULE", r"(?P<module>[\w.]+)").replace("NAME", r"(?P<name>\w+)")
    return re.compile(text.replace("FUNCTION", r"(?P<function>(?P=name)(?:\.\w+)*)").encode())


_PATTERNS = tuple(map(_pattern, _BODIES))

_PLAIN = re.compile(rb"#! ?(?P<program>/[^\n]*)\n")
_THROUGH_SHELL = re.compile(
    rb"#!/bin/sh\n'''exec' (?P<quote>[\"']?)(?P<program>/[^\n\"']+)(?P=quote) \"\$0\" \"\$@\"(?: #'''|\n' ''')\n"
)
"""What stands in place of a first line that is too long for the kernel, or holds a space: a line that the shell runs
and that is a string to Python. conda and rattler end it on the same line, pip and uv on the next."""

_PYTHON = re.compile(rb"/bin/python(?:3(?:\.\d+)?)?")


def without_place(script: bytes, prefixes: Iterable[bytes]) -> tuple[str, bytes]:
    """Return what a script of ``bin/`` is, apart from where its environment lives.

    Args:
        script: its whole content.
        prefixes: the ways to write the prefix; the longest comes first.

    Returns:
        The ``module:function`` that it calls with the environment's own Python, if it does nothing else, and its
        content with one way to name that Python in the first line. The names ``python``, ``python3`` and
        ``python3.N`` are one program.
    """
    head, body = _split(script, tuple(prefixes))
    for pattern in _PATTERNS if head else ():
        if match := pattern.fullmatch(body):
            return f"{match['module'].decode()}:{match['function'].decode()}", head + body
    return "", head + body


def _split(script: bytes, prefixes: tuple[bytes, ...]) -> tuple[bytes, bytes]:
    """Return the one way to write the first line, and the rest; nothing if it names no Python of this environment."""
    match = _THROUGH_SHELL.match(script) or _PLAIN.match(script)
    if match is None:
        return b"", script
    for prefix in prefixes:
        if match["program"].startswith(prefix) and _PYTHON.fullmatch(match["program"], len(prefix)):
            return b"#!" + PLACE + b"/bin/python\n", script[match.end() :]
    return b"", script
