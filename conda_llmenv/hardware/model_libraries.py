"""The model-library link: libraries that work only with a torch that is new enough."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import Version

from conda_llmenv.hardware.tables import Tables
from conda_llmenv.model import Change, Origin, Status, Verdict

LINK = "model-library"


def check_torch_floors(
    torch: Version | None, versions: Mapping[str, Version], origins: Mapping[str, Origin], tables: Tables
) -> tuple[Verdict, ...]:
    """Judge every known library of a plan against its torch.

    transformers and its relatives declare torch as an extra only, so neither a solver nor pip notices.
    """
    if torch is None:
        return ()
    found = []
    for name, rows in tables.model_libraries.items():
        version = versions.get(name)
        least = next((least for since, least in rows if version is not None and version >= since), None)
        if version is not None and least is not None:
            found.append(_judged(name, version, torch, least, origins))
    return tuple(found)


def _judged(name: str, version: Version, torch: Version, least: Version, origins: Mapping[str, Origin]) -> Verdict:
    if torch >= least:
        return Verdict("library-torch", LINK, Status.PASS, f"{name} {version} works with torch {torch}")
    places = [origins[key] for key in (name, "torch", "pytorch") if key in origins]
    return Verdict(
        "library-torch",
        LINK,
        Status.FAIL,
        f"{name} {version} needs torch {least} or newer, and the plan has {torch}",
        why=f"{name} switches its torch models off with an older one.",
        origins=tuple(places),
        changes=_newer_torch(least, origins),
    )


def _newer_torch(least: Version, origins: Mapping[str, Origin]) -> tuple[Change, ...]:
    if "torch" in origins:
        return (Change("pip", (f"torch>={least}",), origins["torch"], "torch"),)
    return (Change("spec", (f"pytorch >={least}",), origins.get("pytorch"), "pytorch"),)
