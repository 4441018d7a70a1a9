"""Records and MatchSpecs as far as this engine looks at them.

Records reach libmamba as repodata entries and come back as keys, so that none of their fields passes through it. Of a
MatchSpec libmamba is told the name, version and build; all else of it is a rule on records, with py-rattler's meaning.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import rattler
from msgspec import Struct

_KEY = re.compile(r'[\[,]\s*(\w+)="')
_TOLD = {"version", "build", "channel"}


class Candidate(Struct, frozen=True):
    """A record.

    Attributes:
        channel: base URL, without secrets and trailing slash.
        timestamp: when it was built; None if it does not say.
        source: the library's record.
    """

    name: str
    channel: str
    subdir: str
    file_name: str
    timestamp: dt.datetime | None
    source: Any


class Wanted(Struct, frozen=True):
    """A MatchSpec.

    Attributes:
        text: ``NAME [VERSION [BUILD]]``.
        channel: base URL, without trailing slash, of the only channel it may come from; None for any.
        exact: the library's spec, where it asks for more than that (a build number, a hash, a subdir, an expression…).
    """

    name: str
    text: str
    channel: str | None = None
    exact: Any = None

    def takes(self, one: Candidate) -> bool:
        """Return whether a record, if it is of that name, fits what the text leaves out."""
        if one.name != self.name:
            return True
        if self.channel not in (None, one.channel):
            return False
        spec = self.exact
        if spec is None:
            return True
        # The library compares neither of these two.
        here = spec.subdir in (None, one.subdir) and spec.file_name in (None, one.file_name)
        return here and bool(spec.matches(one.source))


def to_candidate(record: rattler.RepoDataRecord) -> Candidate:
    """Return the library's record with what the rules look at."""
    return Candidate(
        record.name.normalized,
        (record.channel or "").rstrip("/"),
        record.subdir,
        record.file_name,
        record.timestamp,
        record,
    )


def to_wanted(spec: rattler.MatchSpec) -> Wanted:
    """Take a MatchSpec apart; its channel, if any, is one of the request's already."""
    name = spec.name.normalized
    build = str(spec.build) if spec.build is not None else ""
    expression = build.startswith("^")  # its brackets would be read as those of a spec
    build = "" if expression else build
    version = str(spec.version) if spec.version is not None else "*" if build else ""
    more = expression or spec.subdir is not None or set(_KEY.findall(str(spec))) - _TOLD
    return Wanted(
        name,
        " ".join(part for part in (name, version, build) if part),
        spec.channel.base_url.rstrip("/") if spec.channel is not None else None,
        spec if more else None,
    )
