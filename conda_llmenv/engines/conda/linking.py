"""One installation by conda's own transaction: fetch, link, compile, scripts and the actions of plugins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conda.core.link import PrefixSetup, UnlinkLinkTransaction
from conda.core.solve import diff_for_unlink_link_precs
from conda.models.prefix_graph import PrefixGraph

from conda_llmenv.engines import metadata
from conda_llmenv.engines.conda import convert, packages
from conda_llmenv.engines.conda.compat import extraction_in_threads
from conda_llmenv.engines.conda.interruption import connections_ended_by_signals
from conda_llmenv.engines.conda.settings import package_caches, scoped
from conda_llmenv.engines.conda.silence import silenced
from conda_llmenv.engines.credentials import Credentials, base_of
from conda_llmenv.engines.package_cache import PackageCache
from conda_llmenv.errors import InstallFailed
from conda_llmenv.model import InstallRequest, Notice, Record
from conda_llmenv.ports import Reporter
from conda_llmenv.redact import has_secret, strip


def install(request: InstallRequest, reporter: Reporter) -> None:
    """Download, verify and link every record; what fails half-way is left to whoever made the prefix."""
    _check_hashes(request)
    credentials = Credentials.of(sorted({base_of(record) for record in request.records}))
    with silenced(lambda text: reporter.line("link", text)), scoped(_settings(request), credentials):
        wanted = {one.package: one for one in map(packages.Wanted.of, request.records)}
        setup = _setup(request, tuple(PrefixGraph(wanted).graph))
        transaction = UnlinkLinkTransaction(setup)
        _fetch(transaction, [wanted[package] for package in setup.link_precs], request, reporter)
        with metadata.without_history(request.prefix):
            _link(transaction, request, reporter)
    _strip_records(request.prefix)


def _settings(request: InstallRequest) -> dict[str, Any]:
    return {
        "_pkgs_dirs": package_caches(request.package_cache),
        "_subdir": request.subdir,
        "_subdirs": (request.subdir, "noarch"),
        "offline": request.offline,
    }


def _setup(request: InstallRequest, ordered: tuple[Any, ...]) -> Any:
    """Return what has to change in the prefix, dependencies first: link scripts run in this order."""
    unlink, link = diff_for_unlink_link_precs(str(request.prefix), ordered, (), force_reinstall=False)
    return PrefixSetup(
        target_prefix=str(request.prefix),
        unlink_precs=unlink,
        link_precs=link,
        remove_specs=(),
        update_specs=tuple(convert.to_spec(text) for text in request.requested),
        neutered_specs=(),
    )


def _check_hashes(request: InstallRequest) -> None:
    bare = [record for record in request.records if record.sha256 is None and record.md5 is None]
    if bare:
        raise InstallFailed(
            f"{len(bare)} packages have no hash in their channel's repodata and cannot be verified",
            details=[f"{record.file_name}  from {strip(record.channel)}" for record in bare],
            hint="ask the channel's owner to index it again, or take the package from another channel",
        )


def _fetch(transaction: Any, wanted: list[packages.Wanted], request: InstallRequest, reporter: Reporter) -> None:
    """Bring every package into the caches, alone among all that use the first of them."""
    cache = PackageCache(request.package_cache)
    waiting = f"waiting for another process that uses the package cache {cache.folder}"
    with cache.locked(lambda: reporter.line("link", waiting)), connections_ended_by_signals() as interrupted:
        packages.prepare(cache, wanted)
        fetch = packages.Fetch(wanted, reporter, lambda: interrupted() or _given_up(request))
        missing = fetch.missing()
        _check_reachable(missing, request)
        cache.check_room(missing)
        _notice_weak(missing, reporter)
        for record in missing:
            cache.note_path(record).unlink(missing_ok=True)  # it would speak of what is replaced
        transaction._pfe = fetch  # noqa: SLF001 - the transaction keeps conda's there and has no parameter for it
        with extraction_in_threads():
            transaction.download_and_extract()


def _check_reachable(missing: list[Record], request: InstallRequest) -> None:
    remote = [record for record in missing if not record.url.startswith("file:")]
    if request.offline and remote:
        raise InstallFailed(
            f"offline, and {len(remote)} packages are not in the package cache {request.package_cache}",
            details=[record.file_name for record in remote],
            hint="run once without --offline, or copy the package cache of a machine that has them",
        )


def _notice_weak(missing: list[Record], reporter: Reporter) -> None:
    weak = [record.name for record in missing if record.sha256 is None]
    if weak:
        message = f"only an MD5 is known of {', '.join(weak)}: it shows damage, not tampering"
        reporter.notice(Notice("weak-hash", message))


def _link(transaction: Any, request: InstallRequest, reporter: Reporter) -> None:
    reporter.start("link", len(request.records))
    _check_needed(request)
    transaction.prepare()
    transaction.verify()
    _check_needed(request)
    transaction.execute_executor = _Counted(transaction.execute_executor, len(request.records), reporter)
    transaction.execute()
    reporter.finish("link")


def _given_up(request: InstallRequest) -> bool:
    return request.given_up is not None and request.given_up()


def _check_needed(request: InstallRequest) -> None:
    if _given_up(request):
        raise InstallFailed("stopped, because another part of the work has failed")


class _Counted:
    """conda's executor of actions, which tells how many packages are linked."""

    def __init__(self, executor: Any, total: int, reporter: Reporter) -> None:
        self._executor = executor
        self._total = total
        self._reporter = reporter

    def map(self, function: Any, groups: Any) -> Iterator[Any]:
        """Yield each group's outcome, None or what went wrong."""
        groups = list(groups)
        linked = 0
        for group, outcome in zip(groups, self._executor.map(function, groups), strict=True):
            yield outcome
            if group.type == "link" and outcome is None:
                linked += 1
                self._reporter.advance("link", linked, self._total)


def _strip_records(prefix: Path) -> None:
    """Take credentials out of what conda copied from records in a cache that an earlier conda wrote."""
    for path in (prefix / "conda-meta").glob("*.json"):
        text = path.read_text(encoding="utf-8")
        if has_secret(text):
            entry = json.loads(text)
            path.write_text(json.dumps(_clean(entry), indent=2, sort_keys=True), encoding="utf-8")


def _clean(entry: Any) -> Any:
    if isinstance(entry, str):
        return strip(entry) if "://" in entry else entry
    if isinstance(entry, dict):
        return {key: _clean(value) for key, value in entry.items()}
    return [_clean(value) for value in entry] if isinstance(entry, list) else entry
