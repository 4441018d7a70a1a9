"""What to change when the build of a framework is not the kind that was asked for, and why it came out that way."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from packaging.version import Version

from conda_llmenv.hardware.asked import CudaAsk, cuda_asks, match_spec, origins_of, requested
from conda_llmenv.hardware.cuda import usable
from conda_llmenv.hardware.tables import Framework, Tables
from conda_llmenv.hardware.target import Target
from conda_llmenv.hardware.versions import minor, parse
from conda_llmenv.model import Change, EnvSpec, Origin, Record, Solution
from conda_llmenv.redact import strip

CHANNEL = "pytorch"
"""PyTorch's own channel, closed after 2.5."""

RUNTIME_CHANNEL = "nvidia"
"""Where the CUDA libraries that ``pytorch-cuda`` asks for live."""

LEGACY = ("cudatoolkit", "cudatoolkit-dev", "cuda-version")
"""Specs that mean CUDA elsewhere but not to ``pytorch-cuda``."""


class Remedy(Struct, frozen=True):
    """The reason in a sentence or two, and the edits that work, all of them together."""

    why: str
    changes: tuple[Change, ...] = ()


class Chosen(Struct, frozen=True):
    """The record a solver chose for a framework, with what led to it."""

    record: Record
    framework: Framework
    spec: EnvSpec
    solution: Solution

    @property
    def channel(self) -> str:
        """Name of the channel the record comes from."""
        return channel_of(self.record, self.spec)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Where the framework, or what brings it, was asked for."""
        others = (*self.framework.follows, *self.framework.cuda, *self.framework.cpu)
        return requested(self.spec, self.framework.name, others)

    @property
    def origin(self) -> Origin | None:
        """The last of :attr:`origins`, the line to change."""
        return self.origins[-1] if self.origins else None


def channel_of(record: Record, spec: EnvSpec) -> str:
    """Return the name of the channel a record comes from, as the fragments spell it."""
    url = strip(record.channel).rstrip("/")
    named = [
        channel.name for channel in spec.channels if url == channel.name.rstrip("/") or url.endswith("/" + channel.name)
    ]
    if named:
        return max(named, key=len)
    return "defaults" if "/pkgs/" in url else url.rsplit("/", 1)[-1]


def for_cpu_build(chosen: Chosen, target: Target, tables: Tables) -> Remedy:
    """Return why a CPU build was chosen where a card is to be used, and the change that gives a CUDA build."""
    framework = chosen.framework
    if framework.name == "pytorch" and chosen.channel == CHANNEL:
        return _official_channel(chosen, target, tables)
    if target.cuda is None:
        return Remedy(
            "Its CUDA builds ask for `__cuda`, and no driver is seen or assumed here.",
            (Change("host", ("set CONDA_OVERRIDE_CUDA to the CUDA version of the machine it is for, such as 12.4",)),),
        )
    if framework.cuda:
        chooser = framework.cuda[0]
        why = (
            f"Nothing asks for a CUDA build, so the solver was free to take this one; `{chooser}` asks for one by name."
        )
        return Remedy(why, (Change("add", (chooser,), chosen.origin, chooser),))
    why = "Nothing asks for a CUDA build, so the solver was free to take this one; a build glob asks for one."
    return Remedy(why, (_with_glob(chosen, "*cuda*"),))


def for_cuda_build(chosen: Chosen) -> Remedy:
    """Return why a CUDA build was chosen for machines without a card, and the change that gives a CPU build."""
    framework, spec, origin = chosen.framework, chosen.spec, chosen.origin
    choosers = [name for name in framework.cuda if spec.spec(name)]
    drops = [
        Change("drop", (), origins_of(merged)[-1], name)
        for name in (*choosers, *LEGACY[:2])
        if (merged := spec.spec(name))
    ]
    if framework.name == "pytorch" and chosen.channel == CHANNEL:
        why = "The CUDA builds of this channel ask for no `__cuda`, so they install without a card too."
        return Remedy(why, (*drops, _with_glob(chosen, "*cpu*")))
    why = (
        f"`{choosers[0]}` asks for it by name."
        if choosers
        else "Its build was asked for, or CONDA_OVERRIDE_CUDA is set."
    )
    if framework.cpu:
        return Remedy(why, (*drops, Change("add", (framework.cpu[0],), origin, framework.cpu[0])))
    return Remedy(why, (*drops, _with_glob(chosen, "*cpu*")))


def _with_glob(chosen: Chosen, build: str) -> Change:
    name = chosen.framework.name
    merged = chosen.spec.spec(name)
    version = match_spec(merged.texts[0]).version if merged else None
    return Change("spec" if merged else "add", (f"{name} {version or '*'} {build}",), chosen.origin, name)


def _official_channel(chosen: Chosen, target: Target, tables: Tables) -> Remedy:
    """PyTorch's channel: up to 1.12 CUDA came with ``cudatoolkit``, from 1.13 on with ``pytorch-cuda`` and nvidia's."""
    spec = chosen.spec
    series = minor(parse(chosen.record.version) or Version("0"))
    runtime = "pytorch-cuda" if series >= tables.first_pytorch_cuda else "cudatoolkit"
    asks = [ask for ask in cuda_asks(spec, tables) if ask.name in LEGACY]
    cuda = _variant(tables.conda_torch.get(str(series), ()), asks, target, tables)
    if cuda is None:
        words = (
            f"pytorch {series} of this channel has no build for a CUDA that {target.driver_words} and the card can use"
        )
        return Remedy(
            f"{words}.", (Change("tier", ("take pytorch-gpu from conda-forge, or another pytorch release",)),)
        )
    runtimes = _runtime_changes(f"{runtime}={cuda}", runtime, asks, chosen)
    return Remedy(_why_official(asks, spec, runtime, tables), (*_channel_change(chosen, runtime), *runtimes))


def _variant(built: Sequence[Version], asks: Sequence[CudaAsk], target: Target, tables: Tables) -> Version | None:
    """The CUDA variant to take: the newest that was asked for and works, else the newest that works."""
    working = [cuda for cuda in built if target.cuda is None or cuda in usable(target, tables)]
    asked = [cuda for cuda in working if all(cuda in ask.allowed for ask in asks)]
    return max(asked or working, default=None)


def _runtime_changes(text: str, runtime: str, asks: Sequence[CudaAsk], chosen: Chosen) -> tuple[Change, ...]:
    """The first CUDA spec becomes the right one, further ones go; without any it is added beside pytorch."""
    if not asks:
        return (Change("add", (text,), chosen.origin, runtime),)
    first, *others = asks
    return (
        Change("spec", (text,), first.origins[-1], first.name),
        *(Change("drop", (), ask.origins[-1], ask.name) for ask in others),
    )


def _channel_change(chosen: Chosen, runtime: str) -> tuple[Change, ...]:
    """Put nvidia right after pytorch; ``defaults`` goes if the plan takes nothing from it and conda-forge is there."""
    spec = chosen.spec
    names = [channel.name for channel in spec.channels]
    if runtime != "pytorch-cuda" or any(name.split("/")[0] == RUNTIME_CHANNEL for name in names):
        return ()
    used = {channel_of(record, spec) for record in chosen.solution.records}
    kept = [name for name in names if name != "defaults" or "defaults" in used or "conda-forge" not in names]
    at = kept.index(CHANNEL) + 1 if CHANNEL in kept else 0
    return (Change("channels", (*kept[:at], RUNTIME_CHANNEL, *kept[at:]), _channel_origin(spec)),)


def _channel_origin(spec: EnvSpec) -> Origin | None:
    """The line that lists channel pytorch: of the last layer that does."""
    channel = next((channel for channel in spec.channels if channel.name == CHANNEL), None)
    return max(channel.origins, key=lambda origin: origin.layer) if channel and channel.origins else None


def _why_official(asks: Sequence[CudaAsk], spec: EnvSpec, runtime: str, tables: Tables) -> str:
    if runtime != "pytorch-cuda":
        return (
            f"Up to {tables.first_pytorch_cuda} this channel's CUDA comes with `cudatoolkit`, which nothing asks for."
        )
    sentences = [f"from {tables.first_pytorch_cuda} on this channel's CUDA comes with `pytorch-cuda`"]
    if asks:
        named = ", ".join(f"`{ask.name}` ({ask.origins[-1].where})" for ask in asks)
        sentences.append(f"; {named} {'is' if len(asks) == 1 else 'are'} not used by it")
    sentences.append(".")
    origin = _channel_origin(spec)
    if all(channel.name.split("/")[0] != RUNTIME_CHANNEL for channel in spec.channels):
        lists = f", which {origin.where} does not list" if origin else ""
        sentences.append(f" Its runtime packages live in channel `{RUNTIME_CHANNEL}`{lists}.")
    return "".join(sentences)
