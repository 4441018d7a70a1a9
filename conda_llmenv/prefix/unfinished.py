"""Was an environment ever finished? What a run has left that was killed, failed or is still at work is none yet."""

from __future__ import annotations

from pathlib import Path

from conda_llmenv.errors import PrefixError
from conda_llmenv.model import EnvState, Phase
from conda_llmenv.prefix import owner as owners
from conda_llmenv.prefix.location import is_in_change
from conda_llmenv.prefix.state import read_state


def why_unfinished(prefix: Path) -> str:
    """Return why an environment is not finished, in a sentence; an empty one for any that is, whoever made it.

    Raises:
        PrefixError: its state is broken.
    """
    state = read_state(prefix)
    if state is not None and state.phase is Phase.CREATING:
        return creating_reason(state)
    if state is not None and state.phase is Phase.FAILED:
        return f"making it failed: {state.reason or 'nobody noted why'}"
    return "it is being changed, or was when a run was interrupted" if is_in_change(prefix) else ""


def creating_reason(state: EnvState) -> str:
    """Return who is at work on an environment in phase ``creating``, or that nobody is any more."""
    if state.owner is not None and owners.is_alive(state.owner) is not False:
        return f"{owners.describe(state.owner)} is at work on it"
    return "the run that made it was interrupted; the next `llmenv create` or `llmenv remove` for it puts things right"


def refuse_unfinished(prefix: Path, doing: str) -> None:
    """Refuse to take an environment for what it was meant to become.

    Args:
        prefix: the environment.
        doing: what was to be done to it, such as ``exported``.

    Raises:
        PrefixError: it is not finished, or its state is broken.
    """
    why = why_unfinished(prefix)
    if why:
        raise PrefixError(
            f"{prefix} is not finished and cannot be {doing}: {why}",
            hint=f"make it again: llmenv create -p {prefix} …, or remove it: llmenv remove -p {prefix}",
        )
