"""torch's CUDA against the driver, and its code against each card; a real kernel has the last word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from packaging.version import Version

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.scene import Scene
from conda_llmenv.hardware import Tables, serves
from conda_llmenv.hardware.cuda import Fit, fit_driver
from conda_llmenv.hardware.tables import Capability
from conda_llmenv.hardware.target import Target
from conda_llmenv.hardware.tiers import capability_of, dotted, lowest_card
from conda_llmenv.hardware.versions import driver_text, parse, variant_of
from conda_llmenv.hardware.wheels import alternatives, runnable, same_release
from conda_llmenv.model import Finding, Gpu, HostFacts, Level, Status


def target_here(host: HostFacts, tables: Tables) -> Target:
    """Return this machine as what an environment is judged against: its driver and its oldest card."""
    card = lowest_card(host.gpus, tables) if host.gpus else None
    return Target(
        wants_gpu=bool(host.gpus),
        label="this machine",
        card=card.name if card else "",
        capability=capability_of(card, tables) if card else None,
        assumed=False,
        driver=parse(host.driver),
        cuda=parse(host.cuda_max),
        driver_assumed=False,
        driver_words=f"driver {host.driver}" if host.driver else f"a driver for CUDA {host.cuda_max}",
        origins=(),
    )


def newest_for(driver: Version, tables: Tables) -> Version | None:
    """Return the newest CUDA that a driver runs, with the limits of minor-version compatibility; None for none."""
    known = [cuda for cuda in tables.cuda_versions() if (floor := tables.driver_floor(cuda)) and floor <= driver]
    return max(known, default=None)


def wheel_fix(version: str, scene: Scene) -> str:
    """Return the command that installs the torch that this machine runs: this release if it can be, else the newest."""
    if not scene.host.driver and not scene.host.cuda_max:
        return ""
    target = target_here(scene.host, scene.tables)
    wheels = list(alternatives(target, scene.tables, parse(scene.values("installed").get("python"))))
    wheels.sort(key=lambda one: runnable(one, target, scene.tables) is not Status.PASS)
    newest, wanted = max(wheels, key=lambda one: one.version, default=None), parse(version)
    wheel = (same_release(Version(wanted.public), wheels) if wanted else None) or newest
    if wheel is None or wheel.cuda is None:
        return ""
    url = scene.tables.index_url(variant_of(wheel.cuda))
    return f"{scene.prefix}/bin/python -m pip install --force-reinstall torch=={wheel.version} --index-url {url}"


def driver_cuda(scene: Scene) -> Finding:
    """Judge the driver against torch's CUDA by NVIDIA's tables, then by what torch itself says of it."""
    seen = scene.values("torch-import")
    cuda = parse(seen["cuda"])
    if cuda is None:
        return Finding(Status.SKIP, "torch is not built for CUDA")
    target = target_here(scene.host, scene.tables)
    fit = fit_driver(cuda, target, scene.tables)
    if fit.status is Status.SKIP:
        return Finding(Status.SKIP, f"no driver is known to judge CUDA {cuda} against")
    if fit.status is Status.FAIL:
        return _too_old(cuda, fit, target, scene)
    if not seen["cuda_available"]:
        return _unavailable(cuda, seen, target)
    runs = f"{target.driver_words} runs CUDA {cuda} of torch {seen['version']}"
    if fit.status is Status.WARN:
        return _limited(cuda, fit, target)
    return Finding(Status.PASS, runs, target.driver_words, _least(fit))


def _least(fit: Fit) -> str:
    return f"driver {driver_text(fit.floor)} or newer" if fit.floor else "a driver of the same CUDA major"


def _too_old(cuda: Version, fit: Fit, target: Target, scene: Scene) -> Finding:
    """Below the floor nothing runs, unless NVIDIA's compatibility libraries are there and torch sees the card."""
    driver, seen = target.driver, scene.values("torch-import")
    newest = newest_for(driver, scene.tables) if driver else target.cuda
    full = scene.tables.cuda_of_driver(driver) if driver else None
    limits = f", in full up to {full}" if full and newest and full != newest else ""
    runs = f"it runs CUDA up to {newest}{limits}" if newest else "it runs no CUDA that is known here"
    if seen["cuda_available"]:
        return Finding(
            Status.WARN,
            f"CUDA {cuda} runs on {target.driver_words} by NVIDIA's compatibility libraries only",
            target.driver_words,
            _least(fit),
            f"install {_least(fit)} on this machine",
            (f"by itself {runs}",),
        )
    other = wheel_fix(str(seen["version"]), scene)
    return Finding(
        Status.FAIL,
        f"{target.driver_words} is too old for CUDA {cuda} of torch {seen['version']}: {runs}",
        target.driver_words,
        _least(fit),
        other or f"install {_least(fit)} on this machine",
        (f"or: install {_least(fit)} on this machine", *_said(seen)) if other else _said(seen),
    )


def _said(seen: Mapping[str, Any]) -> tuple[str, ...]:
    return (f"torch says: {seen['cuda_error'].splitlines()[0]}",) if seen["cuda_error"] else ()


def _limited(cuda: Version, fit: Fit, target: Target) -> Finding:
    needed = f"driver {driver_text(fit.full)}" if fit.full else "its toolkit's driver"
    return Finding(
        Status.WARN,
        f"CUDA {cuda} runs on {target.driver_words} by minor-version compatibility: no PTX JIT, new features off",
        target.driver_words,
        f"{needed} or newer for everything, {_least(fit)} at least",
        f"install {needed} or newer, or a torch for CUDA {target.cuda} or older",
    )


REASONS = (
    ("803", "the driver's library and its kernel module differ", "unset LD_LIBRARY_PATH"),
    ("804", "compatibility libraries (cuda-compat) do not work on this card", "unset LD_LIBRARY_PATH"),
    ("802", "the fabric manager of NVSwitch is not running", "sudo systemctl start nvidia-fabricmanager"),
)
"""CUDA's error numbers at start, what they mean, and what to do."""


def _unavailable(cuda: Version, seen: Mapping[str, Any], target: Target) -> Finding:
    """The driver would do, and torch sees no card: hidden by a variable, or refused by CUDA."""
    if seen["visible"] is not None and seen["visible"].strip() in {"", "-1", "NoDevFiles"}:
        text = f"CUDA_VISIBLE_DEVICES={seen['visible']!r} hides every card"
        return Finding(Status.WARN, text, "no card", target.card, "unset CUDA_VISIBLE_DEVICES")
    error = seen["cuda_error"].splitlines()[0] if seen["cuda_error"] else "it gives no reason"
    known = [(why, fix) for number, why, fix in REASONS if f"Error {number}" in error or f"error {number}" in error]
    why, fix = known[0] if known else (error, "nvidia-smi shows whether the driver works at all")
    text = f"torch cannot use {target.card or 'the card'} although {target.driver_words} runs CUDA {cuda}: {why}"
    return Finding(Status.FAIL, text, error, "a usable card", fix)


class Card(Struct, frozen=True):
    """A card as torch sees it; ``failed`` is the error of a real kernel, None where none was tried."""

    name: str
    capability: Capability
    failed: str | None = None


def torch_arch(scene: Scene) -> Finding:
    """Judge torch's code for every card; without torch's own list of them, for those that the driver knows."""
    seen = scene.values("torch-arch")
    if not scene.values("torch-import").get("cuda") and not seen["hip"]:
        return Finding(Status.SKIP, "torch is not built for cards")
    cards = _cards(seen["devices"]) or _known(scene.host.gpus, scene.tables)
    if not cards:
        return Finding(Status.SKIP, "the compute capability of no card is known")
    found = [judge_card(() if seen["hip"] else seen["archs"], card, rocm=bool(seen["hip"])) for card in cards]
    order = (Status.FAIL, Status.WARN, Status.PASS)
    worst = min(found, key=lambda one: order.index(one.status))
    fix = wheel_fix(str(scene.values("torch-import").get("version", "")), scene) if worst.status is Status.FAIL else ""
    others = tuple(dict.fromkeys(one.summary for one in found if one.summary != worst.summary))
    return Finding(worst.status, worst.summary, worst.measured, worst.expected, fix or worst.fix, others)


def _cards(devices: Iterable[Mapping[str, Any]]) -> list[Card]:
    return [Card(one["name"], (one["capability"][0], one["capability"][1]), one["failed"]) for one in devices]


def _known(gpus: Iterable[Gpu], tables: Tables) -> list[Card]:
    return [Card(gpu.name, found) for gpu in gpus if (found := capability_of(gpu, tables))]


def judge_card(archs: Sequence[str], card: Card, *, rocm: bool = False) -> Finding:
    """Judge what a build holds for one card: machine code passes, PTX warns; a real kernel outweighs both."""
    name = f"{card.name} ({dotted(card.capability)})"
    measured = " ".join(archs) or "no list"
    expected = f"sm_{card.capability[0]}{card.capability[1]}, an older minor of it, or PTX"
    if card.failed:
        why = f"torch holds no code for {name}" if "no kernel image" in card.failed else f"a kernel fails on {name}"
        return Finding(Status.FAIL, f"{why}: {card.failed}", measured, expected)
    served = serves(archs, card.capability)
    if rocm or served.status is Status.PASS:
        by = f" through {served.by}" if served.by else ""
        return Finding(Status.PASS, f"{name} is served{by}", measured, expected)
    if served.status is Status.WARN:
        text = f"{name} is served by PTX only ({served.by}): the driver compiles every kernel at first use"
        return Finding(Status.WARN, text, measured, expected, "use a build with machine code for the card")
    if card.failed == "":
        text = f"a kernel ran on {name}, which torch's list of code does not name"
        return Finding(Status.WARN, text, measured, expected)
    return Finding(Status.FAIL, f"torch holds no code for {name}: no kernel image is available", measured, expected)


CHECKS = (
    Check(
        "driver-cuda",
        "the driver runs torch's CUDA",
        "runtime",
        Level.QUICK,
        driver_cuda,
        probe="runtime",
        reads="torch-import",
        needs=("torch-import",),
        gpu=True,
        torch=True,
    ),
    Check(
        "torch-arch",
        "torch holds code for each card",
        "runtime",
        Level.QUICK,
        torch_arch,
        fix="install a torch that is built for this card",
        probe="runtime",
        needs=("torch-import",),
        timeout=90.0,
        gpu=True,
        torch=True,
    ),
)
