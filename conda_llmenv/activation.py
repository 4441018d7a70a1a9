"""What an environment variable may hold so that ``conda activate`` hands it on byte for byte.

conda's activation puts each value between quotes of the shell at hand and escapes nothing, so a value is only taken
if bash, zsh, fish, tcsh, xonsh and PowerShell all give it back unchanged.
"""

from __future__ import annotations

UNSET = "***unset***"
"""What conda writes for a variable that a package sets and the person does not want."""

RESERVED = ("PATH",)
"""Names that conda sets itself and ignores in an environment, with a warning at every activation."""

_UNSAFE = {
    "'": "ends the quotes of bash, zsh and xonsh",
    '"': "ends the quotes of fish, tcsh and PowerShell",
    "`": "runs a command in tcsh and escapes in PowerShell",
    "$": "is expanded by fish, tcsh and PowerShell",
    "\\": "escapes in fish and xonsh",
    "!": "is replaced from the history by tcsh",
}


def survives_activation(value: str) -> str | None:
    """Return why a value would not reach the program byte for byte after ``conda activate``; None if it would."""
    for character in value:
        if character in _UNSAFE:
            return f"{character} {_UNSAFE[character]}"
        if not character.isprintable():
            return f"the character U+{ord(character):04X} cannot stand in a line of a shell"
    if value == UNSET:
        return "conda reads this very text as “do not set”"
    return None
