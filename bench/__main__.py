"""``python -m bench [--runs N]``: measure, print and write ``bench/results/latest.md``."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from bench.integrity import full_check, one_large_file
from bench.measure import ratio
from bench.scenarios import (
    SMALL,
    TYPICAL,
    Comparison,
    Workbench,
    cold_creation,
    composing,
    dry_run,
    exporting,
    warm_creation,
)

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Measure every comparison and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="counted rounds of each comparison")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="llmenv-bench-") as folder:
        bench = Workbench(Path(folder))
        bench.prepare()
        report = "\n".join(_report([
            warm_creation(bench, runs, TYPICAL, "What a training environment has beside its framework."),
            warm_creation(bench, runs, SMALL, "Nearly nothing to install: what is left is start-up."),
            cold_creation(bench, max(3, runs // 2), TYPICAL),
            dry_run(bench, runs),
            composing(bench, runs),
            exporting(bench, runs),
            full_check(bench, max(3, runs // 2)),
            one_large_file(bench, 3),
        ]))  # fmt: skip
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latest.md").write_text(report, encoding="utf-8")
    print(report)


def _report(comparisons: list[Comparison | None]) -> Iterator[str]:
    yield f"# Measured on {dt.datetime.now(dt.timezone.utc).date()}"
    yield ""
    yield (
        f"Python {platform.python_version()}, py-rattler {version('py-rattler')}, uv {version('uv')}, "
        f"{os.cpu_count()} cores. Whole processes, run in turn; medians, with the smallest and largest. "
        "Ratios are medians of pairs that ran side by side."
    )
    for comparison in comparisons:
        if comparison is not None:
            yield from _table(comparison)


def _table(comparison: Comparison) -> Iterator[str]:
    ours = comparison.figures[0]
    yield f"\n## {comparison.title}\n"
    if comparison.remark:
        yield f"{comparison.remark}\n"
    if comparison.limit is not None:
        yield f"Aim: at most {comparison.limit} × the first one below ours; memory at most 1.4 ×.\n"
    yield "| command | wall s | cpu s | peak MiB | ours / this: wall | cpu | memory |"
    yield "|---|---|---|---|---|---|---|"
    for other in comparison.figures:
        low, high = other.spread("wall")
        ratios = (
            ["", "", ""] if other is ours else [f"{ratio(ours, other, key):.2f}" for key in ("wall", "cpu", "peak")]
        )
        yield (
            f"| {other.name} | {other.median('wall'):.2f} ({low:.2f}–{high:.2f}) | {other.median('cpu'):.2f} "
            f"| {other.median('peak'):.0f} | {' | '.join(ratios)} |"
        )


main()
