"""Fetches the candidates with the embedded engine's client, and lays them down as libmamba reads them.

libmambapy's own downloads cannot be given credentials from Python: those go through named mirrors, which have no
binding. py-rattler's client has them, with proxies, certificates, sharded repodata and the offline cache, and it gives
only the records that the specs can reach; libmamba would load whole channels.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import IO

import rattler

from conda_llmenv.engines.libmamba.convert import Candidate, to_candidate
from conda_llmenv.engines.libmamba.messages import Repository
from conda_llmenv.engines.rattler import compat
from conda_llmenv.engines.rattler.gateway import ask_channels
from conda_llmenv.model import SolveRequest
from conda_llmenv.redact import strip


async def fetch(
    request: SolveRequest, specs: Sequence[rattler.MatchSpec], client: rattler.Client | None
) -> list[Candidate]:
    """Return every record of the packages that ``specs`` name, and of those that the fitting ones need in turn."""
    return await ask_channels(request, client, partial(_fetch, request, specs))


async def _fetch(
    request: SolveRequest, specs: Sequence[rattler.MatchSpec], gateway: rattler.Gateway
) -> list[Candidate]:
    """Ask for the specs, and for their names: the library leaves out records of a name that no spec of it matches.

    Those decide which channel is the first that has the name. They are not asked for with what they need, since they
    cannot be chosen.
    """
    sources = [rattler.Channel(url) for url in dict.fromkeys(strip(channel.url) for channel in request.channels)]
    subdirs = [compat.subdir(name) for name in request.subdirs]
    names = [rattler.MatchSpec(name) for name in sorted({spec.name.normalized for spec in specs})]
    found = {}
    for asked, recursive in ((list(specs), True), (names, False)):
        lists = await gateway.query(sources, subdirs, asked, recursive=recursive, channel_relations="disabled")
        candidates = (to_candidate(record) for record in itertools.chain.from_iterable(lists))
        found.update({(one.channel, one.subdir, one.file_name): one for one in candidates})
    return list(found.values())


def write(candidates: Iterable[Candidate], folder: Path, priorities: dict[str, int]) -> list[Repository]:
    """Write a ``repodata.json`` for each channel and subdir, in the order in which the candidates come.

    Args:
        candidates: of all channels; in doubt libmamba takes the first.
        folder: where the files go.
        priorities: of each channel.
    """
    grouped: dict[tuple[str, str], list[Candidate]] = {}
    for one in candidates:
        grouped.setdefault((one.channel, one.subdir), []).append(one)
    written: list[Repository] = []
    for (channel, subdir), members in grouped.items():
        path = folder / f"{len(written)}.json"
        with path.open("w", encoding="utf-8") as file:
            _dump(members, file)
        written.append(Repository(channel, f"{channel}/{subdir}", str(path), len(members), priorities[channel]))
    return written


def _dump(members: Iterable[Candidate], file: IO[str]) -> None:
    """Write entries as the library gives them: their text needs no reading on the way."""
    formats: dict[bool, list[Candidate]] = {True: [], False: []}
    for one in members:
        formats[one.file_name.endswith(".tar.bz2")].append(one)
    file.write('{"info":{},"packages":{')
    _dump_entries(formats[True], file)
    file.write('},"packages.conda":{')
    _dump_entries(formats[False], file)
    file.write("}}")


def _dump_entries(members: Iterable[Candidate], file: IO[str]) -> None:
    for number, one in enumerate(members):
        file.write(f'{"," if number else ""}"{one.file_name}":{one.source.to_json()}')
