"""One solve: the request as candidates and a question, a process that answers it, the answer as records."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
import rattler
from msgspec.structs import replace

from conda_llmenv.engines.credentials import without_secrets
from conda_llmenv.engines.libmamba import repodata
from conda_llmenv.engines.libmamba.candidates import admit
from conda_llmenv.engines.libmamba.convert import Candidate, Wanted, to_candidate, to_wanted
from conda_llmenv.engines.libmamba.errors import broken_down, unsatisfiable
from conda_llmenv.engines.libmamba.messages import Answer, Question
from conda_llmenv.engines.libmamba.worker import ANSWER, QUESTION
from conda_llmenv.engines.rattler import convert
from conda_llmenv.engines.rattler.solving import to_priority
from conda_llmenv.engines.rattler.stalling import unless
from conda_llmenv.errors import LlmenvError
from conda_llmenv.model import Channel, Record, SolveRequest
from conda_llmenv.process import run
from conda_llmenv.redact import strip

LOCKED = "file:///locked"
"""Stands for the channel of the records that are preferred."""

START = (
    "import sys; sys.path[:] = sys.argv[2:]; from pathlib import Path; "
    "from conda_llmenv.engines.libmamba.worker import main; main(Path(sys.argv[1]))"
)
"""What the process runs: with exactly our module path, so that no folder it starts in can shadow a module."""


def solve(
    request: SolveRequest, client: rattler.Client | None, stalled: Callable[[], LlmenvError | None]
) -> list[Record]:
    """Return the chosen records, without secrets.

    Args:
        request: what to solve.
        client: for channels on the network.
        stalled: asked time and again while repodata is fetched; returns why it should be given up.

    Raises:
        InputError: a spec or the channel priority cannot be read.
        Unsatisfiable: nothing fits.
    """
    to_priority(request.channel_priority)  # the same words, and the same refusal of another
    channels = [Channel(channel.name, strip(channel.url)) for channel in request.channels]
    specs = [convert.to_spec(strip(text), channels) for text in request.specs]
    bounds = [convert.to_spec(strip(text), channels) for text in request.constraints]
    locked = [to_candidate(one) for one in convert.from_records([*map(without_secrets, request.locked)])]
    asked = [*specs, *_more_names(specs, locked)]
    found = asyncio.run(unless(repodata.fetch(request, asked, client), stalled))
    return _choose(request, [*map(to_wanted, specs)], [*map(to_wanted, bounds)], found, locked)


def _more_names(specs: Iterable[rattler.MatchSpec], locked: Iterable[Candidate]) -> list[rattler.MatchSpec]:
    """Return the locked packages as specs: a channel may have dropped the very record, and with it what it needs."""
    asked = {spec.name.normalized for spec in specs}
    return [rattler.MatchSpec(name) for name in sorted({one.name for one in locked} - asked)]


def _choose(
    request: SolveRequest,
    specs: Sequence[Wanted],
    bounds: Sequence[Wanted],
    found: Iterable[Candidate],
    locked: Iterable[Candidate],
) -> list[Record]:
    order = tuple(dict.fromkeys(rattler.Channel(strip(one.url)).base_url.rstrip("/") for one in request.channels))
    wanted = (*specs, *bounds)
    cutoff = convert.to_cutoff(request.exclude_newer)
    admitted = admit(found, wanted, order=order, priority=request.channel_priority, cutoff=cutoff)
    preferred = [replace(one, channel=LOCKED) for one in locked if all(rule.takes(one) for rule in wanted)]
    candidates = (*admitted.candidates, *preferred)
    with tempfile.TemporaryDirectory(prefix="llmenv-solve-") as name:
        folder = Path(name)
        question = Question(
            tuple(repodata.write(candidates, folder, _priorities(order, request.channel_priority))),
            request.virtual_packages,
            specs=tuple(sorted({one.text for one in specs})),
            constraints=tuple(sorted({one.text for one in bounds if one.exact is None})),
        )
        answer = _ask(question, folder)
    if answer.conflict is not None:
        raise unsatisfiable(answer.conflict, request, admitted.hidden)
    if answer.chosen is None:
        raise broken_down(answer.fault)
    sources = {(one.channel, one.subdir, one.file_name): one.source for one in candidates}
    unknown = [key for key in answer.chosen if key not in sources]
    if unknown:
        raise broken_down(f"it chose what it was not given: {unknown}")
    return [convert.to_record(sources[key]) for key in answer.chosen]


def _priorities(order: Sequence[str], word: str) -> dict[str, int]:
    """Return each channel's priority; without channel priority they are all alike."""
    ranks = {channel: 0 if word == "disabled" else len(order) - index for index, channel in enumerate(order)}
    return {**ranks, LOCKED: len(order) + 1}


def _ask(question: Question, folder: Path) -> Answer:
    """Ask in a process of this Python; its folder is where it starts, so that nothing of the person's is in reach."""
    (folder / QUESTION).write_bytes(msgspec.json.encode(question))
    path = [str(Path(entry).absolute()) for entry in sys.path]
    argv = [sys.executable, "-W", "ignore", "-c", START, str(folder), *path]
    try:
        done = run(argv, cwd=folder)
    except OSError as error:
        raise broken_down(f"{sys.executable} cannot be started: {error}") from error
    try:
        return msgspec.json.decode((folder / ANSWER).read_bytes(), type=Answer)
    except (FileNotFoundError, msgspec.DecodeError):
        raise broken_down(f"{done.stderr}\nits process ended with status {done.returncode}") from None
