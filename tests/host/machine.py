"""Lays out the folder of a recorded machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def recorded(root: Path, files: dict[str, str], **facts: Any) -> Path:
    """Write files below ``root`` and ``host.json`` with what has no file; return ``root``."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    if facts:
        folder = root / "run" / "llmenv"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "host.json").write_text(json.dumps(facts), encoding="utf-8")
    return root
