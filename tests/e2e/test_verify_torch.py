"""The whole ladder in an environment with torch: what passes, what is skipped, and what a hung rank comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_verify import started_inside
from tests.program import Program
from tests.torchenv import BreakEnv

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("ranks"), pytest.mark.timeout(600)]

SLEEPER = """
import os, sys

def _plant():
    if os.environ.get("RANK") != "1":
        return
    import time
    import torch.distributed
    torch.distributed.all_reduce = lambda *_args, **_more: time.sleep(600)

class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "torch.distributed.run" or name != "torch.utils.data":
            return None
        sys.meta_path.remove(self)
        _plant()
        return None

sys.meta_path.insert(0, _Finder())
"""


def checks(document: str) -> dict[str, dict[str, Any]]:
    """Return the checks of a ``--json`` report by id."""
    return {check["id"]: check for check in json.loads(document)["result"]["checks"]}


def test_the_ladder_runs_for_real_without_a_gpu(llmenv: Program, broken_env: BreakEnv) -> None:
    """2 and 4 ranks over gloo; what is about a GPU is skipped, nothing warns, and the environment is verified."""
    prefix = broken_env()
    ended = llmenv("verify", "-p", prefix, "--full", "--json", "--report", llmenv.cwd / "report.html")
    assert ended.code == 0, ended.text
    found = checks(ended.stdout)
    statuses = {name: check["status"] for name, check in found.items()}
    assert not {"fail", "error"} & set(statuses.values()), statuses
    for name in (
        "torch-import",
        "matmul",
        "precision",
        "collectives",
        "ddp-step",
        "fsdp-step",
        "dataloader",
        "checkpoint",
    ):
        assert statuses[name] == "pass", found[name]
    for name in ("torch-arch", "driver-cuda", "gpu-health"):
        assert statuses[name] == "skip", found[name]
    assert "gloo" in found["collectives"]["summary"]
    assert json.loads(ended.stdout)["result"]["ranks"] == [2, 4]
    assert llmenv("info", "-p", prefix, "--json").result()["phase"] == "verified"
    page = (llmenv.cwd / "report.html").read_text(encoding="utf-8")
    assert "ddp-step" in page
    again = llmenv("verify", "-p", prefix, "--quick", "--json")
    assert again.code == 0, again.text
    assert checks(again.stdout)["ddp-step"]["reused"] is True
    assert started_inside(prefix) == []


def test_a_rank_that_sleeps_for_ever(llmenv: Program, broken_env: BreakEnv) -> None:
    """Row 49 (accelerate#885, #1209): a hard limit, the last step of every rank, exit code 1, and nobody left."""
    prefix = broken_env({"zz_sleeper.pth": "import zz_sleeper\n", "zz_sleeper.py": SLEEPER})
    ended = llmenv("verify", "-p", prefix, "--only", "collectives", "--nproc", "2", "--json")
    assert ended.code == 1, ended.text
    found = checks(ended.stdout)["collectives"]
    assert found["status"] == "fail"
    assert "rank" in "\n".join([found["summary"], *found["detail"]])
    assert started_inside(prefix) == []


def test_a_gpu_tier_is_not_verified_without_a_gpu(llmenv: Program, prefix: Path) -> None:
    """Everything that can be tried on a login node passes, and still nothing says that it trains on an A100."""
    llmenv.write("small.yml", "dependencies: [python, six]\nllmenv: {verify: {imports: [six]}}\n")
    ended = llmenv("create", "--tier", "a100", "-f", "small.yml", "-p", prefix)
    assert ended.code == 0, ended.text
    assert "created; passed, but not verified: tier a100 is about a GPU" in ended.stderr
    info = llmenv("info", "-p", prefix, "--json").result()
    assert info["phase"] == "created"
    assert "run `llmenv verify` where one is" in info["reason"]
    quick = llmenv("verify", "-p", prefix, "--quick")
    assert quick.code == 1
    assert "proves nothing" in quick.stdout


@pytest.mark.soak
def test_thirty_clean_runs_raise_no_alarm(llmenv: Program, broken_env: BreakEnv) -> None:
    """An environment with nothing wrong passes every time, noisy machine or not."""
    prefix = broken_env()
    for _ in range(30):
        ended = llmenv("verify", "-p", prefix, "--full", "--json")
        wrong = {
            name: one["summary"] for name, one in checks(ended.stdout).items() if one["status"] in {"fail", "error"}
        }
        assert (ended.code, wrong) == (0, {})
