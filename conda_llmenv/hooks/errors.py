"""Our failures as conda's own, so that it prints the sentence and not a traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from conda_llmenv.errors import LlmenvError
from conda_llmenv.redact import mask


@contextlib.contextmanager
def as_conda_errors() -> Iterator[None]:
    """Turn what we raise inside a hook into conda's error for a wrong value."""
    from conda.exceptions import CondaValueError

    try:
        yield
    except LlmenvError as error:
        raise CondaValueError(_text(error).replace("%", "%%")) from error


def _text(error: LlmenvError) -> str:
    """Return all that is known about a failure as one text; conda formats its messages with ``%``."""
    lines = [error.message, *(f"  {line}".rstrip() for line in error.details)]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    return mask("\n".join(lines))
