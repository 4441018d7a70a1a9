"""A failed run of uv or pip as one sentence that names the package, with the tool's last lines and a next step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packaging.utils import canonicalize_name

from conda_llmenv.errors import InputError, LlmenvError, PipFailed
from conda_llmenv.model import PipRequest, PipRequirement
from conda_llmenv.pypi.blame import AskedFile, mentioned, shown
from conda_llmenv.redact import mask

KEPT_LINES = 15
"""How many of the tool's last lines are shown."""

_NAME = r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
_CULPRITS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"[Hh]ash mismatch for `{_NAME}",
        rf"Failed to (?:build|download|fetch|read|prepare|install|download and build|generate)[^`\n]* `{_NAME}",
        rf"Failed to install: \S+ \({_NAME}==",
        rf"Failed (?:building wheel for|to build) '?{_NAME}",
        rf"(?:No matching distribution found for|satisfies the requirement) {_NAME}",
        rf"\b{_NAME} was not found in the",
        rf"you require {_NAME}",
        rf"THESE PACKAGES DO NOT MATCH THE HASHES[\s\S]*?\n\s+{_NAME}==",
    )
)

_HINTS = (
    (
        r"[Gg]it executable not found|Cannot find command 'git'",
        "git is not installed: add `git` to the conda dependencies",
    ),
    (
        r"[Hh]ash mismatch|DO NOT MATCH THE HASHES",
        "the file is not the one that was recorded: do not use it before you know why",
    ),
    (r"network was disabled", "the cache lacks it: run once without --offline"),
    (
        r"\b40[13]\b|[Uu]nauthorized|[Ff]orbidden",
        "the index wants other credentials: check the user and password in its URL or in ~/.netrc",
    ),
    (
        r"was not found in the package registry|No matching distribution found",
        "check its name and version; an index that refuses your credentials counts as one that does not have it",
    ),
    (r"[Nn]o space left|os error 28", "the disk is full: free some space, or set UV_CACHE_DIR to another one"),
    (
        r"dns error|[Cc]onnection refused|[Cc]onnect timeout|timed out|error sending request",
        "the index cannot be reached: check its URL and the proxy",
    ),
    (
        r"command '\S*(?:gcc|g\+\+|cc)' failed|no such file.*(?:gcc|g\+\+)|\b(?:gcc|g\+\+): not found",
        "no compiler that works: add `cxx-compiler` to the conda dependencies",
    ),
    (r"CUDA_HOME|nvcc.*not found", "the CUDA compiler is missing: add `cuda-nvcc` to the conda dependencies"),
    (r"No module named ['\"]?torch\b", "its build needs torch: list it under llmenv: {no_build_isolation: […]}"),
)


def culprit(output: str) -> str | None:
    """Return the normalised name of the distribution a tool's output blames, or None."""
    for pattern in _CULPRITS:
        match = pattern.search(output)
        if match:
            return canonicalize_name(match["name"])
    return None


def failed(request: PipRequest, output: str, action: str, asked: AskedFile | None = None) -> LlmenvError:
    """Return the error for a run that ended badly: an input mistake where the tool could not read a line.

    Args:
        request: what was asked, for files, lines and what conda provides.
        output: what the tool printed.
        action: past participle of what was tried, such as ``resolved``.
        asked: the file that the tool read, whose lines its output may name.
    """
    if asked is not None:
        output, lines = asked.located(output)
        if lines:
            return _misread(asked, lines, output)
    name = culprit(output)
    held = sorted(one for one in request.provided if re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", output))
    clash = bool(held) and "unsatisfiable" in output
    subject = held[0] if clash and (name is None or name not in request.provided) else name
    blamed = _blamed(request, [subject, name], output)
    if subject is None:
        subject = shown(blamed[0]) if len(blamed) == 1 else "the pip section"
    message = f"{blamed[0].origin}: {subject}" if blamed else subject
    message += f" could not be {action}"
    if clash:
        facts = ", ".join(f"{one} {request.provided[one]}" for one in held)
        message += f": conda provides {facts}, which does not fit"
    hint = _hint(output, held if clash else [])
    return PipFailed(message, details=last_lines(output), hint=hint, origins=[one.origin for one in blamed])


def _misread(asked: AskedFile, lines: Sequence[int], output: str) -> InputError:
    """Return the error for a line that a tool cannot read."""
    first = asked.lines[lines[0]]
    return InputError(
        f"{asked.origins[lines[0]]}: {mask(first)} cannot be read as a pip requirement",
        details=last_lines(output),
        hint="write `name`, `name==version`, `name>=1,<2` or `name @ URL`",
        origins=[asked.origins[line] for line in lines],
    )


def _blamed(request: PipRequest, names: Iterable[str | None], output: str) -> Sequence[PipRequirement]:
    """Return the requirements to name: those of the culprits, else those the output mentions, else all."""
    section = request.section.requirements
    wanted = set(names)
    named = [one for one in section if one.name and one.name in wanted]
    return named or mentioned(section, output) or section


def _hint(output: str, held: list[str]) -> str:
    if held:
        return (
            f"ask conda for another {held[0]}, loosen the pip requirement, "
            f"or let pip own it: llmenv: {{owner: {{{held[0]}: pip}}}}"
        )
    return next((hint for pattern, hint in _HINTS if re.search(pattern, output)), "")


def last_lines(output: str) -> list[str]:
    """Return the last lines of an output that say something, secrets masked."""
    lines = [line.rstrip() for line in mask(output).splitlines() if line.strip()]
    return lines[-KEPT_LINES:]
