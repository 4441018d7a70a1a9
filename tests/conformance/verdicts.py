"""What is wrong with an answer, as sentences; none means that it is what the case says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from conda_llmenv.model import Record
from tests.conformance.asking import request_of
from tests.conformance.cases import Case, Difference, Failing
from tests.conformance.messages import Answer, Failure
from tests.conformance.worlds import Place

COMPARED = (
    "name", "version", "build", "build_number", "subdir", "url", "channel", "file_name", "sha256", "md5", "size",
    "timestamp", "depends", "constrains", "noarch", "license", "track_features", "python_site_packages_path",
)  # fmt: skip
"""What has to be the same whichever engine answers; package URLs are not in every library's records."""


def faults(case: Case, place: Place, answer: Answer, *, told: bool = True) -> Iterator[str]:
    """Yield what is wrong with an answer; ``told`` is whether the words of a failure are looked at too."""
    if answer.crash:
        yield answer.crash
    elif case.error is not None:
        yield from _failure_faults(case.error, answer)
        if answer.failure is not None and told:
            yield from _explanation_faults(case, case.error, place, answer.failure)
    elif answer.records is None:
        yield f"it failed: {answer.failure and answer.failure.text}"
    else:
        yield from _record_faults(case, place, answer.records)
        yield from published_faults(place, answer.records)


def difference_faults(
    case: Case, difference: Difference, place: Place, answer: Answer, base: Answer, *, told: bool = True
) -> Iterator[str]:
    """Yield what is wrong with the answer of an engine that differs from the base engine as listed."""
    if not [*faults(case, place, answer, told=told), *unequal_records(answer, base)]:
        yield "the listed difference is none: the answer is what the case says"
    own = replace(case, records=difference.records, error=difference.error, has=(), count=0, lacks=())
    if difference.records is not None or difference.error is not None:
        yield from faults(own, place, answer, told=told)
    elif answer.records is None or base.records is None:
        yield f"it failed: {answer.failure and answer.failure.text}"
    else:
        instead = {line.split()[0]: place.filled(line) for line in difference.instead}
        gone = {*instead, *difference.lacks}
        kept = (str(record) for record in base.records if record.name not in gone)
        yield from faults(replace(own, records=(*kept, *instead.values())), place, answer)


def unequal_records(answer: Answer, base: Answer) -> list[str]:
    """Return what differs between the full records of two engines."""
    ours, theirs = ({record.url: record for record in one.records or ()} for one in (answer, base))
    found = [f"only here: {ours[url]}" for url in sorted(ours.keys() - theirs.keys())]
    found += [f"only there: {theirs[url]}" for url in sorted(theirs.keys() - ours.keys())]
    shared = sorted(ours.keys() & theirs.keys())
    return found + [text for url in shared for text in _unequal_fields(ours[url], theirs[url])]


def published_faults(place: Place, records: Iterable[Record]) -> Iterator[str]:
    """Yield where a record is not what its channel's repodata says."""
    for record in records:
        published = place.published(record.url)
        if published is None:
            yield f"{record} is not in any repodata: {record.url}"
        else:
            yield from _unequal_fields(record, published)


def lines(records: Iterable[Record]) -> frozenset[str]:
    """Return records as ``name version build``."""
    return frozenset(map(str, records))


def _record_faults(case: Case, place: Place, records: tuple[Record, ...]) -> Iterator[str]:
    names = [record.name for record in records]
    if names != sorted(set(names)):
        yield f"the records are not in name order, each name once: {names}"
    given = {*lines(records), *(f"{record} {_channel(record, case, place)}" for record in records)}
    wanted = [place.filled(line) for line in (case.has if case.records is None else case.records)]
    yield from (f"missing: {line}; there is {_named(line, records)}" for line in wanted if line not in given)
    if case.records is not None:
        yield from (f"not expected: {record}" for record in records if not _expected(record, wanted))
    elif len(records) != case.count:
        yield f"{len(records)} records, not {case.count}"
    yield from (f"{name} is there" for name in case.lacks if name in names)


def _expected(record: Record, wanted: Iterable[str]) -> bool:
    return any(line == str(record) or line.startswith(f"{record} ") for line in wanted)


def _channel(record: Record, case: Case, place: Place) -> str:
    return next((name for name in case.channels if place.url(name) == record.channel), record.channel)


def _named(line: str, records: Iterable[Record]) -> str:
    found = [f"{record} of {record.channel}" for record in records if record.name == line.split(maxsplit=1)[0]]
    return ", ".join(found) or "none of that name"


def _failure_faults(expected: Failing, answer: Answer) -> Iterator[str]:
    if answer.failure is None:
        yield f"it succeeded: {sorted(lines(answer.records or ()))}"
        return
    if answer.failure.code != expected.code:
        yield f"it is called {answer.failure.code}: {answer.failure.text}"
    if answer.failure.channel != expected.channel:
        yield f"the channel named is {answer.failure.channel!r}"


def _explanation_faults(case: Case, expected: Failing, place: Place, failure: Failure) -> Iterator[str]:
    named = failure.packages
    yield from (f"{name} is not named, but {named}" for name in expected.packages if name not in named)
    yield from (f"{name} has no part in it" for name in expected.never if name in named)
    yield from (f"{word!r} is not said: {failure.text}" for word in expected.says if word not in failure.text)
    yield from _invented_names(case, place, failure)


def _invented_names(case: Case, place: Place, failure: Failure) -> Iterator[str]:
    """Yield names that are neither asked for, nor virtual, nor any package's: an explanation that was misread."""
    known = place.names(case.channels, case.subdir or place.subdir)
    request = request_of(case, place, Path())
    asked = " ".join((*request.specs, *request.constraints))
    for name in failure.packages:
        if name not in known and not name.startswith("__") and name not in asked:
            yield f"{name!r} is no package"


def _unequal_fields(ours: Record, theirs: Record) -> Iterator[str]:
    for name in COMPARED:
        one, other = getattr(ours, name), getattr(theirs, name)
        if one != other:
            yield f"{ours.file_name}: {name} is {one!r}, not {other!r}"
