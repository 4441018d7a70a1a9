"""The JSON Schemas that editors use say the same as the reader."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from conda_llmenv.compose.settings import COUNTS, DDP_BACKENDS, GPU_KEYS, LEVELS, OWNERS, PRIORITIES, keys_of
from conda_llmenv.errors import FileFormatError
from conda_llmenv.model import Kind
from tests.compose.files import fragment, report

TOP = Path(__file__).parent.parent.parent
PACKAGED = [
    *((path, Kind.FRAGMENT) for path in sorted((TOP / "envs").glob("*.yml"))),
    *((path, Kind.TIER) for path in sorted((TOP / "envs" / "tiers").glob("*.yml"))),
    *((path, Kind.RECIPE) for path in sorted((TOP / "recipes").glob("*.yml"))),
]


def schema(kind: Kind) -> dict[str, Any]:
    """Return the schema of a kind of file."""
    text = (
        importlib.resources.files("conda_llmenv.data")
        .joinpath(f"schemas/{kind.value}.json")
        .read_text(encoding="utf-8")
    )
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("kind", list(Kind))
def test_schema_and_reader_know_the_same_keys(kind: Kind) -> None:
    """Of the `llmenv:` mapping and of what is inside it."""
    jsonschema.Draft202012Validator.check_schema(schema(kind))
    inside = schema(kind)["properties"]["llmenv"]["properties"]
    assert tuple(sorted(inside)) == keys_of(kind)
    assert tuple(inside["channel_priority"]["enum"]) == PRIORITIES
    assert tuple(inside["owner"]["additionalProperties"]["enum"]) == OWNERS
    assert tuple(inside["verify"]["properties"]["ddp"]["enum"]) == DDP_BACKENDS
    assert tuple(inside["verify"]["properties"]["level"]["enum"]) == LEVELS
    assert {name for name, one in inside["verify"]["properties"].items() if one.get("type") == "integer"} == COUNTS
    if kind is Kind.TIER:
        assert tuple(inside["gpu"]["properties"]) == GPU_KEYS


@pytest.mark.parametrize(("path", "kind"), PACKAGED, ids=lambda value: getattr(value, "stem", ""))
def test_every_packaged_file_fits_its_schema(path: Path, kind: Kind) -> None:
    """So that an editor marks nothing in them."""
    jsonschema.validate(YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")), schema(kind))


@pytest.mark.parametrize(
    ("text", "kind", "word"),
    [
        ("llmenv: {extend: [base]}", Kind.FRAGMENT, "did you mean `extends`?"),
        ("llmenv: {gpu: {match: [A]}}", Kind.FRAGMENT, "belongs into a tier"),
        ("llmenv: {fragments: [a]}", Kind.FRAGMENT, "--recipe"),
        ("llmenv: {extends: [a]}", Kind.RECIPE, "under `fragments`"),
        ("llmenv: {gpu: {matches: [A]}}", Kind.TIER, "did you mean `match`"),
        ("llmenv: {gpu: {compute_capability: sm_80}}", Kind.TIER, "such as 8.0"),
        ("llmenv: {channel_priority: strickt}", Kind.FRAGMENT, "strict or flexible or disabled"),
        ("llmenv: {owner: {torch: both}}", Kind.FRAGMENT, "conda or pip"),
        ("llmenv: {virtual_packages: {cuda: 12.4}}", Kind.TIER, "two underscores"),
        ("llmenv: {extends: [../../etc/passwd]}", Kind.FRAGMENT, "not allowed"),
        ("llmenv: {verify: {imports: ['os; import x']}}", Kind.FRAGMENT, "no module name"),
        ("llmenv: {verify: {ddp: smoke}}", Kind.FRAGMENT, "nccl or gloo or mpi"),
        ("llmenv: {verify: {level: everything}}", Kind.FRAGMENT, "quick or full or deep"),
        ("llmenv: {verify: {ranks: 0}}", Kind.FRAGMENT, "a whole number from 1"),
        ("llmenv: {verify: {import_timeout: soon}}", Kind.FRAGMENT, "a whole number from 1"),
        ("llmenv: [extends]", Kind.FRAGMENT, "must be a mapping"),
        ("dependencies: [{conda: [a]}]", Kind.FRAGMENT, "only `pip` is"),
        ("dependencies: [[a]]", Kind.FRAGMENT, "a spec or a `pip:` section"),
        ("channels: ['a b']", Kind.FRAGMENT, "no channel"),
    ],
)
def test_both_refuse_the_same_mistakes(text: str, kind: Kind, word: str) -> None:
    """The reader with a way out."""
    with pytest.raises(FileFormatError) as caught:
        fragment(text, kind=kind)
    assert word in report(caught.value)
    assert caught.value.message.startswith("f.yml:1:")
    if "passwd" not in text or kind is Kind.FRAGMENT:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(YAML(typ="safe", pure=True).load(text), schema(kind))


def test_numbers_stay_what_was_written() -> None:
    """`3.10` is not `3.1`; whole numbers and booleans of settings are what they are."""
    read = fragment(
        "llmenv: {defaults: {precision: bf16, ratio: 3.10, workers: 4, checkpointing: true, allocator: null}}"
    )
    assert read.settings["defaults"] == {
        "precision": "bf16", "ratio": "3.10", "workers": 4, "checkpointing": True, "allocator": None,
    }  # fmt: skip


def test_a_tier_says_which_cards_it_is_for() -> None:
    """Memory in GiB as people write it, in MiB as the driver counts it."""
    read = fragment(
        'llmenv: {gpu: {match: [A100], compute_capability: "8.0", min_memory_gib: 36, max_memory_gib: 44.5}}',
        kind=Kind.TIER,
    )
    assert read.gpu is not None
    assert (read.gpu.min_memory_mib, read.gpu.max_memory_mib, read.gpu.compute_capability) == (36864, 45568, "8.0")
