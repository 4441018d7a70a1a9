"""Untrusted YAML: both parsers give one tree, and everything that could bite is refused with file and line."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conda_llmenv.compose.problems import Unreadable
from conda_llmenv.compose.yamltree import Document, Mapping, Node, Scalar, parse_tree
from conda_llmenv.errors import FileFormatError
from tests.compose.files import fragment

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE_BOMB = "b0: &b0 {k0: 1}\n" + "".join(
    f"b{i}: &b{i}\n  <<: [*b{i - 1}, *b{i - 1}]\n  k{i}: 1\n" for i in range(1, 20)
)


@pytest.mark.parametrize(
    ("text", "where", "word"),
    [
        ("dependencies:\n\t- numpy\n", "f.yml:2:1", "tab"),
        ("dependencies:\n  - a\n  \t- b\n", "f.yml:3:3", "tab"),
        ("dependencies: [a\n", "f.yml:2", "YAML"),
        ("dependencies:\n  - a\n dependencies: b\n", "f.yml:3", "YAML"),
        ("name: x\nname: y\n", "f.yml:2:1", "twice"),
        ("variables: {A: 1, B: 2, A: 3}\n", "f.yml:1:25", "twice"),
        ("d: &d {A: 1}\nvariables:\n  <<: *d\n  A: 2\n", "f.yml:4:3", "twice"),
        ("d: &d {A: 1}\nvariables:\n  A: 2\n  <<: *d\n", "f.yml:4:3", "twice"),
        ("d: &d {A: 1}\nvariables:\n  <<: *d\n  <<: *d\n", "f.yml:4:3", "twice"),
        ("dependencies: !!python/object:os.system [x]\n", "f.yml:1:15", "tag"),
        ("dependencies: [!!str a]\n", "f.yml:1:16", "tag"),
        ("dependencies: !local a\n", "f.yml:1:15", "tag"),
        ("name: ! a\n", "f.yml:1:7", "tag"),
        ("a: 1\n---\nb: 2\n", "f.yml:2", "second"),
        ("a: *nowhere\n", "f.yml:1:4", "nowhere"),
        ("a: &a [*a]\n", "f.yml:1:8", "alias"),
        ("? [a, b]\n: c\n", "f.yml:1:3", "key"),
        ("", "f.yml:1", "empty"),
        ("# only a comment\n", "f.yml:1", "empty"),
        ("[" * 10_000, "f.yml:1", "nested deeper"),
        ("a: " + "{a: " * 200 + "\n", "f.yml:1", "nested deeper"),
        ("".join(f"{'  ' * i}a:\n" for i in range(100)), "f.yml:", "nested deeper"),
        (BOMB, "f.yml:", "aliases repeat"),
        (MERGE_BOMB, "f.yml:", "twice"),
        ("a: [" + "x," * 200_000 + "]", "f.yml:", "20000"),
        ("just text\n", "f.yml:1:1", "mapping"),
        ("- numpy\n", "f.yml:1:1", "mapping"),
    ],
)
@pytest.mark.parametrize("pure", [False, True], ids=["c", "pure"])
def test_hostile_and_broken_yaml_is_refused_with_its_place(text: str, where: str, word: str, pure: bool) -> None:  # noqa: FBT001 - parametrised
    """One clear sentence with file and line, in well under a second, whichever parser reads."""
    started = time.process_time()
    with pytest.raises(FileFormatError) as caught:
        fragment(text, pure=pure)
    assert caught.value.message.startswith(where)
    assert word in caught.value.message
    assert time.process_time() - started < 2  # measured 0.6 s at most, by the pure parser


@pytest.mark.parametrize("text", [BOMB, MERGE_BOMB, "a: [" + "x," * 500_000, "- " * 500_000, "a" * 1024 * 1024])
def test_hostile_yaml_takes_little_memory(text: str) -> None:
    """A bomb is refused while it is read, not after it has gone off."""
    tracemalloc.start()
    with pytest.raises(FileFormatError):
        fragment(text)
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 * 1024 * 1024


def test_every_mistake_of_a_file_is_reported_at_once() -> None:
    """Nobody has to run the program once for each mistake."""
    text = "channels: x\ndependencies: [a, 'b >>', {npm: [c]}]\nvariables: {lower: 1}\nllmenv: {replaces: [a]}\n"
    with pytest.raises(FileFormatError) as caught:
        fragment(text)
    shown = [caught.value.message, *caught.value.details]
    assert [line.split(": ")[0] for line in shown] == [
        "f.yml:4:10",
        "f.yml:1:11",
        "f.yml:2:19",
        "f.yml:2:28",
        "f.yml:3:13",
    ]


def test_a_comment_behind_a_value_is_its_reason() -> None:
    """Quotes, flow lists and `#` inside a value do not confuse it; the same in both parsers."""
    text = "channels: [a, b]  # both\ndependencies:\n  - 'x'  # one # two\n  - y#z\n  # alone\n  - z\n"
    for pure in (False, True):
        read = fragment(text.replace("y#z", '"y"'), pure=pure)
        assert [channel.why for channel in read.channels] == ["both", "both"]
        assert [spec.why for spec in read.specs] == ["one # two", "", ""]


REFUSED = "refused"
KEYS = st.text("abcdefg", min_size=1, max_size=3)
PLAIN = st.sampled_from(
    [
        "1",
        "3.10",
        "true",
        "null",
        "~",
        "x y",
        "a: b",
        "- a",
        "# c",
        "",
        "é",
        "'",
        '"',
        "*a",
        "&b",
        "%",
        "a #b",
        "\\",
        "\t",
        "long " * 30,
    ]
)
TREES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@given(TREES, st.booleans())
def test_both_parsers_give_the_same_tree(value: object, flow: bool) -> None:  # noqa: FBT001 - parametrised
    """Whatever a YAML writer produces, positions and quoting included."""
    text = _dump({"root": value}, flow=flow)
    assert _plain(parse_tree(text)) == _plain(parse_tree(text, pure=True))


@given(st.text(" \n-:[]{},#*!'\"%@`ab0.", max_size=60))
def test_what_both_parsers_take_they_read_alike(text: str) -> None:
    """The C parser is the stricter one about odd anchors and empty keys; no text is read in two ways."""
    found = [_outcome(text, pure=pure) for pure in (False, True)]
    assert REFUSED in found or found[0] == found[1]


def _outcome(text: str, *, pure: bool) -> object:
    try:
        return _plain(parse_tree(text, pure=pure))
    except Unreadable:
        return REFUSED


def _dump(value: object, *, flow: bool) -> str:
    import io

    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = flow
    stream = io.StringIO()
    yaml.dump(value, stream)
    return stream.getvalue()


def _plain(document: Document) -> object:
    def walk(node: Node) -> object:
        if isinstance(node, Scalar):
            place = (node.line, node.column) if node.value else None  # nothing has no place of its own
            return (node.value, node.plain, place, document.comment(node.line) if place else "")
        if isinstance(node, Mapping):
            return {name: (key.line, key.column, walk(value)) for name, (key, value) in node.items.items()}
        return [walk(item) for item in node.items]

    return walk(document.root)
