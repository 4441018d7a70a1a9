"""Goes up the whole ladder on a machine with NVIDIA cards, and keeps what the probes saw as data for pure tests.

Usage: ``python -m tests.gpu PREFIX OUT``: PREFIX holds the Python that has torch, OUT gets ``report.json``,
``report.html``, ``observations.json`` and ``two-ranks.json``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from msgspec import json, structs

from conda_llmenv.checks.verdict import counts, exit_code, sentence
from conda_llmenv.cli.verified import report_json, say_report
from conda_llmenv.cli.verifying import verify_tools
from conda_llmenv.model import Level, ProbeEnd, ProbeRun, Report
from conda_llmenv.page.report import render
from conda_llmenv.pipeline.verify import verify
from conda_llmenv.pipeline.verify_tools import Subject, VerifyRequest

SEVERAL_RANKS = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_MAX_CTAS": "8", "NCCL_NVLS_ENABLE": "0"}
"""What NCCL from 2.30 on asks for before two ranks may share a card; older ones refuse, which is a result too."""


def main(prefix: Path, out: Path) -> int:
    """Run everything, write the files and return the exit code of the whole run."""
    out.mkdir(parents=True, exist_ok=True)
    seen: list[dict[str, Any]] = []
    report = climb(prefix, seen, ranks=None)
    (out / "report.json").write_bytes(json.format(json.encode(report_json(report))))
    (out / "report.html").write_text(render(report, {}), encoding="utf-8")
    (out / "observations.json").write_bytes(json.format(json.encode(seen)))
    say_report(report, verbose=True, quiet=False, strict=False)
    if len(report.host.gpus) == 1:
        share_the_card(prefix, out)
    return exit_code(report)


def share_the_card(prefix: Path, out: Path) -> None:
    """Try two ranks on the one card."""
    os.environ.update(SEVERAL_RANKS)
    seen: list[dict[str, Any]] = []
    report = climb(prefix, seen, ranks=2, only=("collectives", "bandwidth", "ddp-step", "fsdp-step"))
    (out / "two-ranks.json").write_bytes(json.format(json.encode(seen)))
    print(f"\ntwo ranks on one card: {sentence(report)}\n{counts(report)}")


def climb(prefix: Path, seen: list[dict[str, Any]], *, ranks: int | None, only: tuple[str, ...] = ()) -> Report:
    """Run the ladder and note how every probe ended."""
    real = verify_tools(prefix)

    def probe(place: Path, run: ProbeRun) -> ProbeEnd:
        end = real.probe(place, run)
        seen.append({"run": run, "end": end})
        return end

    tools = structs.replace(real, probe=probe, keep=lambda _report: (), earlier=lambda _prefix, _state: ())
    subject = Subject(prefix, tier="gpu", cuda_tier=True)
    return verify(VerifyRequest(subject, Level.DEEP, only, ranks), tools)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
