"""What can go wrong on the way into an environment."""

from __future__ import annotations


class Failed(Exception):
    """The environment cannot be entered.

    Args:
        message: one sentence, no trailing period.
        details: lines below it.
        hint: the next step.
        script: the activation script that is to blame, if one is: without it the environment can be entered.
    """

    def __init__(self, message: str, *, details: tuple[str, ...] = (), hint: str = "", script: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.hint = hint
        self.script = script


class Note:
    """What a person should know although the environment was entered: a code, a sentence, and the next step."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        self.code = code
        self.message = message
        self.hint = hint
