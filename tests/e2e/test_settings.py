"""What a person has configured counts: `.condarc`, and tables of cards of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.test_plans import machine
from tests.program import Program


@pytest.mark.parametrize("priority", ["flexible", "disabled", "strict"])
def test_the_configured_priority_counts_where_no_fragment_says(llmenv: Program, priority: str) -> None:
    """``channel_priority`` of `.condarc` is the plan's, unless a fragment or an option says otherwise."""
    condarc = llmenv.write("condarc.yml", f"channel_priority: {priority}\n")
    llmenv.environ["CONDARC"] = str(condarc)
    plan = ("create", "--dry-run", "--json", "six")
    assert llmenv(*plan).result()["channel_priority"] == priority
    llmenv.write("team.yml", "dependencies: [six]\nllmenv: {channel_priority: strict}\n")
    assert llmenv(*plan, "-f", "team.yml").result()["channel_priority"] == "strict"
    assert llmenv(*plan, "--no-channel-priority").result()["channel_priority"] == "disabled"


def test_configured_virtual_packages_count(llmenv: Program) -> None:
    """``override_virtual_packages`` of `.condarc` says what the target offers; the variable of the moment wins."""
    condarc = llmenv.write("condarc.yml", 'override_virtual_packages: {cuda: "12.6"}\n')
    llmenv.environ["CONDARC"] = str(condarc)
    plan = ("create", "--dry-run", "--json", "pytorch-gpu")

    def cuda(**variables: str) -> list[str]:
        found = llmenv(*plan, **variables).result()["virtual_packages"]
        return [package["version"] for package in found if package["name"] == "__cuda"]

    assert cuda() == ["12.6"]
    assert cuda(CONDA_OVERRIDE_CUDA="12.9") == ["12.9"]


def test_a_card_of_ones_own_counts_everywhere(llmenv: Program, tmp_path: Path) -> None:
    """``tables.json`` teaches a card; ``tiers detect`` and ``--tier auto`` then agree about it."""
    config = Path(llmenv.environ["HOME"]) / ".config" / "llmenv"
    config.mkdir(parents=True)
    name = "NVIDIA Prototype 9000"
    entries = {"compute_capability": {"entries": {"Prototype 9000": "9.0"}}}
    (config / "tables.json").write_text(json.dumps({"gpus": entries}))
    host = machine(tmp_path / "host", f"{name}, 81559, [N/A]", "550.54.15")
    detected = llmenv("tiers", "detect", "--json", **host).result()
    assert detected["tier"] == "h100"
    facts = llmenv("info", "--json", **host).result()["host"]
    assert [card["compute_capability"] for card in facts["gpus"]] == [[9, 0]]
    assert facts["problems"] == []
    chosen = llmenv("create", "--tier", "auto", "--dry-run", "--json", "six", **host).result()["tier"]["name"]
    assert chosen == "h100"


@pytest.mark.parametrize("text", ["[]", "null", "{", '{"x": 1}', "[" * 100_000])
def test_broken_tables_name_their_file(llmenv: Program, text: str) -> None:
    """Whatever is wrong with it, the message says which file to correct."""
    config = Path(llmenv.environ["HOME"]) / ".config" / "llmenv"
    config.mkdir(parents=True)
    (config / "tables.json").write_text(text)
    ended = llmenv("tiers", "detect")
    assert ended.code == 2
    assert "tables.json" in ended.stderr
    assert "Traceback" not in ended.text
