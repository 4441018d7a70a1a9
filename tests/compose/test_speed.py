"""Composing stays out of the way: hundreds of files in a fraction of a second."""

from __future__ import annotations

import time

from conda_llmenv.compose import merge, render_yaml
from tests.compose.files import fragment


def test_three_hundred_files_of_sixty_specs() -> None:
    """Measured 0.35 s on two cores (bench holds the bar); three seconds here, for a machine that is busy elsewhere."""
    specs = [f"  - pkg{i} >=1.{i},<2  # why" for i in range(50)]
    texts = [
        "channels: [conda-forge]\ndependencies:\n" + "\n".join([*specs, *(f"  - own{k}x{i} =1.{i}" for i in range(10))])
        for k in range(300)
    ]
    started = time.process_time()
    spec = merge([fragment(text, f"f{k}") for k, text in enumerate(texts)])
    written = render_yaml(spec)
    assert time.process_time() - started < 3
    assert written.count("\n  - ") == 50 + 3000 + 1
