"""Each packaged file by itself: valid, readable by conda, explained, harmless."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from conda_llmenv.names import check_name
from conda_llmenv.redact import has_secret
from tests.content.packaged import FILES, FRAGMENTS, RECIPES, TIERS, kind_of, plain, read

EVERY_FILE = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{kind_of(path)}-{path.stem}")
HEADINGS = re.compile(
    r"(channels|dependencies|variables|llmenv|gpu|verify|defaults|virtual_packages|remove|fragments|- pip):"
)
SELF_EXPLAINING = ("description:", "extends:")
"""Lines that need no reason: one is prose itself, the other names files that hold their own."""


@EVERY_FILE
def test_a_file_fits_the_schema_of_its_kind(path: Path) -> None:
    """An editor that completes and checks with the published schema shows no mistake in a packaged file."""
    schema = json.loads(files("conda_llmenv").joinpath(f"data/schemas/{kind_of(path)}.json").read_text())
    assert [error.message for error in Draft202012Validator(schema).iter_errors(plain(path))] == []


@EVERY_FILE
def test_a_file_is_read_without_a_complaint(path: Path) -> None:
    """Our own reader accepts every value, knows every key, and finds one sentence that says what the file is for."""
    fragment = read(path)
    assert fragment.unknown_keys == ()
    assert 10 < len(fragment.description) < 100


@EVERY_FILE
def test_a_file_is_an_environment_yml_that_conda_reads(path: Path) -> None:
    """The shapes conda takes and no others; the two keys it does not know it ignores (CEP 24)."""
    content = plain(path)
    assert set(content) <= {"channels", "dependencies", "variables", "description", "llmenv"}
    assert all(isinstance(channel, str) for channel in content.get("channels", []))
    assert all(isinstance(value, str) for value in content.get("variables", {}).values())
    for dependency in content.get("dependencies", []):
        lines = dependency["pip"] if isinstance(dependency, dict) else [dependency]
        assert all(isinstance(line, str) for line in lines)
        assert not isinstance(dependency, dict) or list(dependency) == ["pip"]


@EVERY_FILE
def test_every_value_has_its_reason_beside_it(path: Path) -> None:
    """Whoever wonders why a package, variable, bound or default is there reads it on the same line."""
    bare = [
        f"{path.name}:{number} {line.strip()}"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if needs_reason(line) and not re.search(r"\S\s+# .{10,}", line)
    ]
    assert bare == []


def needs_reason(line: str) -> bool:
    """Return whether a line of YAML holds a value that somebody chose."""
    text = line.strip()
    return bool(text) and not (
        text.startswith(("#", *SELF_EXPLAINING)) or HEADINGS.fullmatch(text.split("  #")[0].strip())
    )


@EVERY_FILE
def test_the_reasons_reach_the_reader(path: Path) -> None:
    """`compose --explain` can show why each package and variable is asked for."""
    fragment = read(path)
    without = [item.value for item in fragment.specs if not item.why]
    without += [item.text for item in fragment.pip if not item.why]
    without += [item.name for item in fragment.variables if not item.why]
    assert without == []


@EVERY_FILE
def test_a_file_holds_no_secret_and_no_address_of_a_private_machine(path: Path) -> None:
    """Packaged files name public channels and PyTorch's public index, nothing with credentials."""
    text = path.read_text()
    assert not has_secret(text)
    assert set(re.findall(r"https?://([^/\s]+)", text)) <= {"download.pytorch.org"}


@EVERY_FILE
def test_a_file_can_be_referred_to_by_name(path: Path) -> None:
    """The stem of the file is what people type."""
    assert check_name(kind_of(path), path.stem) == path.stem


@EVERY_FILE
def test_lines_fit_a_terminal(path: Path) -> None:
    """Comments are read in terminals and reviews: at most 120 columns, no tabs, no trailing blanks."""
    lines = path.read_text().split("\n")
    assert [line for line in lines if len(line) > 120 or "\t" in line or line != line.rstrip()] == []


def test_every_name_a_file_refers_to_is_packaged() -> None:
    """No recipe stacks, and no file extends, something that is not there."""
    fragments, tiers = {path.stem for path in FRAGMENTS}, {path.stem for path in TIERS}
    for path in FILES:
        fragment = read(path)
        assert {item.value for item in (*fragment.extends, *fragment.fragments)} <= fragments, path.name
        assert {item.value for item in fragment.tiers} <= tiers, path.name


def test_the_promised_set_is_complete() -> None:
    """The tiers and recipes that the documentation names are packaged, and every recipe is made for every tier."""
    tiers = {"cpu", "t4", "v100", "rtx-24g", "l40s", "a100-40g", "a100", "h100", "b200", "rtx-50"}
    assert {path.stem for path in TIERS} == tiers
    assert {path.stem for path in RECIPES} == {"pretrain", "sft", "lora", "rlhf", "inference", "notebook", "minimal"}
    for path in RECIPES:
        assert {item.value for item in read(path).tiers} == tiers, path.name
    scales = {"single-gpu", "single-node", "multi-node-tcp", "multi-node-ib"}
    assert scales <= {path.stem for path in FRAGMENTS}


def test_no_fragment_guesses_a_network_interface() -> None:
    """Interface, adapter and GID names differ between clusters, and a wrong one hangs a job without a message."""
    site_specific = {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "UCX_NET_DEVICES"}
    for path in FILES:
        assert not site_specific & {variable.name for variable in read(path).variables}, path.name


def test_no_fragment_switches_off_what_only_hides_a_broken_machine() -> None:
    """Peer access and shared memory stay NCCL's choice; InfiniBand is off only where the scale says TCP."""
    for path in FILES:
        set_here = {variable.name: variable.value for variable in read(path).variables}
        assert not {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_ALGO", "NCCL_PROTO"} & set(set_here), path.name
        assert set_here.get("NCCL_IB_DISABLE") != "1" or path.stem == "multi-node-tcp"
