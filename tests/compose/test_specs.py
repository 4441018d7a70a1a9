"""Merging conda specs: what can hold is one spec every tool reads alike; what cannot is refused with its lines."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rattler import MatchSpec, Version, VersionSpec

from conda_llmenv.compose.matchspec import parse_spec, write_spec
from conda_llmenv.compose.versions import intersect, is_satisfiable
from conda_llmenv.errors import ConflictError, FileFormatError, InputError
from tests.compose.files import fragment, merged, report, texts_of


def both(one: str, other: str) -> tuple[str, ...]:
    """Return the merged texts of one package asked for twice."""
    ((_name, texts),) = texts_of(merged(f"dependencies: [{one!r}]", f"dependencies: [{other!r}]")).items()
    return texts


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("numpy=1.26", "numpy", ("numpy 1.26.*",)),
        ("numpy=1.26", "numpy >=1.20", ("numpy 1.26.*,>=1.20",)),
        ("numpy >=1.20", "numpy >=1.9,<2", ("numpy >=1.20,<2",)),
        ("numpy ==1.26.4", "numpy=1.26", ("numpy ==1.26.4",)),
        ("numpy 1.25|1.26", "numpy >=1.20", ("numpy ==1.25|==1.26",)),
        ("numpy >=1,(<1.5|>=1.7)", "numpy <2", ("numpy >=1,<1.5|>=1.7,<2",)),
        ("numpy ~=1.26.1", "numpy !=1.26.3", ("numpy ~=1.26.1,!=1.26.3",)),
        ("pytorch *=*cuda*", "pytorch >=2.8", ("pytorch >=2.8 *cuda*",)),
        ("pytorch=2.8=cuda129_py311", "pytorch=*=*cuda*", ("pytorch ==2.8 cuda129_py311",)),
        ("pytorch *=*cuda*", "pytorch *=*py311*", ("pytorch * *cuda*", "pytorch * *py311*")),
        ("a::numpy", "numpy=1", ("a::numpy 1.*",)),
        ("a/linux-64::numpy", "numpy[subdir=linux-64]", ("a/linux-64::numpy",)),
        ("numpy[build_number='>3']", "numpy=1", ('numpy 1.*[build_number=">3"]',)),
        ("https://h/a::numpy", "a::numpy", ("https://h/a::numpy",)),
        ("NumPy=1", "numpy", ("numpy 1.*",)),
        ("numpy = 1.26", "numpy >= 1.2, < 2", ("numpy 1.26.*,>=1.2,<2",)),
        ("pytorch=2.1.0+cu121", "pytorch", ("pytorch 2.1.0+cu121.*",)),
    ],
)
def test_what_can_hold_together_becomes_one_spec(one: str, other: str, expected: tuple[str, ...]) -> None:
    """In either order of the files; builds that cannot be written as one stay apart."""
    assert both(one, other) == expected
    assert both(other, one) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("numpy=1.26", "numpy >=2"),
        ("numpy ==1.10", "numpy ==1.9"),
        ("numpy <1.9", "numpy =1.10"),
        ("numpy >1.26,<1.27", "numpy >=1.27"),
        ("numpy ~=1.4.5", "numpy >=1.5"),
        ("numpy =1.26", "numpy !=1.26.*"),
        ("numpy =1.26|=1.25", "numpy <1.24|>=2"),
        ("a::numpy", "b::numpy"),
        ("a::numpy", "a/label/x::numpy"),
        ("a/linux-64::numpy", "a/noarch::numpy"),
        ("numpy=1.26=py311_0", "numpy=1.26=py312_0"),
        ("numpy=1.26=py311_0", "numpy=*=*cuda*"),
        ("numpy=*=py311*", "numpy=*=py312*"),
        ("numpy[md5=0123456789abcdef0123456789abcdef]", "numpy[md5=fedcba9876543210fedcba9876543210]"),
    ],
)
def test_what_cannot_hold_is_refused_with_both_lines(one: str, other: str) -> None:
    """Without repodata, numbers compared as numbers."""
    with pytest.raises(ConflictError) as caught:
        both(one, other)
    assert "a.yml:1" in report(caught.value)
    assert "b.yml:1" in report(caught.value)


def test_only_together_empty_names_all_three() -> None:
    """No pair contradicts, the three do."""
    with pytest.raises(ConflictError) as caught:
        merged("dependencies: ['n >=1']", "dependencies: ['n <1|>2']", "dependencies: ['n <=2']")
    assert all(where in report(caught.value) for where in ("a.yml:1", "b.yml:1", "c.yml:1"))


def test_one_impossible_line_is_refused() -> None:
    """A typo inside one file needs no second file."""
    with pytest.raises(ConflictError, match="1 requirement contradicts another") as caught:
        merged("dependencies: ['n >=2,<1']")
    assert "no version fits this" in report(caught.value)


def test_replace_takes_over_and_remembers_what_it_replaced() -> None:
    """A later layer says so in one word; the merged spec knows what went and who did it."""
    spec = merged(
        "dependencies: [numpy=1.26, nccl]", "dependencies: ['numpy >=2']\nllmenv: {replace: [numpy], remove: [nccl]}"
    )
    numpy = spec.spec("numpy")
    assert numpy is not None
    assert (numpy.texts, [one.value for one in numpy.dropped]) == (("numpy >=2",), ["numpy=1.26"])
    assert str(numpy.taken_over) == "b.yml:2"
    assert spec.spec("nccl") is None


def test_replace_acts_on_earlier_layers_only() -> None:
    """What a still later layer asks for holds again."""
    with pytest.raises(ConflictError):
        merged("dependencies: [n=1]", "dependencies: [n=2]\nllmenv: {replace: [n]}", "dependencies: [n=3]")


def test_a_takeover_of_nothing_in_ones_own_file_is_pointed_out() -> None:
    """A typo in `remove` would otherwise pass in silence."""
    texts = ["dependencies: [numpy]", "{}", "{}", "llmenv: {remove: [nunpy]}"]
    assert [notice.code for notice in merged(*texts).notices] == ["takeover-unused"]


@pytest.mark.parametrize(
    "text", ["llmenv:\n  replace: [cuda-version]\n", "dependencies: [cuda]\nllmenv: {replace: [cuda-version]}\n"]
)
def test_replacing_a_package_by_nothing_is_an_error(text: str) -> None:
    """It would delete an earlier pin in silence, which is the job of `remove`."""
    with pytest.raises(InputError) as caught:
        fragment(text, "llmenv")
    assert "llmenv.yml:2: replace cuda-version: this file asks for no cuda-version of its own" in report(caught.value)
    assert caught.value.hint == "ask for cuda-version in this file, or use remove"


@pytest.mark.parametrize(
    "text",
    [
        "dependencies: ['conda-forge::Numpy >=2']\nllmenv: {replace: [numpy]}",
        "dependencies: [pip, pip: ['numpy>=2']]\nllmenv: {replace: [NumPy]}",
        "dependencies: [pip, pip: ['torch>=2']]\nllmenv: {replace: [pytorch]}",
    ],
)
def test_a_replacement_may_come_from_either_side(text: str) -> None:
    """Whatever its spelling, and also where pip takes over what conda provided under another name."""
    assert fragment(text).replace


@pytest.mark.parametrize(
    ("conda", "pip"),
    [("redis-py", "redis"), ("pytorch_geometric", "torch-geometric"), ("torchvision-cpu", "torchvision"),
     ("nccl", "nvidia-nccl-cu12"), ("py-opencv", "opencv-contrib-python"), ("huggingface_hub", "huggingface-hub")],
)  # fmt: skip
def test_one_thing_by_two_names_has_two_owners(conda: str, pip: str) -> None:
    """Whatever conda calls it, what pip would install over it or beside it needs somebody to choose."""
    with pytest.raises(ConflictError) as caught:
        merged(f"dependencies: [{conda}, pip, pip: [{pip}]]")
    assert f"{pip}  would be installed by conda and by pip" in report(caught.value)


@pytest.mark.parametrize("name", ["mamba", "boost", "graphviz", "zope"])
def test_namesakes_get_along(name: str) -> None:
    """Conda's mamba is a solver and PyPI's a test runner; nobody has to choose between two projects of one name."""
    assert [one.name for one in merged(f"dependencies: [{name}, pip, pip: [{name}]]").pip.requirements] == [name]


def test_every_kind_of_contradiction_has_its_way_out() -> None:
    """A pin across files, a file against itself and a package on both sides: one report, three ways out."""
    with pytest.raises(ConflictError) as caught:
        merged(
            "dependencies: [nccl=2.1, pytorch, a=1, a=2]", "dependencies: ['nccl >=3', pip, pip: [torch, x==1, x==2]]"
        )
    ways = caught.value.hint.split("; ")
    assert ways == [
        "a, x (pip): change one of these lines",
        "nccl: a later layer may take over by saying so: in b.yml add llmenv: {replace: [nccl]}",
        "torch: choose one side: llmenv: {owner: {torch: conda}} or {owner: {torch: pip}}",
    ]


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("foo*", "glob"),
        ("3.10", "does not name a package"),
        (".nan", "no package can be called '.nan'"),
        ("-x", "no package can be called '-x'"),
        ("/nope/six-1.17.0-pyh0_0.conda", "is a file or an address"),
        ("c::./six.tar.bz2", "is a file or an address"),
        ("https://h/c/noarch/six-1.17.0-pyh0_0.conda", "is a file or an address"),
        ("pip:six", "not a conda spec"),
        ("foo>1<2", "comma"),
        ("foo 1.0 py* extra", "build string"),
        ("foo[extras=[a]]", "rattler only"),
        ("foo[when='python']", "rattler only"),
        ("foo @ 1", "pip"),
        ("-e .", "pip"),
        ("a::b::c", "channel"),
        ("foo 1.*.2", "not a conda spec"),
        ("foo " + "(" * 900 + ">1" + ")" * 900, "too long"),
    ],
)
def test_a_spec_no_two_tools_read_alike_is_refused_with_its_place(spec: str, word: str) -> None:
    """Before any solver guesses."""
    with pytest.raises(FileFormatError, match=r"^f\.yml:1:16: ") as caught:
        fragment(f'dependencies: ["{spec}"]')
    assert word in report(caught.value)


SPELLINGS = [
    "numpy=1.26",
    "numpy =1.26 py*",
    "jaxlib=0.3.15=*cuda*",
    "a/b::c >=1,<2|>=3",
    "x ~=1.4.5,!=1.4.7",
    "a/linux-64::x",
    "x[subdir=noarch]",
    "x==1!2.0",
    "x=2.1.0+cu121",
    "x 1.2|1.3",
    "https://h/t/tk-1/c::x >=1",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_the_written_spelling_means_the_same_strict_lenient_and_again(text: str) -> None:
    """What is written is read alike by rattler in both modes, and writing it again changes nothing."""
    written = write_spec(parse_spec(text))
    lenient, strict = MatchSpec(written, strict=False), MatchSpec(written, strict=True)
    assert str(lenient) == str(strict) == str(MatchSpec(text, strict=False))
    assert write_spec(parse_spec(written)) == written
    assert "(" not in written


VERSIONS = [
    "0.9",
    "1",
    "1.0",
    "1.0.1",
    "1.1",
    "1.1a1",
    "1.1.dev1",
    "1.1.1",
    "1.1post1",
    "1.2rc1",
    "1.2",
    "1.10",
    "2",
    "2.0.1",
    "1.1+cu1",
    "1.1+2",
    "1!1.0",
]
SUFFIXES = ["", ".0", ".0.0.1", "a0", "dev0", ".0.0dev", "rc5", "post9", "+cu2", "+a", ".5", ".99"]
PREFIXES = ["1", "1.0", "1.1", "1.2", "2", "1.10", "1.1.1"]
ATOMS = st.one_of(
    st.builds("".join, st.tuples(st.sampled_from(["==", "!=", ">=", ">", "<=", "<"]), st.sampled_from(VERSIONS))),
    st.builds("{}.*".format, st.sampled_from(PREFIXES)),
    st.builds("!={}.*".format, st.sampled_from(PREFIXES)),
    st.builds("~={}".format, st.sampled_from(["1.0", "1.1", "1.1.1", "1.2"])),
)
CONSTRAINTS = st.lists(st.lists(ATOMS, min_size=1, max_size=2).map("|".join), min_size=1, max_size=4)
UNIVERSE = [
    Version(base + suffix)
    for base, suffix in itertools.product([*VERSIONS, "0", "1.3", "1.99", "3"], SUFFIXES)
    if not ("+" in base and "+" in suffix)
]


@settings(max_examples=300, deadline=None)
@given(CONSTRAINTS)
def test_nothing_that_some_version_fits_is_called_empty(constraints: list[str]) -> None:
    """Against brute force over seven hundred versions."""
    specs = [VersionSpec(text) for text in constraints]
    if not is_satisfiable(tuple(constraints)):
        assert not any(all(spec.matches(version) for spec in specs) for version in UNIVERSE)


@settings(max_examples=300, deadline=None)
@given(CONSTRAINTS, st.randoms(use_true_random=False))
def test_the_merged_text_fits_the_same_versions(constraints: list[str], chance: random.Random) -> None:
    """However the constraints were split, ordered and rewritten."""
    if not is_satisfiable(tuple(constraints)):
        return
    parts, whole = [VersionSpec(text) for text in constraints], [VersionSpec(text) for text in intersect(constraints)]
    for version in chance.sample(UNIVERSE, 60):
        assert all(one.matches(version) for one in parts) == all(one.matches(version) for one in whole)
