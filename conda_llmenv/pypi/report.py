"""pip's installation report (``pip install --report``, version 1) as packages of a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from packaging.utils import canonicalize_name

from conda_llmenv.model import PipPackage
from conda_llmenv.redact import strip


def parse_report(text: str, stubs: Path) -> tuple[PipPackage, ...]:
    """Return the packages of a report, without those that lie in the folder ``stubs``, sorted by name.

    Raises:
        ValueError: it is no report.
    """
    entries = json.loads(text).get("install", ())
    inside = stubs.resolve().as_uri()
    kept = [entry for entry in entries if not entry["download_info"]["url"].startswith(f"{inside}/")]
    return tuple(sorted((_package(entry) for entry in kept), key=lambda package: package.name))


def _package(entry: Mapping[str, Any]) -> PipPackage:
    name, version = canonicalize_name(entry["metadata"]["name"]), entry["metadata"]["version"]
    download = entry["download_info"]
    url, direct = download["url"], bool(entry.get("is_direct"))
    hashes = download.get("archive_info", {}).get("hashes", {})
    return PipPackage(
        name=name,
        version=version,
        requirement=f"{name} @ {url}" if direct else f"{name}=={version}",
        hashes=tuple(f"{algorithm}:{digest}" for algorithm, digest in hashes.items()),
        built=not urlsplit(url).path.endswith(".whl"),
        url=strip(url),
        direct=direct,
    )
