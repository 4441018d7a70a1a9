"""What holds for merging whatever the files say."""

from __future__ import annotations

import itertools
import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from conda_llmenv.compose import merge, render_yaml
from conda_llmenv.errors import ConflictError
from conda_llmenv.model import EnvSpec, Fragment
from tests.compose.files import fragment

CHANNELS = ["pytorch", "nvidia", "conda-forge", "bioconda"]
NAMES = ["numpy", "python", "cuda-version", "pytorch"]
PIP_NAMES = ["trl", "peft", "wandb"]

SPECS = st.builds(
    "{} {}".format, st.sampled_from(NAMES), st.sampled_from([">=1", "<3", "1.*|2.*", "!=1.5", ">=1,<4", "2.*"])
)
PIP = st.builds(
    "{}{}".format, st.sampled_from(PIP_NAMES), st.sampled_from(["", ">=1", "<3", "!=1.5", "[a]", "[b]>=0.5"])
)
VARIABLES = st.dictionaries(st.sampled_from(["A", "B", "C"]), st.sampled_from(["1", "x y", "null"]), max_size=3)


@st.composite
def files(draw: st.DrawFn) -> tuple[list[str], list[str], list[str], dict[str, str]]:
    """Draw one file: channels in one common order, specs, requirements, variables."""
    channels = [name for name in CHANNELS if draw(st.booleans())]
    return channels, draw(st.lists(SPECS, max_size=4)), draw(st.lists(PIP, max_size=3)), draw(VARIABLES)


FileParts = tuple[list[str], list[str], list[str], dict[str, str]]


def written(parts: FileParts, name: str, chance: random.Random | None = None) -> Fragment:
    """Write a file and read it; with ``chance``, in another order of keys and entries and with comments between."""
    channels, specs, pip, variables = parts
    specs, pairs = list(specs), list(variables.items())
    if chance is not None:
        chance.shuffle(specs)
        chance.shuffle(pairs)
    blocks = [
        "channels: [" + ", ".join(channels) + "]\n",
        "dependencies:\n" + "".join(f"  - {one}\n" for one in (*specs, "pip")) + f"  - pip: {json.dumps(pip)}\n",
        "variables: {" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}\n",
    ]
    if chance is not None:
        chance.shuffle(blocks)
        blocks = [f"# comment\n{block}" for block in blocks]
    return fragment("".join(blocks), name)


def values(spec: EnvSpec) -> tuple[object, ...]:
    """Return what is composed, without where it came from."""
    return (
        [channel.name for channel in spec.channels],
        {one.name: one.texts for one in spec.specs},
        [(one.name, one.specifier, one.extras) for one in spec.pip.requirements],
        {one.name: one.value for one in spec.variables},
    )


def outcome(fragments: list[Fragment]) -> object:
    """Return what merging gives: values, or the subjects of the contradictions."""
    try:
        return values(merge(fragments))
    except ConflictError as error:
        return sorted(line.split()[0] for line in error.details if not line.startswith(" "))


@settings(max_examples=60, deadline=None)
@given(st.lists(files(), min_size=1, max_size=4))
def test_merging_twice_changes_nothing(drawn: list[FileParts]) -> None:
    """Idempotence: a file that takes part again, in the same or a later place, counts once."""
    fragments = [written(parts, f"f{i}") for i, parts in enumerate(drawn)]
    assert outcome(fragments) == outcome([*fragments, *fragments])
    assert outcome(fragments) == outcome([written(parts, f"f{i}") for i, parts in enumerate(drawn)])


@settings(max_examples=60, deadline=None)
@given(st.lists(files(), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_order_of_keys_and_comments_is_irrelevant(drawn: list[FileParts], chance: random.Random) -> None:
    """Only the order of channels, of pip lines and of files means something."""
    plain = outcome([written(parts, f"f{i}") for i, parts in enumerate(drawn)])
    shuffled = outcome([written(parts, f"f{i}", chance) for i, parts in enumerate(drawn)])
    assert plain == shuffled


@settings(max_examples=60, deadline=None)
@given(files(), files(), files())
def test_layers_can_be_grouped_either_way(first: FileParts, second: FileParts, third: FileParts) -> None:
    """Associativity: composing two layers, writing the result down and adding the third gives the same environment.

    The order of channels that no file relates may differ: a written list relates them all.
    """
    one, two, three = (written(parts, f"f{i}") for i, parts in enumerate((first, second, third)))
    try:
        whole = values(merge([one, two, three]))
        left = values(merge([rewritten(merge([one, two]), "l"), three]))
        right = values(merge([one, rewritten(merge([two, three]), "r")]))
    except ConflictError:
        return
    assert set(whole[0]) == set(left[0]) == set(right[0])  # type: ignore[call-overload]  # channel names
    assert whole[1:3] == left[1:3] == right[1:3]
    assert with_value(whole[3]) == with_value(left[3]) == with_value(right[3])


def rewritten(spec: EnvSpec, name: str) -> Fragment:
    """Write a composed environment down and read it again; unset variables stay unset."""
    unset = [f"  {one.name}: null\n" for one in spec.variables if one.value is None]
    text = render_yaml(spec, for_conda=False)
    if unset:
        text = text.replace("variables:\n", "variables:\n" + "".join(unset))
        text = text if "variables:\n" in text else text + "variables:\n" + "".join(unset)
    return fragment(text, name)


def with_value(variables: object) -> dict[str, str]:
    """Return the variables that are set."""
    assert isinstance(variables, dict)
    return {name: value for name, value in variables.items() if value is not None}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from(CHANNELS), unique=True, max_size=4), min_size=1, max_size=5))
def test_merged_channels_keep_the_order_of_every_list(lists: list[list[str]]) -> None:
    """Or the report names a pair that two files order differently, or a circle."""
    fragments = [fragment(f"channels: [{', '.join(names)}]", f"f{i}") for i, names in enumerate(lists)]
    try:
        order = [channel.name for channel in merge(fragments).channels]
    except ConflictError as error:
        pairs = {pair for names in lists for pair in itertools.combinations(names, 2)}
        claimed = [line.strip().split(", then ") for line in error.details if ", then " in line]
        assert claimed
        assert all((first, second.split()[0]) in pairs for first, second in claimed)
        return
    assert sorted(order) == sorted({name for names in lists for name in names})
    for names in lists:
        assert [name for name in order if name in names] == names


@settings(max_examples=60, deadline=None)
@given(st.lists(files(), min_size=1, max_size=3))
def test_reading_our_own_output_gives_the_same_environment(drawn: list[FileParts]) -> None:
    """As written for conda, and as written for ourselves; writing it again gives the same bytes."""
    try:
        spec = merge([written(parts, f"f{i}") for i, parts in enumerate(drawn)])
    except ConflictError:
        return
    for for_conda in (True, False):
        text = render_yaml(spec, for_conda=for_conda)
        again = merge([fragment(text, "out")])
        assert values(again)[:3] == values(spec)[:3]
        assert with_value(values(again)[3]) == with_value(values(spec)[3])
        assert render_yaml(again, for_conda=for_conda) == text
