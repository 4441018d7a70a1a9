"""The second link: the driver, and the CUDA versions it runs (minor-version compatibility included)."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from conda_llmenv.hardware.asked import CudaAsk
from conda_llmenv.hardware.cuda import ChosenCuda, Fit, fit_driver, limit_cuda, replacements, usable
from conda_llmenv.hardware.tables import Tables
from conda_llmenv.hardware.target import Target
from conda_llmenv.hardware.torch_series import asked_words, has_build, newest_built_for, oldest_major
from conda_llmenv.hardware.versions import driver_text, permits
from conda_llmenv.model import Change, EnvSpec, Origin, Status, Verdict

LINK = "driver"


def check_tier_driver(spec: EnvSpec, target: Target) -> tuple[Verdict, ...]:
    """Judge the driver against what the tier itself asks for (``driver: ">=525.60.13"``)."""
    if spec.driver is None or target.driver is None:
        return ()
    if permits(spec.driver.value, [str(target.driver)]) is not False:
        return (
            Verdict("tier-driver", LINK, Status.PASS, f"driver {driver_text(target.driver)} is {spec.driver.value}"),
        )
    return (
        Verdict(
            "tier-driver",
            LINK,
            Status.FAIL,
            f"{target.label} asks for driver {spec.driver.value}, and this machine has {driver_text(target.driver)}",
            why=f"It runs CUDA up to {target.cuda}." if target.cuda else "",
            origins=(spec.driver.origin,),
            changes=(
                Change("host", (f"install a driver that is {spec.driver.value}, or choose a tier for this one",)),
            ),
        ),
    )


def check_asks(asks: Sequence[CudaAsk], spec: EnvSpec, target: Target, tables: Tables) -> tuple[Verdict, ...]:
    """Judge what the specs leave of CUDA against the driver: even the oldest permitted one has to run."""
    if target.wants_gpu is False or not asks:
        return ()
    fits = [(ask, fit_driver(min(ask.allowed), target, tables)) for ask in asks]
    wrong = [ask for ask, fit in fits if fit.status is Status.FAIL]
    if not wrong:
        return ()
    cuda = min(wrong[0].allowed)
    fit = fit_driver(cuda, target, tables)
    return (
        Verdict(
            "driver-floor",
            LINK,
            Status.FAIL,
            f"{wrong[0].text} needs CUDA {cuda}, which {target.driver_words} does not run",
            detail=tuple(f"asked for by {ask.where}" for ask in wrong),
            why=f"{_why_floor(cuda, fit)}{_why_framework(spec, target, tables)}",
            origins=tuple(dict.fromkeys(origin for ask in wrong for origin in ask.origins)),
            changes=replacements(wrong, spec, target, tables) or _ways_out(fit, spec, target, tables),
        ),
    )


def check_chosen(chosen: ChosenCuda, spec: EnvSpec, target: Target, tables: Tables) -> tuple[Verdict, ...]:
    """Judge the CUDA that a solver chose against the driver."""
    if target.wants_gpu is False:
        return ()
    cuda, fit = chosen.cuda, fit_driver(chosen.cuda, target, tables)
    if fit.status is Status.FAIL:
        summary = f"{chosen.words} is built for CUDA {cuda}, which {target.driver_words} does not run"
        changes = limit_cuda(spec, target, tables) or _ways_out(fit, spec, target, tables)
        why = f"{_why_floor(cuda, fit)}{_why_framework(spec, target, tables)}"
        return (Verdict("driver-floor", LINK, fit.status, summary, why=why, origins=chosen.origins, changes=changes),)
    if fit.status is Status.WARN:
        return (_limited(cuda, target, fit, chosen.origins),)
    if fit.status is Status.SKIP:
        return (Verdict("driver-floor", LINK, fit.status, f"CUDA {cuda} chosen; no driver here to judge it against"),)
    if target.driver_assumed and fit.full:
        words = (
            f"CUDA {cuda} needs driver {_least(fit, target, tables)} or newer; {driver_text(fit.full)} for everything"
        )
        return (Verdict("driver-floor", LINK, fit.status, words),)
    return (Verdict("driver-floor", LINK, fit.status, f"{target.driver_words} runs CUDA {cuda}"),)


def _least(fit: Fit, target: Target, tables: Tables) -> str:
    """The oldest driver that will do: that of the CUDA major, or of the first CUDA that knows the card."""
    first = tables.first_cuda_for(target.capability) if target.capability else None
    known = [driver for driver in (fit.floor, tables.toolkit_driver(first) if first else None) if driver]
    return driver_text(max(known)) if known else "of its major"


def _limited(cuda: Version, target: Target, fit: Fit, origins: tuple[Origin, ...]) -> Verdict:
    return Verdict(
        "driver-minor",
        LINK,
        Status.WARN,
        f"CUDA {cuda} runs on {target.driver_words} by minor-version compatibility only: no PTX JIT, new features off",
        why=f"Everything works from driver {driver_text(fit.full)} on." if fit.full else "",
        origins=origins,
        changes=_newer_driver(Fit(fit.status, fit.full, fit.full)),
    )


def _why_floor(cuda: Version, fit: Fit) -> str:
    if fit.floor is None:
        return "Drivers run their own CUDA major and older ones, never a newer major."
    return f"CUDA {cuda.major}.x needs driver {driver_text(fit.floor)} or newer; a driver never runs a newer major."


def _without_framework(spec: EnvSpec, target: Target, tables: Tables) -> bool:
    """Whether the specs leave no pytorch that was built for a CUDA the target can use."""
    return not any(has_build(spec, cuda, tables) for cuda in usable(target, tables))


def _why_framework(spec: EnvSpec, target: Target, tables: Tables) -> str:
    major = oldest_major(spec, tables)
    if major is None or not _without_framework(spec, target, tables):
        return ""
    return f" {asked_words(spec)} is built for CUDA {major} and newer only: an older CUDA has no such pytorch."


def _ways_out(fit: Fit, spec: EnvSpec, target: Target, tables: Tables) -> tuple[Change, ...]:
    """A newer driver; or an older framework, where it is what needs the newer CUDA."""
    known = usable(target, tables)
    older = newest_built_for(known[-1], spec, tables) if known and _without_framework(spec, target, tables) else None
    if older is None or fit.floor is None:
        return _newer_driver(fit)
    words = (
        f"install driver {driver_text(fit.floor)} or newer, "
        f"or ask for pytorch {older} or older: the newest built for CUDA {known[-1]}"
    )
    return (Change("host", (words,)),)


def _newer_driver(fit: Fit) -> tuple[Change, ...]:
    return (Change("host", (f"install driver {driver_text(fit.floor)} or newer",)),) if fit.floor else ()
