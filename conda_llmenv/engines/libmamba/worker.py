"""One solve with libmambapy: read a question, write the answer; the only module that imports the library.

It runs in a process of its own, since no binding of the library releases the interpreter lock (a long solve would stop
progress and signals of the whole program), it prints to the process's own streams, and a failed assertion in it ends
the process. Each process asks one question, so pins that the library leaves behind cannot reach another.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from conda_llmenv.engines.libmamba.graph import Part, parts
from conda_llmenv.engines.libmamba.messages import Answer, Conflict, Question

QUESTION, ANSWER = "question.json", "answer.json"
"""Files of the folder that a question is asked through."""

OWN_CANDIDATES = 16
"""More than libsolv numbers on its own account."""

INDENTS = ("│  ", "   ", "├─ ", "└─ ")


def main(folder: Path) -> None:
    """Answer the question in a folder."""
    question = msgspec.json.decode((folder / QUESTION).read_bytes(), type=Question)
    try:
        answer = solve(question)
    except ImportError as error:
        answer = Answer(fault=f"libmambapy 2 is needed: {error}")
    except Exception as error:  # noqa: BLE001 - whatever C++ throws, under whichever name, is the answer then
        answer = Answer(fault=f"{type(error).__name__}: {error}")
    (folder / ANSWER).write_bytes(msgspec.json.encode(answer))


def solve(question: Question) -> Answer:
    """Solve; neither a Context nor a logger is made, so that nothing of the library is left at exit."""
    from libmambapy.solver import Request, Solution
    from libmambapy.solver.libsolv import Solver

    database = _database(question)
    # Priorities that are strict have been applied to the candidates already.
    flags = Request.Flags(strict_repo_priority=False)
    outcome = Solver().solve(database, Request(list(_jobs(question)), flags))
    if not isinstance(outcome, Solution):
        return Answer(conflict=_conflict(outcome, database, question))
    return Answer(chosen=tuple((one.channel, one.platform, one.filename) for one in outcome.to_install()))


def _database(question: Question) -> Any:
    from libmambapy import specs
    from libmambapy.solver.libsolv import Database, Priorities

    database = Database(specs.ChannelResolveParams())
    _keep_numbers_apart(database, question)
    for repository in question.repositories:
        added = database.add_repo_from_repodata_json(
            path=repository.file,
            url=repository.url,
            channel_id=repository.name,
            add_pip_as_python_dependency=False,
            package_types="CondaAndTarBz2",
            verify_packages=False,
            repodata_parser="Mamba",
        )
        database.set_repo_priority(added, Priorities(priority=repository.priority))
    offered = [
        specs.PackageInfo(name=one.name, version=one.version, build_string=one.build, build_number=0)
        for one in question.virtual_packages
    ]
    database.set_installed_repo(database.add_repo_from_packages(offered, name="installed"))
    return database


def _keep_numbers_apart(database: Any, question: Question) -> None:
    """Give names numbers that no candidate has.

    libsolv numbers names and candidates separately. Explaining a problem, libmamba 2.8 takes a bare name for the
    candidate of the same number if there is one: it drops what is missing and blames packages that have no part in it.
    """
    from libmambapy.specs import PackageInfo

    candidates = sum(repository.size for repository in question.repositories)
    others = len(question.virtual_packages) + len(question.constraints) + OWN_CANDIDATES
    fillers = PackageInfo(name="_", depends=[f"_{number}" for number in range(candidates + others)])
    database.remove_repo(database.add_repo_from_packages([fillers], name="fillers"))


def _jobs(question: Question) -> Iterator[Any]:
    """Yield what is asked for; what the machine offers is asked for too, or it would be given up like any package."""
    from libmambapy.solver import Request
    from libmambapy.specs import MatchSpec

    offered = (f"{one.name} =={one.version} {one.build}" for one in question.virtual_packages)
    for text in (*question.specs, *offered):
        yield Request.Install(MatchSpec.parse(text))
    for text in question.constraints:
        yield Request.Pin(MatchSpec.parse(text))


def _conflict(outcome: Any, database: Any, question: Question) -> Conflict:
    from libmambapy.solver import ProblemsGraph

    try:
        problems = ProblemsGraph.simplify_conflicts(outcome.problems_graph(database))
        nodes, edges = problems.graph()
        names, missing = parts({key: _part(node) for key, node in nodes.items()}, list(edges), problems.root_node())
        return Conflict(_explanation(outcome, database), names, missing)
    except Exception:  # noqa: BLE001 - it reads specs anew to explain them, and may fail where the conflict is clear
        text = str(outcome.problems_to_str(database))
        return Conflict(text, tuple(name for name in _asked(question) if f" {name} " in text or f" {name}-" in text))


def _asked(question: Question) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.split()[0] for text in (*question.specs, *question.constraints)))


def _explanation(outcome: Any, database: Any) -> str:
    from libmambapy.solver import ProblemsMessageFormat
    from libmambapy.utils import TextStyle

    plain = TextStyle()
    style = ProblemsMessageFormat(unavailable=plain, available=plain, indents=list(INDENTS))
    return str(outcome.explain_problems(database, style))


def _part(node: Any) -> Part:
    from libmambapy.solver import ProblemsGraph

    name = str(getattr(node, "name", "")).removeprefix("pin on ")
    return Part(name.split(maxsplit=1)[0] if name else "", isinstance(node, ProblemsGraph.UnresolvedDependencyNode))
