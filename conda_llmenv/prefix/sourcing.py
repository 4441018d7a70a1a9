"""Sources activation scripts in a real shell and returns the variables they leave, byte for byte."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from conda_llmenv.errors import PrefixError
from conda_llmenv.model import Notice
from conda_llmenv.ports import CommandRunner
from conda_llmenv.redact import mask

SECONDS = 30.0
"""How long the scripts of one environment may take together."""

SHELLS = ("bash", "sh")
"""Shells that can read the ``.sh`` scripts of conda packages, the first that is there."""

START_UP = ("BASH_ENV", "SHELLOPTS", "BASHOPTS")
"""Variables that make a starting bash run files or change its options; the shell at hand does not see them."""

OWN = (b"_", b"PWD", b"OLDPWD", b"SHLVL")
"""Variables that a shell keeps for itself: whoever gets the result runs in its own folder and at its own depth."""

_END = b"end"
"""Closes a complete dump of the variables; a full disk would cut it off."""


def source(
    scripts: Sequence[Path],
    environ: Mapping[str, str],
    run: CommandRunner,
    *,
    arguments: Sequence[str] = (),
    limit: float = SECONDS,
) -> tuple[dict[str, str], tuple[Notice, ...]]:
    """Return ``environ`` with what the scripts export or unset, and what a person should know of them.

    They share one shell, as they would at ``conda activate``, and may print, fail or change folder. One that calls
    ``exit`` is noted, and those after it run in a new shell. What they leave running in the shell's process group is
    ended with it.

    Args:
        scripts: files to source, in order.
        environ: the variables the shell starts with.
        run: starts the shell.
        arguments: what the scripts see as ``$1``, ``$2``, …
        limit: seconds for all of them.

    Raises:
        PrefixError: a script hangs, or replaces the shell; there is no shell; the disk has no room.
    """
    values, notices, left = dict(environ), list[Notice](), tuple(scripts)
    while left:
        with _folder() as name:
            shell = _Shell(Path(name), left)
            shell.run(values, run, arguments, limit)
            values = shell.changed(values)
            notices += shell.notices()
            left = left[shell.begun :]
    return values, tuple(notices)


class _Shell:
    """One shell that sources scripts and leaves a file per script, and dumps of its variables before and after."""

    def __init__(self, folder: Path, scripts: Sequence[Path]) -> None:
        self._folder = folder
        self._scripts = scripts
        self.begun = len(scripts)
        """How many scripts were begun: all of them, or those up to the one that ended the shell."""

    def run(self, environ: Mapping[str, str], run: CommandRunner, arguments: Sequence[str], limit: float) -> None:
        """Run the shell to its end.

        Raises:
            PrefixError: it did not end, or what the scripts set is not known.
        """
        seen = {name: value for name, value in environ.items() if name not in START_UP}
        try:
            done = run([*_shell(environ), self._text(arguments)], env=seen, timeout=limit)
        except (OSError, ValueError) as error:
            raise PrefixError(f"{self._scripts[0]} cannot be sourced: {error}") from error
        self.begun = self._count()
        last = self._scripts[self.begun - 1]
        hint = f"see what it does with `bash -x {shlex.quote(str(last))}`"
        if done.timed_out:
            raise PrefixError(f"{last} did not end within {limit:g} s", details=self._told(self.begun - 1), hint=hint)
        if self._read("after") is None:
            if self._status(self.begun - 1) is None and self._read("before") is not None:
                raise PrefixError(
                    f"{last} replaced the shell that sources it, so what it sets is not known",
                    details=self._told(self.begun - 1),
                    hint=hint,
                )
            raise PrefixError(
                f"the variables that {last.parent} sets could not be read",
                details=done.stderr.splitlines()[-3:],
                hint=f"see whether {self._folder.parent} has room, and whether `env` still runs with what they set",
            )

    def changed(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return ``environ`` with what differs between the two dumps, so that what no script touched stays as it is."""
        before, after = self._read("before") or {}, self._read("after") or {}
        values = {name: value for name, value in environ.items() if os.fsencode(name) not in before.keys() - after}
        for name, value in after.items():
            if before.get(name) != value:
                values[os.fsdecode(name)] = os.fsdecode(value)
        return values

    def notices(self) -> list[Notice]:
        """Return one notice for each script that did not end well."""
        found = []
        for number, script in enumerate(self._scripts[: self.begun]):
            status = self._status(number)
            if status is None:
                found.append(self._notice(number, f"{script} ends the shell that sources it"))
            elif status:
                found.append(self._notice(number, f"{script} ended with status {status}"))
        return found

    def _notice(self, number: int, message: str) -> Notice:
        told = "".join(f": {line}" for line in self._told(number)[-1:])
        return Notice("activation-script", message + told, hint="what it exported until then is in force")

    def _text(self, arguments: Sequence[str]) -> str:
        """Return the shell's text; its own paths are written out, since a script may change any variable."""
        after = self._dump("after")
        return "\n".join(
            [
                self._dump("before"),
                f"trap {shlex.quote(after)} EXIT",
                "__llmenv_source() {",
                *(self._step(number, script) for number, script in enumerate(self._scripts)),
                "}",
                shlex.join(["__llmenv_source", *arguments]),
                "trap - EXIT",
                after,
            ]
        )

    def _step(self, number: int, script: Path) -> str:
        """Source one script; options that it leaves on would be held against the next one."""
        told, status = (shlex.quote(str(self._folder / f"{number}.{kind}")) for kind in ("told", "status"))
        sourced = f"\\. {shlex.quote(str(script))} </dev/null >/dev/null 2>|{told}"
        return f'{sourced}\n\\echo "$?" >|{status}\nset +eu'

    def _dump(self, name: str) -> str:
        program = shutil.which("env", path=os.defpath) or "/usr/bin/env"
        return f"{{ {program} -0 && printf {_END.decode()}; }} >|{shlex.quote(str(self._folder / name))}"

    def _read(self, name: str) -> dict[bytes, bytes] | None:
        """Return the variables of a dump without the shell's own; None if it is not there or cut off."""
        try:
            content = (self._folder / name).read_bytes()
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

    def _status(self, number: int) -> int | None:
        try:
            return int((self._folder / f"{number}.status").read_text())
        except (OSError, ValueError):
            return None

    def _told(self, number: int) -> tuple[str, ...]:
        """Return the last lines a script wrote to stderr, without secrets."""
        try:
            text = (self._folder / f"{number}.told").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ()
        return tuple(mask(line) for line in text.splitlines() if line.strip())[-3:]


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a private folder: what goes through it are all variables, secrets too."""
    try:
        return tempfile.TemporaryDirectory(prefix="llmenv-activate-")
    except OSError as error:
        raise PrefixError(
            f"activation scripts need a temporary folder: {error}", hint="set TMPDIR to a folder that can be written"
        ) from error


def _shell(environ: Mapping[str, str]) -> list[str]:
    path = os.pathsep.join([os.defpath, environ.get("PATH", "")])
    for name in SHELLS:
        program = shutil.which(name, path=path)
        if program is not None:
            return [program, *(["--norc", "--noprofile"] if name == "bash" else []), "-c"]
    raise PrefixError("activation scripts need bash or sh, and neither is there", hint="put one of them on PATH")
