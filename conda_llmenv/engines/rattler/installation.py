"""One installation with the library: what is checked before, what is watched meanwhile, what is put right after."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import rattler
from rattler.package_streaming import download_to_writer

from conda_llmenv.engines import metadata
from conda_llmenv.engines import package_cache as cache
from conda_llmenv.engines.credentials import Credentials, base_of, without_secrets
from conda_llmenv.engines.options import ClientOptions
from conda_llmenv.engines.rattler import compat, convert
from conda_llmenv.engines.rattler.client import channel_client, closed_client, install_config, open_client
from conda_llmenv.engines.rattler.install_errors import DamagedDownload, install_errors
from conda_llmenv.engines.rattler.progress import InstallProgress
from conda_llmenv.engines.rattler.stalling import SLOWEST, Pace, silent_downloads, unless
from conda_llmenv.errors import InstallFailed
from conda_llmenv.model import InstallRequest, Notice, Record
from conda_llmenv.ports import Reporter
from conda_llmenv.redact import mask, strip

EXAMINED_BYTES = 64 * 1024 * 1024
"""Up to this size a download that is damaged time and again is fetched once more to compare its hash."""

EXAMINED_SECONDS = 60
"""How long that may take."""


def install(request: InstallRequest, reporter: Reporter, options: ClientOptions) -> None:
    """Download, verify and link every record; on failure return only when nothing writes into the prefix any more."""
    try:
        with install_errors(request):
            _link(request, reporter, options)
    except DamagedDownload as error:
        raise _examined(error, request, options) from error
    _notice_scripts(request, reporter)


def _link(request: InstallRequest, reporter: Reporter, options: ClientOptions) -> None:
    packages = cache.PackageCache(request.package_cache)
    fetched = _prepare(packages, request, reporter)
    progress = InstallProgress(request, fetched, reporter)  # type: ignore[abstract]  # defaults look abstract
    before = {record.name: packages.revision(record) for record in request.records}
    try:
        with (
            metadata.without_history(request.prefix),
            _watched(progress, request.prefix),
            _client(request, options) as client,
        ):
            pointless = partial(_pointless, request, progress, Pace(options.read_timeout, SLOWEST))
            asyncio.run(unless(_install(request, progress, client, options), pointless))
    except BaseException:
        packages.sweep(fetched)
        raise
    _verify_refetched(packages, request, before, fetched)
    packages.note_md5(fetched)
    metadata.open_to_readers(request.prefix)
    metadata.correct_links(request.prefix)


@contextlib.contextmanager
def _client(request: InstallRequest, options: ClientOptions) -> Iterator[rattler.Client | None]:
    if request.offline:
        yield closed_client()
        return
    with channel_client(options, sorted({base_of(record) for record in request.records})) as client:
        yield client


def _pointless(request: InstallRequest, progress: InstallProgress, pace: Pace) -> InstallFailed | None:
    """Return why the installation should not go on, if there is a reason."""
    if request.given_up is not None and request.given_up():
        return InstallFailed("stopped, because another part of the work has failed")
    waiting = progress.arriving()
    if not waiting:
        pace.restart()
    elif pace.stalled(progress.received()):
        return silent_downloads(waiting, pace.seconds)
    return None


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


def _examined(error: DamagedDownload, request: InstallRequest, options: ClientOptions) -> InstallFailed:
    """Look at what the server really sends, so that the message can say in which way it is wrong."""
    record = next((record for record in request.records if record.file_name == error.file_name), None)
    if record is None or record.sha256 is None or request.offline or not 0 < (record.size or 0) <= EXAMINED_BYTES:
        return error
    sent = io.BytesIO()
    once = Credentials.of([base_of(record)])
    with contextlib.suppress(Exception), open_client(options, once, seconds=EXAMINED_SECONDS) as client:
        asyncio.run(download_to_writer(client, strip(record.url), sent))
    actual = hashlib.sha256(sent.getvalue()).hexdigest()
    if record.size != len(sent.getvalue()) or actual == record.sha256:
        return error
    return cache.hash_mismatch(record, "sha256", record.sha256, actual, mask(record.url))


def _notice_scripts(request: InstallRequest, reporter: Reporter) -> None:
    names = metadata.skipped_scripts(request.prefix, request.records)
    if names:
        message = f"link scripts were not run: {', '.join(names)}"
        hint = (
            "conda runs them unseen; read bin/.NAME-post-link.sh in the environment and run it if you need what it does"
        )
        reporter.notice(Notice("link-scripts", message, hint=hint))
