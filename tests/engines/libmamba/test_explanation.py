"""A conflict as libmamba tells it, and what a person gets of it."""

from __future__ import annotations

import pytest

from conda_llmenv.engines.libmamba.errors import readable, unsatisfiable
from conda_llmenv.engines.libmamba.graph import Part, parts
from conda_llmenv.engines.libmamba.messages import Conflict
from conda_llmenv.errors import Unsatisfiable
from conda_llmenv.model import Channel, SolveRequest

REQUEST = SolveRequest(("torch",), (Channel("conda-forge", "https://u:word@a.example/c"),), ("linux-64", "noarch"), ())
ROOT = 0

TREE = """Could not solve for environment specs
The following packages are incompatible
├─ __cuda ==12.8 0 is requested and can be installed;
├─ pin on middle <2 * is not installable because it requires
│  └─ middle <2 *, which conflicts with any installable versions previously reported;
├─ torch =* * is installable with the potential options
│  └─ torch [>=2 *|=1.9 *|==1.8 cuda*] would require
│     └─ mutex =* *_llvm, which can be installed;
└─ toolkit =13 * is not installable because it requires
   └─ __cuda >=13 *, which conflicts with any installable versions previously reported."""


def error(conflict: Conflict, hidden: tuple[str, ...] = ()) -> Unsatisfiable:
    """Return the failure of a conflict."""
    return unsatisfiable(conflict, REQUEST, hidden)


def test_the_tree_is_told_without_what_says_nothing() -> None:
    """No preamble, no star for `any`; the machine and the constraint are called what they are."""
    assert readable(TREE).splitlines() == [
        "├─ __cuda 12.8 is what the machine offers;",
        "├─ the constraint on middle <2 is not installable because it requires",
        "│  └─ middle <2, which conflicts with any installable versions previously reported;",
        "├─ torch is installable with the potential options",
        "│  └─ torch [>=2|=1.9|==1.8 cuda*] would require",
        "│     └─ mutex =* *_llvm, which can be installed;",
        "└─ toolkit =13 is not installable because it requires",
        "   └─ __cuda >=13, which conflicts with any installable versions previously reported.",
    ]


def test_a_conflict_has_its_names_and_lines() -> None:
    """What `--json` and the verdicts of a plan are made from."""
    failed = error(Conflict(TREE, ("toolkit", "__cuda")))
    assert failed.message == "these requirements cannot all hold: toolkit, __cuda"
    assert failed.packages == ("toolkit", "__cuda")
    assert len(failed.details) == 8
    assert failed.hint == ""


def test_strict_priority_is_named_where_it_hid_something_of_the_conflict() -> None:
    """And not where it hid something else."""
    assert "strict channel priority" in error(Conflict("", ("torch",)), ("torch",)).hint
    assert error(Conflict("", ("torch",)), ("numpy",)).hint == ""
    missing = error(Conflict("", ("torch",), ("torch",)), ("torch",))
    assert "strict channel priority" in missing.hint


def test_what_nobody_has_is_told_apart_and_no_secret_shown() -> None:
    """Which package, and where it was looked for."""
    failed = error(Conflict("x", ("torch",), ("torch",)))
    assert failed.message == "no channel has torch, or not in the version asked for"
    assert failed.details[-1] == "looked in  conda-forge"
    assert "spelling" in failed.hint


def test_a_long_tree_is_cut() -> None:
    """It repeats itself for each build."""
    failed = error(Conflict("\n".join(f"├─ a {number} is it" for number in range(300))))
    assert len(failed.details) <= 41


@pytest.mark.parametrize(
    ("nodes", "edges", "names", "missing"),
    [
        pytest.param(
            {0: Part(""), 1: Part("misspelt", missing=True)}, [(0, 1)], ("misspelt",), ("misspelt",), id="missing"
        ),
        pytest.param(
            {0: Part(""), 2: Part("deep"), 1: Part("deeper"), 3: Part("never", missing=True)},
            [(0, 2), (2, 1), (1, 3)],
            ("deep", "deeper", "never"),
            ("never",),
            id="missing behind two",
        ),
        pytest.param(
            {0: Part(""), 1: Part("left"), 2: Part("right"), 3: Part("middle"), 4: Part("middle")},
            [(0, 1), (0, 2), (1, 3), (2, 4)],
            ("left", "right", "middle"),
            (),
            id="a conflict",
        ),
        pytest.param(
            {0: Part(""), 1: Part("torch"), 2: Part("torch"), 3: Part("mkl", missing=True), 4: Part("python")},
            [(0, 1), (0, 2), (1, 3), (2, 4)],
            ("torch", "mkl", "python"),
            (),
            id="missing for one build and in the way for another",
        ),
        pytest.param(
            {0: Part(""), 1: Part("torch-gpu"), 2: Part("__cuda", missing=True)},
            [(0, 1), (1, 2)],
            ("torch-gpu", "__cuda"),
            (),
            id="no channel could have a driver",
        ),
        pytest.param(
            {0: Part(""), 1: Part("a"), 2: Part("b")}, [(0, 1), (1, 2), (2, 1)], ("a", "b"), (), id="a circle"
        ),
        pytest.param({0: Part("")}, [], (), (), id="nothing is known"),
    ],
)
def test_names_and_what_is_missing_come_from_the_graph(
    nodes: dict[int, Part], edges: list[tuple[int, int]], names: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    """Each name once, before what it leads to; `missing` only if nothing else is the matter."""
    assert parts(nodes, edges, ROOT) == (names, missing)
