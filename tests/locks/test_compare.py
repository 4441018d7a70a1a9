"""What differs between two locks, and what holds whatever they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from conda_llmenv.locks.compare import compare
from conda_llmenv.locks.differences import Comparison, Difference, Kind, Part
from conda_llmenv.locks.sides import EVERYTHING, INSTALLED, SAID, Side
from conda_llmenv.model import Channel, Lock, LockedPlatform, PipPackage, Record

FORGE = "https://conda.anaconda.org/conda-forge"
MIRROR = "https://mirror.example/conda-forge"
A, B = "a" * 64, "b" * 64
COMMIT, OTHER_COMMIT = "0" * 40, "1" * 40


def record(name: str, version: str = "1.0", build: str = "py_0", **fields: Any) -> Record:
    """Return a record of conda-forge with everything a record says."""
    channel = fields.pop("channel", FORGE)
    end = fields.pop("end", ".conda")
    file_name = f"{name}-{version}-{build}{end}"
    url = f"{channel}/noarch/{file_name}"
    return Record(name, version, build, 0, "noarch", url, channel, file_name, **{"sha256": A, **fields})


def bare(name: str, version: str = "1.0") -> Record:
    """Return a record as an environment.lock.yml has it: name and version."""
    return Record(name, version, "", 0, "", "", "", "")


def pip(name: str, version: str | None = "1.0", requirement: str = "", **fields: Any) -> PipPackage:
    """Return a distribution of an index, or of what ``requirement`` names."""
    line = requirement or f"{name}=={version}"
    return PipPackage(name, version, line, **{"hashes": (f"sha256:{A}",) if not requirement else (), **fields})


def side(
    *packages: Record | PipPackage, says: frozenset[Part] = EVERYTHING, subdir: str = "linux-64", **fields: Any
) -> Side:
    """Return one side with these packages."""
    records = tuple(one for one in packages if isinstance(one, Record))
    distributions = tuple(one for one in packages if isinstance(one, PipPackage))
    platform = LockedPlatform(subdir, records, distributions)
    return Side(Lock((platform,), **fields), platform, says)


def only(found: Comparison) -> Difference:
    """Return the one difference there is."""
    (one,) = found.differences
    return one


def fields(one: Difference) -> dict[str, tuple[str, str, str]]:
    """Return field → before, after and direction."""
    return {change.field: (change.before, change.after, change.direction) for change in one.changes}


def test_equal_locks_have_no_difference_and_say_what_was_compared() -> None:
    """The verdict can name how many packages were looked at, and that nothing was left out."""
    one = side(record("six"), record("python"), pip("trl"), channels=(Channel("conda-forge", FORGE),), specs=("six",))
    assert compare(one, one) == Comparison((), {"conda": 2, "pip": 1}, ())


@pytest.mark.parametrize(
    ("before", "after", "way"),
    [
        ("1.9", "1.10", "up"),
        ("1.10", "1.9", "down"),
        ("2.0rc1", "2.0", "up"),
        ("1!1.0", "9.0", "down"),
        ("1.0", "1.0.0", ""),
        ("2024.8.30", "2024.12.14", "up"),
    ],
)
def test_versions_go_up_or_down_as_conda_orders_them(before: str, after: str, way: str) -> None:
    """Not as text does; two spellings of one version are different packages that go neither way."""
    found = only(compare(side(record("x", before)), side(record("x", after))))
    assert (found.part, found.kind, found.name) == (Part.CONDA, Kind.CHANGED, "x")
    assert fields(found)["version"] == (before, after, way)


def test_packages_come_and_go() -> None:
    """With everything that is known of them."""
    gone, come = compare(side(record("old")), side(record("new", build="h1_0"))).differences[::-1]
    assert (gone.kind, gone.name, come.kind, come.name) == (Kind.REMOVED, "old", Kind.ADDED, "new")
    assert fields(come) == {
        "version": ("", "1.0", ""),
        "build": ("", "h1_0", ""),
        "archive": ("", ".conda", ""),
        "channel": ("", FORGE, ""),
        "hash": ("", f"sha256:{A}", ""),
    }


def test_another_build_is_no_alarm() -> None:
    """Its hash differs too, of course."""
    found = only(compare(side(record("x", build="py_0")), side(record("x", build="py_1", sha256=B))))
    assert list(fields(found)) == ["build", "hash"]
    assert not found.loud


@pytest.mark.parametrize("channel", [FORGE, MIRROR])
def test_the_same_build_with_another_hash_is_loud(channel: str) -> None:
    """Name, version and build are the same and the content is not: a rebuilt channel, or something worse. First."""
    before, after = side(record("a"), record("x")), side(record("a", "2"), record("x", sha256=B, channel=channel))
    found = compare(before, after).differences
    assert [(one.name, one.loud) for one in found] == [("x", True), ("a", False)]


def test_the_two_archives_of_a_build_have_each_their_hash() -> None:
    """``.conda`` and ``.tar.bz2`` of one build hold the same files: a difference, no alarm."""
    found = only(compare(side(record("x")), side(record("x", end=".tar.bz2", sha256=B))))
    assert list(fields(found)) == ["archive", "hash"]
    assert not found.loud


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"sha256": A, "md5": None}, {"sha256": None, "md5": B[:32]}, True),
        ({"sha256": None, "md5": A[:32]}, {"sha256": B, "md5": A[:32]}, True),
        ({"sha256": None, "md5": A[:32]}, {"sha256": A, "md5": B[:32]}, False),
        ({"sha256": A}, {"sha256": A.upper()}, True),
        ({"sha256": A, "md5": A[:32]}, {"sha256": B, "md5": A[:32]}, False),
    ],
)
def test_hashes_are_compared_by_the_strongest_both_have(one: Any, other: Any, *, equal: bool) -> None:
    """A list with md5 alone can be compared with one that has both."""
    assert (compare(side(record("x", **one)), side(record("x", **other))).differences == ()) is equal


def test_the_channel_of_a_package() -> None:
    """A mirror is another address; a bare name is the end of one."""
    found = only(compare(side(record("x")), side(record("x", channel=MIRROR))))
    assert fields(found) == {"channel": (FORGE, MIRROR, "")}
    assert compare(side(record("x")), side(replace(record("x"), channel="conda-forge"))).differences == ()
    assert compare(side(record("x")), side(replace(record("x"), channel=f"{FORGE}/"))).differences == ()


def test_what_a_side_does_not_say_is_not_different_and_is_named() -> None:
    """An environment.lock.yml has no builds, channels and hashes."""
    found = compare(side(record("x"), record("y")), side(bare("x"), bare("y")))
    assert found.differences == ()
    assert found.unsaid == (
        "channel list",
        "specs that were asked for",
        "builds, channels and hashes of conda packages",
    )


def test_a_hash_that_some_lack_is_counted() -> None:
    """What stays unproven is said with its number."""
    found = compare(side(record("x"), record("y")), side(record("x"), replace(record("y"), sha256=None)))
    assert found.differences == ()
    assert "hashes of 1 conda package" in found.unsaid


def test_a_format_of_one_half_leaves_the_other_alone() -> None:
    """A requirements file says nothing of conda packages, and an environment nobody noted nothing of what was asked."""
    whole = side(record("x"), pip("trl"), variables={"A": "1"}, specs=("x",))
    half = side(pip("trl"), says=SAID["requirements"])
    found = compare(whole, half)
    assert found.differences == ()
    assert found.packages == {"pip": 1}
    assert {"conda packages", "variables", "specs that were asked for"} <= set(found.unsaid)
    theirs = side(record("x"), pip("trl"), variables={"A": "1"}, says=INSTALLED)
    assert compare(whole, theirs).differences == ()


PINS = [
    pytest.param(pip("x"), pip("x", "1.0.0"), None, id="two spellings of a version"),
    pytest.param(pip("x", "2.0+cu124"), pip("x", "2.0+cpu"), "version", id="another local version"),
    pytest.param(pip("x"), pip("x", hashes=(f"sha256:{B}",)), "hash", id="another file"),
    pytest.param(pip("x"), pip("x", hashes=(f"sha256:{B}", f"sha256:{A}")), None, id="one file of several"),
    pytest.param(pip("x"), pip("x", hashes=()), None, id="no hash"),
    pytest.param(pip("x"), pip("x", "1.0", "x @ https://h.example/x-1.0.tar.gz"), "origin", id="a file by its address"),
    pytest.param(
        pip("x"),
        pip("x", "1.0", "x @ https://h.example/x.whl", direct=True, hashes=(f"sha256:{A}",)),
        None,
        id="the index's own file by its address",
    ),
    pytest.param(
        pip("x", "1.0", f"x @ git+https://h.example/x@{COMMIT}"),
        pip("x", "1.0", f"x @ git+https://h.example/x@{OTHER_COMMIT}"),
        "origin",
        id="another commit",
    ),
    pytest.param(
        pip("x", "1.0", f"x @ git+https://h.example/x@{COMMIT}"),
        pip("x", "1.0", f"git+https://h.example/x@{COMMIT}#egg=x"),
        None,
        id="one commit in two spellings",
    ),
    pytest.param(
        pip("x", "1.0", f"x @ git+https://me:tok@h.example/x@{COMMIT}"),
        pip("x", "1.0", f"x @ git+https://h.example/x@{COMMIT}"),
        None,
        id="one commit with a token",
    ),
    pytest.param(
        pip("x", "1.0", f"x @ git+https://h.example/x@{COMMIT}#subdirectory=a"),
        pip("x", "1.0", f"x @ git+https://h.example/x@{COMMIT}#subdirectory=b"),
        "origin",
        id="another part of a repository",
    ),
    pytest.param(
        pip("x", "1.0", f"x @ git+https://h.example/x@{COMMIT}"), pip("x"), "origin", id="a commit and an index"
    ),
    pytest.param(
        pip("x", None, f"x @ git+https://h.example/x@{COMMIT}"),
        pip("x", "1.0", f"x @ git+https://h.example/x@{COMMIT}"),
        None,
        id="a version that is known only after building",
    ),
    pytest.param(pip("x", "1.0", "-e ./x"), pip("x"), "origin", id="an editable folder"),
]


@pytest.mark.parametrize(("before", "after", "field"), PINS)
def test_pip_pins(before: PipPackage, after: PipPackage, field: str | None) -> None:
    """Version, origin and hash, whatever the spelling; the same the other way round."""
    for sides in ((before, after), (after, before)):
        found = compare(side(sides[0]), side(sides[1]))
        assert [change.field for one in found.differences for change in one.changes] == ([field] if field else [])


def test_a_list_of_addresses_does_not_tell_an_index_from_an_address() -> None:
    """An explicit list has the address of every file; a commit is one in any format."""
    plain, commit = side(pip("x", hashes=())), side(pip("x", "1.0", f"x @ git+https://h.example/x@{COMMIT}"))
    file = pip("x", "1.0", "x @ https://h.example/x-1.0-py3-none-any.whl", direct=True)
    assert [one.changes[0].field for one in compare(plain, side(file)).differences] == ["origin"]
    assert compare(plain, side(file, says=SAID["explicit"])).differences == ()
    assert [one.changes[0].field for one in compare(commit, side(file, says=SAID["explicit"])).differences] == [
        "origin"
    ]


@pytest.mark.parametrize(
    ("conda_name", "pip_name"), [("pytorch", "torch"), ("numpy", "numpy"), ("matplotlib-base", "matplotlib")]
)
def test_a_package_that_moved_to_pip(conda_name: str, pip_name: str) -> None:
    """Is one difference, in either direction, and not a removal and an addition."""
    found = only(compare(side(record(conda_name, "2.6.0")), side(pip(pip_name, "2.7.0"))))
    assert (found.part, found.kind, found.name) == (Part.MOVED, Kind.MOVED, conda_name)
    assert fields(found)["installer"] == ("conda", "pip", "")
    assert fields(found)["version"] == ("2.6.0", "2.7.0", "up")
    back = only(compare(side(pip(pip_name, "2.7.0")), side(record(conda_name, "2.6.0"))))
    assert (back.name, fields(back)["version"]) == (pip_name, ("2.7.0", "2.6.0", "down"))


def test_a_library_is_not_the_project_of_its_name() -> None:
    """Conda's zstd is a C library; PyPI's is something else."""
    library = record("zstd", depends=("libzlib >=1.3",))
    assert [one.kind for one in compare(side(library), side(pip("zstd"))).differences] == [Kind.REMOVED, Kind.ADDED]
    module = record("tqdm", depends=("python >=3.9",))
    assert only(compare(side(module), side(pip("tqdm")))).kind is Kind.MOVED


def test_what_stays_with_conda_has_not_moved() -> None:
    """Pip's copy beside conda's is an addition."""
    found = only(compare(side(record("numpy")), side(record("numpy"), pip("numpy"))))
    assert (found.part, found.kind) == (Part.PIP, Kind.ADDED)


CHANNELS = (Channel("pytorch", "https://conda.anaconda.org/pytorch"), Channel("conda-forge", FORGE))


def test_channels_in_order() -> None:
    """The order decides who wins a name; an address and its name are one channel."""
    before, after = side(channels=CHANNELS), side(channels=CHANNELS[::-1])
    assert fields(only(compare(before, after))) == {"value": ("pytorch > conda-forge", "conda-forge > pytorch", "")}
    by_address = side(channels=tuple(Channel(one.url, one.url) for one in CHANNELS))
    by_name = side(channels=tuple(Channel(one.name, "") for one in CHANNELS))
    assert compare(by_address, by_name).differences == ()
    assert only(compare(before, side(channels=CHANNELS[:1]))).part is Part.CHANNELS


def test_settings() -> None:
    """Indexes, nodefaults, platform, variables and what was asked for are one difference each."""
    before = side(
        pip_options=("--index-url https://me:secret@h.example/simple",),
        nodefaults=True,
        variables={"KEPT": "1", "GONE": "x", "OTHER": "1"},
        specs=("python >=3.10", "six", "conda-forge::numpy"),
    )
    after = side(
        pip_options=("--index-url https://other.example/simple",),
        variables={"KEPT": "1", "COME": "", "OTHER": "2"},
        specs=("python >=3.11", "conda-forge::numpy", "tqdm"),
        subdir="osx-arm64",
    )
    found = compare(before, after)
    assert [(one.part.value, one.kind.value, one.name) for one in found.differences] == [
        ("platform", "changed", "platform"),
        ("nodefaults", "removed", "nodefaults"),
        ("indexes", "changed", "indexes"),
        ("variables", "added", "COME"),
        ("variables", "removed", "GONE"),
        ("variables", "changed", "OTHER"),
        ("asked", "added", "tqdm"),
        ("asked", "removed", "six"),
        ("asked", "changed", "python"),
    ]
    assert "secret" not in repr(found)


SECRETS = [
    pytest.param({"HF_TOKEN": "hf_one"}, {}, [], id="left out of a lock"),
    pytest.param({"HF_TOKEN": "hf_one"}, {"HF_TOKEN": "***"}, [], id="masked where it was noted"),
    pytest.param({"HF_TOKEN": "hf_one"}, {"HF_TOKEN": "hf_one"}, [], id="the same"),
    pytest.param({"HF_TOKEN": "hf_one"}, {"HF_TOKEN": "hf_two"}, ["HF_TOKEN"], id="another one"),
    pytest.param({"URL": "https://u:hf_one@h.example"}, {"URL": "https://***@h.example"}, [], id="in an address"),
    pytest.param({"URL": "https://u:hf_one@h.example"}, {"URL": "https://h.example"}, ["URL"], id="or without it"),
]


@pytest.mark.parametrize(("before", "after", "different"), SECRETS)
def test_secrets_in_variables(before: Mapping[str, str], after: Mapping[str, str], different: list[str]) -> None:
    """A secret that a lock leaves out or masks is no difference; one that differs is, and stays hidden."""
    for old, new in ((before, after), (after, before)):
        found = compare(side(variables=old), side(variables=new))
        assert [one.name for one in found.differences] == different
        assert "hf_" not in repr(found)


# What holds whatever the locks say.

NAMES = ["numpy", "pytorch", "matplotlib-base", "six", "zlib"]
PIP_NAMES = ["numpy", "torch", "matplotlib", "trl"]
HASHES = st.sampled_from([A, B])

RECORDS = st.builds(
    record,
    st.sampled_from(NAMES),
    st.sampled_from(["1.0", "1.0.0", "2.0rc1", "10", "x"]),
    st.sampled_from(["py_0", "h1_0"]),
    channel=st.sampled_from([FORGE, MIRROR]),
    end=st.sampled_from([".conda", ".tar.bz2"]),
    sha256=HASHES,
)
PACKAGES = st.builds(
    lambda name, version, commit, digest: pip(
        name,
        version,
        f"{name} @ git+https://h.example/{name}@{commit}" if commit else "",
        hashes=(f"sha256:{digest}",),
    ),
    st.sampled_from(PIP_NAMES),
    st.sampled_from(["1.0", "2.0", "2.0+cu124", "1!3"]),
    st.sampled_from([COMMIT, OTHER_COMMIT, ""]),
    HASHES,
)
"""Every one says everything, a hash too where a real commit has none: only then does a list hold all there is."""


@st.composite
def sides(draw: st.DrawFn) -> Side:
    """Draw a side that says everything."""
    records = draw(st.lists(RECORDS, max_size=5, unique_by=lambda one: one.name))
    distributions = draw(st.lists(PACKAGES, max_size=4, unique_by=lambda one: one.name))
    channels = draw(st.lists(st.sampled_from(CHANNELS), min_size=1, max_size=2, unique=True))
    variables = draw(st.dictionaries(st.sampled_from(["A", "B"]), st.sampled_from(["", "1", "2"])))
    specs = draw(st.lists(st.sampled_from(["six", "six >=1", "numpy", "pip"]), min_size=1, unique=True))
    return side(
        *records, *distributions, channels=tuple(channels), variables=variables, specs=tuple(specs),
        nodefaults=draw(st.booleans()), subdir=draw(st.sampled_from(["linux-64", "linux-aarch64"])),
    )  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(sides())
def test_nothing_differs_from_itself(one: Side) -> None:
    """Whatever order its packages stand in."""
    platform = replace(one.platform, records=one.platform.records[::-1], pip=one.platform.pip[::-1])
    assert compare(one, one).differences == ()
    assert compare(one, replace(one, platform=platform)).differences == ()


@settings(max_examples=200, deadline=None)
@given(sides(), sides())
def test_swapping_the_sides_turns_every_difference_round(one: Side, other: Side) -> None:
    """No more and no fewer, with before and after, up and down, added and removed exchanged."""
    there = {reversed_(difference) for difference in compare(one, other).differences}
    assert there == set(compare(other, one).differences)


def reversed_(one: Difference) -> Difference:
    """Return a difference as it is seen from the other side."""
    kinds, ways = {Kind.ADDED: Kind.REMOVED, Kind.REMOVED: Kind.ADDED}, {"up": "down", "down": "up"}
    changes = tuple(
        replace(change, before=change.after, after=change.before, direction=ways.get(change.direction, ""))
        for change in one.changes
    )
    names = fields(one).get("name")
    name = names[1] if names is not None else one.name
    return Difference(one.part, kinds.get(one.kind, one.kind), name, changes)


@settings(max_examples=200, deadline=None)
@given(sides(), sides())
def test_applying_the_differences_gives_the_other_side(one: Side, other: Side) -> None:
    """Nothing is missing from the list: with every change of it made, the first side is the second."""
    found = compare(one, other).differences
    assert applied(one, found) == applied(other, ())


@settings(max_examples=100, deadline=None)
@given(sides(), sides(), sides())
def test_differences_add_up(first: Side, second: Side, third: Side) -> None:
    """From the first over the second to the third is from the first to the third."""
    over = applied(first, compare(first, second).differences)
    assert over == applied(second, ())
    names = {(one.part, one.name) for one in compare(first, third).differences if one.part is not Part.MOVED}
    steps = [*compare(first, second).differences, *compare(second, third).differences]
    touched = {(one.part, one.name) for one in steps}
    touched |= {(part, name) for one in steps if one.part is Part.MOVED for name in moved_names(one)
                for part in (Part.CONDA, Part.PIP)}  # fmt: skip
    assert names <= touched


def moved_names(one: Difference) -> set[str]:
    """Return the names of a package that moved, on either side."""
    return {one.name, fields(one).get("name", ("", one.name, ""))[1]}


View = dict[tuple[str, str], dict[str, str]]


def applied(one: Side, differences: tuple[Difference, ...]) -> View:
    """Return what a side says, by installer (or part) and name, with changes made to it."""
    from conda_llmenv.locks.fields import conda_fields, pip_fields

    view: View = {("conda", record.name): conda_fields(record) for record in one.platform.records}
    view |= {("pip", package.name): pip_fields(package) for package in one.platform.pip}
    view |= {("variables", name): {"value": value} for name, value in one.lock.variables.items()}
    view[("channels", "channels")] = {"value": " > ".join(channel.name for channel in one.lock.channels)}
    view[("platform", "platform")] = {"value": one.platform.subdir}
    view |= {("nodefaults", "nodefaults"): {"value": "yes"}} if one.lock.nodefaults else {}
    for name in {spec.split()[0] for spec in one.lock.specs}:
        texts = sorted(spec for spec in one.lock.specs if spec.split()[0] == name)
        view[("asked", name)] = {"value": " and ".join(texts)}
    for difference in differences:
        apply(view, difference)
    return view


def apply(view: View, one: Difference) -> None:
    """Make one change."""
    place = (fields(one)["installer"][0] if one.kind is Kind.MOVED else one.part.value, one.name)
    what = {} if one.kind is Kind.ADDED else view.pop(place)
    assert all(what.get(change.field, "") == change.before for change in one.changes)
    what = {**what, **{change.field: change.after for change in one.changes}}
    if one.kind is Kind.REMOVED:
        return
    if one.kind is Kind.ADDED and one.part in {Part.CONDA, Part.PIP}:
        what |= {"installer": one.part.value, "name": one.name}
    is_package = "installer" in what
    view[(what["installer"], what["name"]) if is_package else place] = (
        {field: text for field, text in what.items() if text} if is_package else what
    )
