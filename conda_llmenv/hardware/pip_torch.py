"""Judging the torch of a pip section: its CUDA against card and driver, and the wheel to take instead."""

from __future__ import annotations

from packaging.version import Version

from conda_llmenv.hardware import card
from conda_llmenv.hardware.cuda import fit_driver, misfit
from conda_llmenv.hardware.tables import Tables
from conda_llmenv.hardware.target import Target
from conda_llmenv.hardware.tiers import dotted
from conda_llmenv.hardware.versions import driver_text, variant_of
from conda_llmenv.hardware.wheels import CPU, Wheel, alternatives, same_release
from conda_llmenv.model import Change, Origin, Status, Verdict

LINK = "pip"


def check_wheel(
    wheel: Wheel, origin: Origin | None, target: Target, tables: Tables, python: Version | None = None
) -> tuple[Verdict, ...]:
    """Judge a torch wheel against the target."""
    origins = (origin,) if origin else ()
    if wheel.cuda is None:
        instead = list(alternatives(target, tables, python))
        return (_cpu_wheel(wheel, origins, instead, target, tables),) if target.wants_gpu else ()
    if target.wants_gpu is False:
        return (_cuda_wheel(wheel, origins, tables),)
    reason = _driver_reason(wheel, target, tables) or _card_reason(wheel, target, tables)
    if reason:
        return (_refused(wheel, reason, origins, list(alternatives(target, tables, python)), tables),)
    return _limits(wheel, wheel.cuda, origins, target, tables)


def _driver_reason(wheel: Wheel, target: Target, tables: Tables) -> tuple[str, str] | None:
    fit = fit_driver(wheel.cuda, target, tables) if wheel.cuda else None
    if fit is None or fit.status is not Status.FAIL:
        return None
    needs = f", which needs driver {driver_text(fit.floor)} or newer" if fit.floor else ""
    summary = f"torch {wheel.version} is built for CUDA {wheel.cuda}, and {target.driver_words} does not run that"
    why = f"{wheel.words} brings CUDA {wheel.cuda}{needs}; installed, `torch.cuda.is_available()` would be False."
    return summary, why


def _card_reason(wheel: Wheel, target: Target, tables: Tables) -> tuple[str, str] | None:
    if target.capability is None or wheel.cuda is None:
        return None
    archs = tables.arch_list(wheel.version, wheel.cuda)
    lacking = archs is not None and card.serves(archs, target.capability).status is Status.FAIL
    reason = misfit(wheel.cuda, target.capability, tables)
    if not lacking and reason is None:
        return None
    held = f"; its wheels for CUDA {wheel.cuda} hold {', '.join(archs)}" if archs else ""
    summary = f"torch {wheel.version} for CUDA {wheel.cuda} has no code for {target.card}"
    why = f"Compute capability {dotted(target.capability)} {reason or 'is not in the build'}{held}."
    return summary, why


def _refused(
    wheel: Wheel, reason: tuple[str, str], origins: tuple[Origin, ...], instead: list[Wheel], tables: Tables
) -> Verdict:
    summary, why = reason
    return Verdict(
        "torch-wheel",
        LINK,
        Status.FAIL,
        summary,
        detail=tuple(f"newest that runs here: {_pin(best)} from {_index(best, tables)}" for best in instead[:1]),
        why=why,
        origins=origins,
        changes=_instead(wheel.version, instead, origins, tables),
    )


def _instead(version: Version, wheels: list[Wheel], origins: tuple[Origin, ...], tables: Tables) -> tuple[Change, ...]:
    """The same torch for another CUDA where there is one, else the newest torch that runs; with its index."""
    best = same_release(version, wheels) or (wheels[0] if wheels else None)
    if best is None:
        return (Change("host", ("no torch wheel in the tables runs on this card and driver; install a newer driver",)),)
    origin = origins[0] if origins else None
    return (
        Change("pip-option", (_extra_index(_index(best, tables)),), origin, "torch"),
        Change("pip", (_pin(best),), origin, "torch"),
    )


def _pin(wheel: Wheel) -> str:
    return f"torch=={wheel.version}+{variant_of(wheel.cuda) if wheel.cuda else CPU}"


def _index(wheel: Wheel, tables: Tables) -> str:
    return tables.index_url(variant_of(wheel.cuda) if wheel.cuda else CPU)


def _extra_index(url: str) -> str:
    return f"--extra-index-url {url}"


def _limits(
    wheel: Wheel, cuda: Version, origins: tuple[Origin, ...], target: Target, tables: Tables
) -> tuple[Verdict, ...]:
    """PASS, or WARN where it runs by minor-version compatibility or by translating PTX."""
    fit = fit_driver(cuda, target, tables)
    archs = tables.arch_list(wheel.version, cuda) if target.capability else None
    served = card.serves(archs, target.capability) if archs and target.capability else None
    if fit.status is Status.WARN:
        words = (
            f"CUDA {cuda} of torch {wheel.version} runs on {target.driver_words} by minor-version compatibility only"
        )
        full = f"; everything works from driver {driver_text(fit.full)} on" if fit.full else ""
        why = f"No PTX JIT and no features newer than the driver{full}."
        return (Verdict("torch-wheel", LINK, Status.WARN, words, why=why, origins=origins),)
    if served and served.status is Status.WARN:
        words = f"torch {wheel.version} serves {target.card} through PTX ({served.by}) only"
        why = "The driver translates it at the first start of each kernel, which takes minutes."
        return (Verdict("torch-wheel", LINK, Status.WARN, words, why=why, origins=origins),)
    if fit.status is Status.SKIP:
        words = f"{wheel.words} is for CUDA {cuda}; no driver here to judge it against"
        return (Verdict("torch-wheel", LINK, Status.SKIP, words, origins=origins),)
    return (Verdict("torch-wheel", LINK, Status.PASS, f"{wheel.words}, CUDA {cuda}, runs here", origins=origins),)


def _cpu_wheel(
    wheel: Wheel, origins: tuple[Origin, ...], instead: list[Wheel], target: Target, tables: Tables
) -> Verdict:
    return Verdict(
        "cpu-build",
        LINK,
        Status.FAIL,
        f"{target.label} would get a CPU build of torch",
        detail=(wheel.words,),
        why="A CPU wheel holds no CUDA code; the card would stay idle.",
        origins=origins,
        changes=_instead(wheel.version, instead, origins, tables),
    )


def _cuda_wheel(wheel: Wheel, origins: tuple[Origin, ...], tables: Tables) -> Verdict:
    """A CUDA wheel works on a machine without a card; it only brings gigabytes nobody uses."""
    return Verdict(
        "cuda-build",
        LINK,
        Status.WARN,
        f"the CPU tier gets the CUDA {wheel.cuda} build of torch {wheel.version}: it works, and is larger by gigabytes",
        why=f"{wheel.words} brings the CUDA libraries along.",
        origins=origins,
        changes=(
            Change("pip-option", (_extra_index(tables.index_url(CPU)),), origins[0] if origins else None, "torch"),
            Change("pip", (f"torch=={wheel.version}+{CPU}",), origins[0] if origins else None, "torch"),
        ),
    )
