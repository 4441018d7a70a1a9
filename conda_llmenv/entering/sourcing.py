"""Sources activation scripts in a real shell and returns the variables they leave, byte for byte."""

from __future__ import annotations

import os
import tempfile
from shlex import quote
from shutil import which

from .failing import Failed, Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Mapping, Optional, Protocol, Sequence, Tuple

    class Ended(Protocol):
        """How a shell ended."""

        @property
        def timed_out(self) -> bool:
            """Whether it was ended for taking too long."""

        @property
        def stderr(self) -> str:
            """What it wrote to stderr, where that was kept."""

    class Run(Protocol):
        """Starts a program and waits for its end."""

        def __call__(self, argv: Sequence[str], /, *, env: Mapping[str, str], timeout: float) -> Ended:
            """Run it with these variables for so many seconds at most."""


SHELLS = ("bash", "sh")
"""Shells that can read the ``.sh`` scripts of conda packages, the first that is there."""

START_UP = ("BASH_ENV", "SHELLOPTS", "BASHOPTS")
"""Variables that make a starting bash run files or change its options; the shell at hand does not see them."""

OWN = (b"_", b"PWD", b"OLDPWD", b"SHLVL")
"""Variables that a shell keeps for itself: whoever gets the result runs in its own folder and at its own depth."""

_END = b"end"
"""Closes a complete dump of the variables; a full disk would cut it off."""

_TOLD_LINES = 3


def source(
    scripts: Sequence[str],
    environ: Mapping[str, str],
    run: Run,
    *,
    arguments: Sequence[str] = (),
    limit: float,
) -> Tuple[Dict[str, str], List[Note]]:
    """Return ``environ`` with what the scripts export or unset, and what a person should know of them.

    They share one shell, as they would at ``conda activate``, and may print, fail or change folder. One that calls
    ``exit`` is noted, and those after it run in a new shell.

    Args:
        scripts: files to source, in order.
        environ: the variables the shell starts with.
        run: starts the shell.
        arguments: what the scripts see as ``$1``, ``$2``, …
        limit: seconds for all of them.

    Raises:
        Failed: a script hangs, or replaces the shell; there is no shell; the disk has no room.
    """
    values, notes, left = dict(environ), [], list(scripts)
    while left:
        with _folder() as name:
            shell = _Shell(name, left)
            shell.run(values, run, arguments, limit)
            values = shell.changed(values)
            notes += shell.notes()
            left = left[shell.begun :]
    return values, notes


class _Shell:
    """One shell that sources scripts and leaves a file per script, and dumps of its variables before and after."""

    def __init__(self, folder: str, scripts: Sequence[str]) -> None:
        self._folder = folder
        self._scripts = scripts
        self.begun = len(scripts)
        """How many scripts were begun: all of them, or those up to the one that ended the shell."""

    def run(self, environ: Mapping[str, str], run: Run, arguments: Sequence[str], limit: float) -> None:
        """Run the shell to its end.

        Raises:
            Failed: it did not end, or what the scripts set is not known.
        """
        seen = {name: value for name, value in environ.items() if name not in START_UP}
        try:
            done = run([*_shell(environ), self._text(arguments)], env=seen, timeout=limit)
        except (OSError, ValueError) as error:
            raise Failed(f"{self._scripts[0]} cannot be sourced: {error}") from error
        self.begun = self._count()
        last = self._scripts[self.begun - 1]
        if done.timed_out:
            raise self._blame(last, f"did not end within {limit:g} s")
        if self._read("after") is None:
            if self._status(self.begun - 1) is None and self._read("before") is not None:
                raise self._blame(last, "replaced the shell that sources it, so what it sets is not known")
            raise Failed(
                f"the variables that {os.path.dirname(last)} sets could not be read",
                details=tuple(done.stderr.splitlines()[-_TOLD_LINES:]),
                hint=f"see whether {os.path.dirname(self._folder)} has room, and whether `env` still runs with what "
                "they set",
            )

    def _blame(self, script: str, what: str) -> Failed:
        hint = f"see what it does with `bash -x {quote(script)}`"
        return Failed(f"{script} {what}", details=self._told(self.begun - 1), hint=hint, script=script)

    def changed(self, environ: Mapping[str, str]) -> Dict[str, str]:
        """Return ``environ`` with what differs between the two dumps, so that what no script touched stays as it is."""
        before, after = self._read("before") or {}, self._read("after") or {}
        values = {name: value for name, value in environ.items() if os.fsencode(name) not in before.keys() - after}
        for name, value in after.items():
            if before.get(name) != value:
                values[os.fsdecode(name)] = os.fsdecode(value)
        return values

    def notes(self) -> List[Note]:
        """Return one note for each script that did not end well."""
        found = []
        for number, script in enumerate(self._scripts[: self.begun]):
            status = self._status(number)
            if status is None:
                found.append(self._note(number, f"{script} ends the shell that sources it"))
            elif status:
                found.append(self._note(number, f"{script} ended with status {status}"))
        return found

    def _note(self, number: int, message: str) -> Note:
        told = "".join(": " + line for line in self._told(number)[-1:])
        return Note("activation-script", message + told, "what it exported until then is in force")

    def _text(self, arguments: Sequence[str]) -> str:
        """Return the shell's text; its own paths are written out, since a script may change any variable."""
        after = self._dump("after")
        return "\n".join(
            [
                self._dump("before"),
                f"trap {quote(after)} EXIT",
                "__llmenv_source() {",
                *(self._step(number, script) for number, script in enumerate(self._scripts)),
                "}",
                " ".join(quote(word) for word in ("__llmenv_source", *arguments)),
                "trap - EXIT",
                after,
            ]
        )

    def _step(self, number: int, script: str) -> str:
        """Source one script; options that it leaves on would be held against the next one."""
        told, status = (quote(os.path.join(self._folder, f"{number}.{kind}")) for kind in ("told", "status"))
        sourced = f"\\. {quote(script)} </dev/null >/dev/null 2>|{told}"
        return f'{sourced}\n\\echo "$?" >|{status}\nset +eu'

    def _dump(self, name: str) -> str:
        program = which("env", path=os.defpath) or "/usr/bin/env"
        target = quote(os.path.join(self._folder, name))
        return f"{{ {program} -0 && printf {_END.decode()}; }} >|{target}"

    def _read(self, name: str) -> Optional[Dict[bytes, bytes]]:
        """Return the variables of a dump without the shell's own; None if it is not there or cut off."""
        try:
            with open(os.path.join(self._folder, name), "rb") as stream:
                content = stream.read()
        except OSError:
            return None
        *entries, end = content.split(b"\0")
        if end != _END:
            return None
        pairs = (entry.partition(b"=") for entry in entries)
        return {key: value for key, _, value in pairs if key not in OWN}

    def _count(self) -> int:
        ended = sum(self._status(number) is not None for number in range(len(self._scripts)))
        return min(ended + 1, len(self._scripts))

    def _status(self, number: int) -> Optional[int]:
        try:
            with open(os.path.join(self._folder, f"{number}.status"), encoding="utf-8") as stream:
                return int(stream.read())
        except (OSError, ValueError):
            return None

    def _told(self, number: int) -> Tuple[str, ...]:
        """Return the last lines a script wrote to stderr."""
        path = os.path.join(self._folder, f"{number}.told")
        try:
            with open(path, encoding="utf-8", errors="replace") as stream:
                lines = stream.read().splitlines()
        except OSError:
            return ()
        return tuple(line for line in lines if line.strip())[-_TOLD_LINES:]


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a private folder: what goes through it are all variables, secrets too."""
    try:
        return tempfile.TemporaryDirectory(prefix="llmenv-activate-")
    except OSError as error:
        raise Failed(
            f"activation scripts need a temporary folder: {error}", hint="set TMPDIR to a folder that can be written"
        ) from error


def _shell(environ: Mapping[str, str]) -> List[str]:
    path = os.pathsep.join([os.defpath, environ.get("PATH", "")])
    for name in SHELLS:
        program = which(name, path=path)
        if program is not None:
            return [program, *(["--norc", "--noprofile"] if name == "bash" else []), "-c"]
    raise Failed("activation scripts need bash or sh, and neither is there", hint="put one of them on PATH")
