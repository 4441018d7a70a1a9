"""Environment variables: which names and values survive ``conda activate``, and how layers combine."""

from __future__ import annotations

import re
from collections.abc import Iterable

from conda_llmenv.activation import RESERVED, survives_activation
from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.model import Fragment, MergedVariable, Notice, Variable
from conda_llmenv.names import RULES
from conda_llmenv.redact import has_placeholder, mask

NEEDS_PERMISSION = re.compile(
    r"LD_.*|DYLD_.*|BASH_ENV|ENV|IFS|PS4|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|HOME|SHELL"
    r"|PYTHON(PATH|HOME|STARTUP|INSPECT|EXECUTABLE|BREAKPOINT|USERBASE|PLATLIBDIR)"
    r"|(PIP|UV|CONDA|MAMBA|GIT)_.*|.*_PROXY|NODE_OPTIONS|PERL5(LIB|OPT)|RUBYOPT"
)
"""Names that change how programs are found or loaded: a fragment that sets one must say so in ``allow_variables``."""

MAX_VALUE = 100_000
"""Longest value in bytes; Linux takes 128 KiB for one ``NAME=value``."""


def check_variable_name(name: str, allowed: Iterable[str]) -> None:
    """Check a variable's name against the written rule and the list that needs permission.

    Raises:
        Unreadable: it does not fit.
    """
    pattern, rule = RULES["variable"]
    if not pattern.fullmatch(name):
        upper = name.upper()
        if pattern.fullmatch(upper):
            raise Unreadable(
                f"variable name {name!r} has lower-case letters, which conda and micromamba turn into upper case",
                hint=f"write it as `{upper}`",
            )
        raise Unreadable(f"variable name {name[:60]!a} is not allowed", hint=f"use {rule}")
    if name in RESERVED:
        raise Unreadable(f"variable {name} is set by conda itself, which ignores it here", hint="leave it out")
    if NEEDS_PERMISSION.fullmatch(name) and name not in allowed:
        raise Unreadable(
            f"variable {name} changes how programs are found or loaded",
            hint=f"if that is meant, say so in the same file: llmenv: {{allow_variables: [{name}]}}",
        )


def check_variable_value(name: str, value: str) -> None:
    """Check that a value reaches programs byte for byte through conda's activation, which does not quote.

    Raises:
        Unreadable: it holds a character that some shell's activation script would change or execute, or a placeholder.
    """
    if has_placeholder(value):
        raise Unreadable(
            f"the value of {name} is a placeholder instead of a token", hint="leave the variable out of the file"
        )
    why = survives_activation(value)
    if why is not None:
        raise Unreadable(
            f"the value of {name} would not survive `conda activate` unchanged: {why}",
            hint="write the value without quotes, `$`, backquotes, backslashes, `!` and line breaks",
        )
    if len(value.encode()) > MAX_VALUE:
        raise Unreadable(f"the value of {name} is longer than {MAX_VALUE} bytes", hint="put it into a file")


def merge_variables(fragments: Iterable[Fragment]) -> tuple[tuple[MergedVariable, ...], tuple[Notice, ...]]:
    """Return each variable with the last layer's value, and a notice for every value that lost.

    A value of None unsets; the variable stays in the result so that it is known who did so.
    """
    written: dict[str, list[Variable]] = {}
    for fragment in fragments:
        for variable in fragment.variables:
            written.setdefault(variable.name, []).append(variable)
    merged = tuple(_merge_one(written[name]) for name in sorted(written))
    return merged, tuple(notice for variable in merged for notice in _notices(variable))


def _merge_one(written: list[Variable]) -> MergedVariable:
    *earlier, last = written
    overridden = tuple(variable for variable in earlier if variable.value != last.value)
    return MergedVariable(last.name, last.value, last.origin, overridden, last.why)


def _notices(variable: MergedVariable) -> Iterable[Notice]:
    if not variable.overridden:
        return
    before = ", ".join(f"{_value(old)} ({old.origin})" for old in variable.overridden)
    yield Notice(
        "variable-overridden",
        f"variable {variable.name} is {_value(variable)} ({variable.origin}), overriding {before}",
        (variable.origin, *(old.origin for old in variable.overridden)),
    )


def _value(variable: Variable | MergedVariable) -> str:
    return "unset" if variable.value is None else mask(f"{variable.name}={variable.value}").partition("=")[2]
