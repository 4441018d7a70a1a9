"""Explaining a solver's refusal where the reason is one of hardware and channels, with the change that works."""

from __future__ import annotations

from collections.abc import Sequence

from conda_llmenv.errors import Unsatisfiable
from conda_llmenv.hardware.asked import CudaAsk, cuda_asks, origins_of
from conda_llmenv.hardware.remedy import CHANNEL, RUNTIME_CHANNEL
from conda_llmenv.hardware.tables import Tables, load_tables
from conda_llmenv.model import Change, Channel, EnvSpec, MergedSpec, Status, Verdict

LINK = "cuda"


def explain_unsatisfiable(
    spec: EnvSpec, error: Unsatisfiable, channels: Sequence[Channel] = (), tables: Tables | None = None
) -> Verdict | None:
    """Return what makes a set of specs unsatisfiable, if it is a known pattern; None leaves the solver's own words.

    ``channels`` are the resolved ones of the request, in order; without them the composed order counts.
    """
    tables = tables or load_tables()
    order = [channel.name for channel in channels] or [channel.name for channel in spec.channels]
    asks = {ask.name: ask for ask in cuda_asks(spec, tables)}
    return _hidden_cuda_version(spec, asks, order, error.packages) or _no_driver(spec, error)


def _hidden_cuda_version(
    spec: EnvSpec, asks: dict[str, CudaAsk], order: list[str], packages: Sequence[str]
) -> Verdict | None:
    """``pytorch-cuda`` beside ``cudatoolkit`` while nvidia stands above conda-forge.

    nvidia's ``cuda-version`` exists for 12.x only and ties ``cudatoolkit`` to its own version; strict priority hides
    that of conda-forge, which has 11.8.
    """
    old, metapackage = asks.get("cudatoolkit"), asks.get("pytorch-cuda")
    if old is None or metapackage is None or spec.channel_priority != "strict" or not _above(order):
        return None
    if packages and not {"cudatoolkit", "cuda-version"} & set(packages):
        return None  # they fail for another reason
    third = _third(spec, packages)
    names = [old.where, metapackage.where, *([_where(third)] if third else [])]
    short = [name for name in ("cudatoolkit", "pytorch-cuda", third.name if third else "") if name]
    rule = next((channel for channel in spec.channels if channel.name == RUNTIME_CHANNEL), None)
    place = f" ({rule.origins[-1].where})" if rule else ""
    return Verdict(
        "cudatoolkit-beside-pytorch-cuda",
        LINK,
        Status.FAIL,
        f"{', '.join(short[:-1])} and {short[-1]} cannot be installed together from these channels",
        detail=tuple(names),
        why=(
            f"With strict channel priority `cuda-version` of `{RUNTIME_CHANNEL}`{place} hides conda-forge's; it "
            "exists for 12.x only and ties `cudatoolkit` to its own version, so none fits. `pytorch-cuda` does not "
            f"use `cudatoolkit`: it brings the CUDA libraries of `{RUNTIME_CHANNEL}`."
        ),
        origins=tuple(dict.fromkeys((*old.origins, *metapackage.origins, *(origins_of(third) if third else ())))),
        changes=(Change("drop", (), old.origins[-1], "cudatoolkit"),),
    )


def _above(order: list[str]) -> bool:
    """Whether nvidia stands above conda-forge, and pytorch's channel is there at all."""
    plain = [name.rstrip("/").split("/")[-1] if "://" in name else name for name in order]
    if CHANNEL not in plain or RUNTIME_CHANNEL not in plain:
        return False
    return "conda-forge" not in plain or plain.index(RUNTIME_CHANNEL) < plain.index("conda-forge")


def _third(spec: EnvSpec, packages: Sequence[str]) -> MergedSpec | None:
    """The spec that pulls ``cuda-version`` in: as the solver says, else a known CUDA library of conda-forge."""
    others = [name for name in packages if name not in {"cudatoolkit", "pytorch-cuda"}]
    names = (*others, "cuda-version", "nccl", "cudnn", "cupy", "magma", "ucx", "pytorch")
    return next((found for name in names if (found := spec.spec(name))), None)


def _where(merged: MergedSpec) -> str:
    text = " and ".join(dict.fromkeys(part.value for part in merged.parts))
    return f"{text} ({', '.join(origin.where for origin in origins_of(merged))})"


def _no_driver(spec: EnvSpec, error: Unsatisfiable) -> Verdict | None:
    """A package that asks for ``__cuda`` where none is offered."""
    words = "\n".join((error.message, *error.details))
    if "__cuda" not in words:
        return None
    asking = [merged for merged in spec.specs if merged.name in error.packages and merged.parts] or [
        merged for merged in spec.specs if merged.name in {"pytorch-gpu", "cuda-version"}
    ]
    named = ", ".join(_where(merged) for merged in asking) or "a package"
    return Verdict(
        "no-cuda-driver",
        "driver",
        Status.FAIL,
        f"{named} needs an NVIDIA driver (`__cuda`) that the target does not offer",
        why="No driver is seen here, or it is too old, and neither the tier nor CONDA_OVERRIDE_CUDA assumes another.",
        origins=tuple(origin for merged in asking for origin in origins_of(merged)),
        changes=(
            Change(
                "host", ("set CONDA_OVERRIDE_CUDA to the CUDA version of the machine it is for, or choose its tier",)
            ),
        ),
    )
