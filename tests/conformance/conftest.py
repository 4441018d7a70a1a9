"""Worlds on this disk, and the answers of each engine, asked for once in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from filelock import FileLock

from tests.channel.interpreter import SHORT, TAG, package, subdir
from tests.conformance.asking import questions_of
from tests.conformance.batch import EngineAbsent, WorkerDied, ask
from tests.conformance.cases import Asked, World
from tests.conformance.messages import Answer, Answers
from tests.conformance.worlds import Place, write_small
from tests.conftest import RECORDED

Places = Mapping[World, Callable[[], Place]]


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder that all pytest workers of a run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "conformance"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def places(run_folder: Path, request: pytest.FixtureRequest) -> Places:
    """Return each world's place, made when it is first asked for."""

    def small() -> Place:
        root = run_folder / "small"
        with FileLock(f"{root}.lock", timeout=60):
            if not root.is_dir():
                write_small(run_folder / "unfinished")
                (run_folder / "unfinished").rename(root)
        return Place(root)

    def offline() -> Place:
        words = {"short": SHORT, "tag": TAG, "python": package().version}
        return Place(request.getfixturevalue("offline_channel"), subdir(), words)

    return {"small": small, "offline": offline, "recorded": lambda: Place(RECORDED.resolve())}


@dataclass
class Batches:
    """The answers of every engine to the cases of this run."""

    folder: Path
    places: Places
    cases: tuple[Asked, ...]
    kept: dict[str, Answers | EngineAbsent | WorkerDied] = field(default_factory=dict)

    def of(self, solver: str) -> Answers:
        """Return everything a solver answered; skips the test where it cannot run."""
        if solver not in self.kept:
            self.kept[solver] = self._ask(solver)
        found = self.kept[solver]
        if isinstance(found, EngineAbsent):
            pytest.skip(str(found))
        if isinstance(found, WorkerDied):
            pytest.fail(str(found), pytrace=False)
        return found

    def answer(self, solver: str, name: str) -> Answer:
        """Return a solver's answer to one request."""
        return next(answer for answer in self.of(solver).answers if answer.id == name)

    def _ask(self, solver: str) -> Answers | EngineAbsent | WorkerDied:
        repodata = self.folder / f"repodata-{solver}"
        questions = (
            question
            for asked in self.cases
            if asked.is_for(solver)
            for question in questions_of(asked, self.places[asked.world](), repodata)
        )
        try:
            return ask(solver, questions, self.folder)
        except (EngineAbsent, WorkerDied) as error:
            return error


@pytest.fixture(scope="session")
def batches(run_folder: Path, places: Places, request: pytest.FixtureRequest) -> Batches:
    """Return the answers to the cases of the selected tests."""
    chosen = (getattr(item, "callspec", None) for item in request.session.items)
    cases = {asked.id: asked for call in chosen if call and isinstance(asked := call.params.get("asked"), Asked)}
    here = RECORDED.is_dir()  # without the recorded channels their cases are skipped, and cannot be written down either
    return Batches(run_folder, places, tuple(asked for asked in cases.values() if here or asked.world != "recorded"))
