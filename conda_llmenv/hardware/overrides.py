"""``CONDA_OVERRIDE_*`` variables: reading them, and noticing the ones that were meant but misspelled."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from conda_llmenv.errors import InputError
from conda_llmenv.model import Notice

PREFIX = "CONDA_OVERRIDE_"

NAMES = ("CUDA", "CUDA_ARCH", "GLIBC", "ARCHSPEC", "LINUX", "OSX", "WIN")
"""Virtual packages whose value conda lets a person set (CEP 30, CEP 46)."""

KNOWN = tuple(PREFIX + name for name in NAMES)

LIKENESS = 0.9
"""difflib ratio from which a name counts as a slip of the pen: two wrong letters in nineteen."""

_RULES = {
    "CUDA": (re.compile(r"\d+(\.\d+){0,2}"), "a CUDA version such as 12.4"),
    "CUDA_ARCH": (re.compile(r"\d{1,2}\.\d"), "a compute capability such as 8.0"),
    "GLIBC": (re.compile(r"\d+(\.\d+){1,2}"), "a version such as 2.28"),
    "LINUX": (re.compile(r"\d+\.\d+(\.\d+){0,2}"), "a kernel version such as 5.15"),
    "ARCHSPEC": (re.compile(r"[a-z0-9_]+"), "an archspec name such as x86_64_v3"),
}


def override_of(name: str, environ: Mapping[str, str]) -> str | None:
    """Return what ``CONDA_OVERRIDE_<name>`` says: None if unset, an empty string to remove the virtual package.

    Raises:
        InputError: the value is not of the form conda expects.
    """
    value = environ.get(PREFIX + name)
    if value is None or not value.strip():
        return value and ""
    pattern, form = _RULES[name]
    if not pattern.fullmatch(value.strip()):
        raise InputError(
            f"{PREFIX}{name} is {value[:40]!r}, which is not {form}",
            hint=f"set it to {form}, to an empty value to remove the virtual package, or unset it",
        )
    return value.strip()


def misspelled(environ: Mapping[str, str]) -> tuple[Notice, ...]:
    """Return a warning for each variable that looks like one of :data:`KNOWN` but is read by nobody."""
    notices = []
    for name in sorted(environ):
        meant = None if name in KNOWN else _meant(name)
        if meant and meant not in environ:
            notices.append(
                Notice(
                    code="override-misspelled",
                    message=f"{name} is set, but nothing reads it; {meant} is the name conda and llmenv know",
                    hint=f"export {meant}={environ[name] if environ[name].replace('.', '').isalnum() else '…'}",
                )
            )
    return tuple(notices)


def _meant(name: str) -> str | None:
    """The known variable that a name is a misspelling of, judged on its words in any order."""
    words = _sorted_words(name)
    if "CONDA" not in words and "OVERRIDE" not in words:
        return None
    by_words = {_sorted_words(known): known for known in KNOWN}
    close = difflib.get_close_matches(words, by_words, n=1, cutoff=LIKENESS)
    return by_words[close[0]] if close else None


def _sorted_words(name: str) -> str:
    return "_".join(sorted(word for word in name.upper().split("_") if word))
