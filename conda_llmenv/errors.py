"""Every failure a person can meet, under one root; each says what, where, why and what to do next."""

from __future__ import annotations

from collections.abc import Iterable

from conda_llmenv.model import Origin, Verdict


class LlmenvError(Exception):
    """The root of all expected failures.

    Args:
        message: one sentence, no trailing period.
        details: further lines, printed indented below the sentence.
        hint: the next step; printed after ``hint:``.
        origins: the files and lines concerned.

    Attributes:
        code: stable kebab-case name of the kind of failure.
        exit_code: 2 for a usage or input mistake, 1 for work that failed.
    """

    code = "failed"
    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        details: Iterable[str] = (),
        hint: str = "",
        origins: Iterable[Origin] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        self.hint = hint
        self.origins = tuple(origins)


class InputError(LlmenvError):
    """A file, a name or an option is wrong; nothing was done."""

    code = "bad-input"
    exit_code = 2


class FileFormatError(InputError):
    """A file cannot be read as what it should be; the message starts with ``file:line:column``."""

    code = "bad-file"


class ConflictError(InputError):
    """Layers contradict each other; every conflict is in ``details``."""

    code = "conflict"


class NotFoundError(InputError):
    """A named tier, recipe, fragment or environment is not there."""

    code = "not-found"


class PlanRefused(LlmenvError):
    """A plan check failed: what was asked for cannot work here. Nothing was linked."""

    code = "plan-refused"

    def __init__(
        self, message: str, verdicts: Iterable[Verdict], *, details: Iterable[str] = (), hint: str = ""
    ) -> None:
        self.verdicts = tuple(verdicts)
        origins = [origin for verdict in self.verdicts for origin in verdict.origins]
        super().__init__(message, details=details, hint=hint, origins=origins)


class Unsatisfiable(LlmenvError):
    """No set of packages fits the specs; ``packages`` names those that take part in the conflict."""

    code = "unsatisfiable"

    def __init__(
        self,
        message: str,
        *,
        packages: Iterable[str] = (),
        details: Iterable[str] = (),
        hint: str = "",
        origins: Iterable[Origin] = (),
    ) -> None:
        self.packages = tuple(packages)
        super().__init__(message, details=details, hint=hint, origins=origins)


class ChannelUnavailable(LlmenvError):
    """A channel's repodata cannot be had; ``channel`` is its name or URL without secrets."""

    code = "channel-unavailable"

    def __init__(
        self,
        message: str,
        *,
        channel: str = "",
        details: Iterable[str] = (),
        hint: str = "",
        origins: Iterable[Origin] = (),
    ) -> None:
        self.channel = channel
        super().__init__(message, details=details, hint=hint, origins=origins)


class InstallFailed(LlmenvError):
    """Downloading, verifying or linking a conda package failed."""

    code = "install-failed"


class NoSpace(InstallFailed):
    """The disk (or its inodes, or a quota) is full."""

    code = "no-space"


class PipFailed(LlmenvError):
    """The pip section could not be resolved or installed; the tool's last lines are in ``details``."""

    code = "pip-failed"


class CheckFailed(LlmenvError):
    """The environment was made but does not work."""

    code = "check-failed"


class PrefixError(LlmenvError):
    """A prefix cannot be used for what was asked."""

    code = "prefix"


class PrefixRefused(PrefixError):
    """What was asked of a prefix is refused because of what it is or holds; nothing was done."""

    exit_code = 2


class LockBusy(PrefixError):
    """Another process works on the prefix and did not finish in time."""

    code = "busy"


class Interrupted(LlmenvError):
    """A signal ended the work; what had been done was taken back."""

    code = "interrupted"

    def __init__(self, signal_number: int) -> None:
        self.exit_code = 128 + signal_number
        super().__init__("interrupted; what had been started was taken back")
