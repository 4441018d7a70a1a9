"""The embedded engine: py-rattler solves, downloads and links; asyncio stays inside this module."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import rattler
from rattler.exceptions import GatewayError
from rattler.package_streaming import download_to_writer

from conda_llmenv.engines import cache, compat, convert, metadata
from conda_llmenv.engines.client import closed_client, install_config, open_client
from conda_llmenv.engines.credentials import Credentials, base_of, without_secrets
from conda_llmenv.engines.errors import DamagedDownload, install_errors, solve_errors
from conda_llmenv.engines.options import ClientOptions
from conda_llmenv.engines.progress import InstallProgress
from conda_llmenv.errors import InputError, InstallFailed
from conda_llmenv.model import Channel, InstallRequest, Notice, Record, Solution, SolveRequest
from conda_llmenv.ports import Reporter
from conda_llmenv.redact import mask, strip

PRIORITIES = {
    "strict": rattler.ChannelPriority.Strict,
    "flexible": rattler.ChannelPriority.Flexible,
    "disabled": rattler.ChannelPriority.Disabled,
}
"""conda's words for channel priority."""


EXAMINED_BYTES = 64 * 1024 * 1024
"""Up to this size a download that is damaged time and again is fetched once more to compare its hash."""


class RattlerEngine:
    """Solves with resolvo and installs with rattler's installer, in this process.

    Args:
        options: how to reach channels.
    """

    name = "rattler"

    def __init__(self, options: ClientOptions | None = None) -> None:
        self._options = options or ClientOptions()

    def solve(self, request: SolveRequest, reporter: Reporter) -> Solution:
        """Return every record of the environment, sorted by name; see :class:`conda_llmenv.ports.Engine`."""
        started = time.monotonic()
        reporter.start("solve")
        credentials = Credentials.of(channel.url for channel in request.channels)
        with solve_errors(request), self._client([channel.url for channel in request.channels]) as client:
            found = asyncio.run(_solve(request, client))
        records = (credentials.restored(convert.to_record(record)) for record in found)
        ordered = tuple(sorted(records, key=lambda record: record.name))
        reporter.finish("solve", f"{len(ordered)} packages")
        return Solution(ordered, self.name, round(time.monotonic() - started, 3))

    def install(self, request: InstallRequest, reporter: Reporter) -> None:
        """Download, verify and link every record into the prefix; see :class:`conda_llmenv.ports.Engine`.

        Packages whose link scripts were not run, and those that only have an MD5, are noticed. On failure or
        interruption this returns only when nothing writes into the prefix any more.
        """
        try:
            with install_errors(request):
                self._link(request, reporter)
        except DamagedDownload as error:
            raise self._examined(error, request) from error
        _notice_scripts(request, reporter)

    def _link(self, request: InstallRequest, reporter: Reporter) -> None:
        packages = cache.PackageCache(request.package_cache)
        fetched = _prepare(packages, request, reporter)
        progress = InstallProgress(request.records, fetched, reporter)  # type: ignore[abstract]  # defaults look abstract
        before = {record.name: packages.revision(record) for record in request.records}
        try:
            with (
                metadata.without_history(request.prefix),
                _watched(progress, request.prefix),
                self._installer(request) as client,
            ):
                asyncio.run(_install(request, progress, client, self._options))
        except BaseException:
            packages.sweep(fetched)
            raise
        _verify_refetched(packages, request, before, fetched)
        metadata.open_to_readers(request.prefix)

    def _examined(self, error: DamagedDownload, request: InstallRequest) -> InstallFailed:
        """Look at what the server really sends, so that the message can say in which way it is wrong."""
        record = next((record for record in request.records if record.file_name == error.file_name), None)
        if (
            record is None
            or record.sha256 is None
            or request.offline
            or (record.size or EXAMINED_BYTES) >= EXAMINED_BYTES
        ):
            return error
        sent = io.BytesIO()
        with contextlib.suppress(Exception), open_client(self._options, Credentials.of([base_of(record)])) as client:
            asyncio.run(download_to_writer(client, strip(record.url), sent))
        actual = hashlib.sha256(sent.getvalue()).hexdigest()
        if record.size != len(sent.getvalue()) or actual == record.sha256:
            return error
        return cache.hash_mismatch(record, "sha256", record.sha256, actual, mask(record.url))

    @contextlib.contextmanager
    def _client(self, bases: Sequence[str]) -> Iterator[rattler.Client | None]:
        """Open a client for channel URLs; none is needed where all of them are folders."""
        if all(base.startswith("file:") for base in bases):
            yield None
            return
        with open_client(self._options, Credentials.of(bases)) as client:
            yield client

    @contextlib.contextmanager
    def _installer(self, request: InstallRequest) -> Iterator[rattler.Client | None]:
        if request.offline:
            yield closed_client()
            return
        with self._client(sorted({base_of(record) for record in request.records})) as client:
            yield client


async def _solve(request: SolveRequest, client: rattler.Client | None) -> list[rattler.RepoDataRecord]:
    """Solve with sharded repodata where a channel has it.

    Some mirrors answer 403 for a file they do not have; they are asked again for the plain one.
    """
    try:
        return await _solve_with(request, client, sharded=True)
    except GatewayError as error:
        if "repodata_shards" not in str(error) or "HTTP status" not in str(error):
            raise
        return await _solve_with(request, client, sharded=False)


async def _solve_with(
    request: SolveRequest, client: rattler.Client | None, *, sharded: bool
) -> list[rattler.RepoDataRecord]:
    """Solve, and once more where strict channel priority was passed over.

    The library leaves out records that no spec of their name matches before it ranks channels: a version that only a
    later channel has would be taken from there. To conda the first channel with the name hides the others, and that is
    what protects from a higher version planted on a public channel. Asking for the bare name as well brings all records
    back; it is done only where it changes the answer, since it also brings what those records depend on.
    """
    question = _question(request, client, sharded=sharded)
    found = await rattler.solve(**question)
    if request.channel_priority == "strict" and (names := await _passed_over(found, question)):
        question["specs"] += [rattler.MatchSpec(name) for name in names]
        found = await rattler.solve(**question)
    return found


def _question(request: SolveRequest, client: rattler.Client | None, *, sharded: bool) -> dict[str, Any]:
    """Return the request as the library's arguments, without secrets."""
    channels = [Channel(channel.name, strip(channel.url)) for channel in request.channels]
    config = rattler.SourceConfig(
        sharded_enabled=sharded,
        bz2_enabled=False,
        cache_action="force-cache-only" if request.offline else "cache-or-fetch",
    )
    return {
        "sources": [rattler.Channel(channel.url) for channel in channels],
        "specs": [convert.to_spec(strip(text), channels) for text in request.specs],
        "gateway": rattler.Gateway(cache_dir=request.repodata_cache, default_config=config, client=client),
        "platforms": [compat.subdir(name) for name in request.subdirs],
        "locked_packages": convert.from_records([without_secrets(record) for record in request.locked]),
        "virtual_packages": [convert.to_virtual(package) for package in request.virtual_packages],
        "channel_priority": _priority(request.channel_priority),
        "exclude_newer": convert.to_cutoff(request.exclude_newer),
        "constraints": [convert.to_spec(strip(text), channels) for text in request.constraints],
        "channel_relations": "disabled",
        "add_pip_as_python_dependency": False,
        **compat.cutoff_options(),
    }


async def _passed_over(found: Iterable[rattler.RepoDataRecord], question: dict[str, Any]) -> list[str]:
    """Return the requested packages that an earlier channel has too, in versions that do not match."""
    asked = {spec.name.normalized for spec in question["specs"] if spec.channel is None}
    order = [source.base_url for source in question["sources"]]
    names = []
    for record in found:
        name = record.name.normalized
        earlier = question["sources"][: order.index(record.channel)] if record.channel in order else []
        if name in asked and earlier and await _has(name, earlier, question):
            names.append(name)
    return names


async def _has(name: str, channels: Sequence[rattler.Channel], question: dict[str, Any]) -> bool:
    lists = await question["gateway"].query(
        channels, question["platforms"], [rattler.MatchSpec(name)], recursive=False, channel_relations="disabled"
    )
    return any(lists)


async def _install(
    request: InstallRequest, progress: InstallProgress, client: rattler.Client | None, options: ClientOptions
) -> None:
    await rattler.install(
        records=convert.from_records([without_secrets(record) for record in request.records]),
        target_prefix=request.prefix,
        platform=compat.subdir(request.subdir),
        execute_link_scripts=False,
        show_progress=False,
        client=client,
        requested_specs=compat.requested_specs([rattler.MatchSpec(strip(text)) for text in request.requested]),
        reporter=progress,
        config=install_config(options),
        **compat.package_cache(request.package_cache),
    )


@contextlib.contextmanager
def _watched(progress: InstallProgress, prefix: Path) -> Iterator[None]:
    progress.start()
    try:
        yield
    except BaseException:
        progress.settle(prefix)
        raise
    finally:
        progress.finish()


def _prepare(packages: cache.PackageCache, request: InstallRequest, reporter: Reporter) -> list[Record]:
    """Check the records and the cache before anything is linked; return what has to be fetched."""
    _check_hashes(request.records)
    waiting = "waiting for another process that uses the package cache"
    with packages.locked(lambda: reporter.line("link", f"{waiting} {packages.folder}")):
        packages.drop_outdated(request.records)
        if request.offline or not compat.verifies_cached_packages():
            packages.drop_damaged(request.records)
        fetched = [record for record in request.records if not packages.holds(record)]
    remote = [record for record in fetched if cache.local_archive(record) is None]
    if request.offline and remote:
        raise InstallFailed(
            f"offline, and {len(remote)} packages are not in the package cache {packages.folder}",
            details=[record.file_name for record in remote],
            hint="run once without --offline, or copy the package cache of a machine that has them",
        )
    packages.check_room(fetched)
    for record in fetched:
        cache.verify_archive(record)
    weak = [record.name for record in remote if record.sha256 is None]
    if weak:
        message = f"only an MD5 is known of {', '.join(weak)}: it shows damage, not tampering"
        reporter.notice(Notice("weak-hash", message))
    return fetched


def _check_hashes(records: Sequence[Record]) -> None:
    bare = [record for record in records if record.sha256 is None and record.md5 is None]
    if bare:
        raise InstallFailed(
            f"{len(bare)} packages have no hash in their channel's repodata and cannot be verified",
            details=[f"{record.file_name}  from {strip(record.channel)}" for record in bare],
            hint="ask the channel's owner to index it again, or take the package from another channel",
        )


def _verify_refetched(
    packages: cache.PackageCache, request: InstallRequest, before: dict[str, int], fetched: Sequence[Record]
) -> None:
    """Check the local archives of packages that the library itself found damaged and extracted again."""
    known = {record.name for record in fetched}
    for record in request.records:
        if record.name not in known and packages.revision(record) != before[record.name]:
            try:
                cache.verify_archive(record)
            except InstallFailed:
                packages.drop(record)
                raise


def _notice_scripts(request: InstallRequest, reporter: Reporter) -> None:
    names = metadata.skipped_scripts(request.prefix, request.records)
    if names:
        message = f"link scripts were not run: {', '.join(names)}"
        hint = (
            "conda runs them unseen; read bin/.NAME-post-link.sh in the environment and run it if you need what it does"
        )
        reporter.notice(Notice("link-scripts", message, hint=hint))


def _priority(word: str) -> rattler.ChannelPriority:
    if word not in PRIORITIES:
        raise InputError(f"channel priority {word!r} is unknown", hint=f"use one of {', '.join(PRIORITIES)}")
    return PRIORITIES[word]
