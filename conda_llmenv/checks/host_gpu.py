"""Judges how many cards a program sees, whether they are healthy, and what slows them down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conda_llmenv.checks.check import Check
from conda_llmenv.checks.host_amounts import whole
from conda_llmenv.checks.host_driver import (
    HAND_IN,
    NO_CARDS_HANDED_IN,
    NO_DRIVER,
    has_driver,
    is_closed_container,
    is_told,
)
from conda_llmenv.checks.scene import Scene
from conda_llmenv.checks.units import counted
from conda_llmenv.model import Finding, Level, Status

Card = Mapping[str, str]


def _gpu_count(scene: Scene) -> Finding:
    seen = scene.values("gpu-count")
    cards = len(scene.host.gpus) or int(seen.get("listed") or 0)
    promised = whole(scene.settings.get("gpus"))
    expected = promised if promised is not None else int(scene.cuda_tier)
    if not cards:
        return _without_cards(scene, seen, promised)
    shown = (seen.get("variables") or {}).get("CUDA_VISIBLE_DEVICES")
    visible = cards if shown is None else visible_devices(str(shown), cards)
    words = f"{visible} of {cards} cards visible" if visible != cards else counted(cards, "card")
    wanted = f"{expected} or more" if expected else ""
    detail = (*_modes(seen), *scene.host.problems)
    if shown is not None:
        detail = (f"CUDA_VISIBLE_DEVICES={shown}", *detail)
    if visible < expected:
        reason = f": CUDA_VISIBLE_DEVICES={shown} hides the others" if visible < cards else ""
        fix = "unset CUDA_VISIBLE_DEVICES" if visible < cards else "nvidia-smi -L; sudo dmesg | grep -i xid"
        return Finding(Status.FAIL, f"{words}, {expected} expected{reason}", str(visible), wanted, fix, detail)
    if "Prohibited" in (seen.get("modes") or {}).get("compute_mode", ()):
        words = "a card is in compute mode Prohibited: no program may use it"
        return Finding(Status.FAIL, words, "Prohibited", "Default", "sudo nvidia-smi -c DEFAULT", detail)
    if _unsliced(scene, seen):
        words = "a card is in MIG mode and has no slice: no program can use it"
        return Finding(Status.FAIL, words, "MIG without a slice", "a slice", "sudo nvidia-smi mig -cgi 0 -C", detail)
    if not visible and not _without_gpu_tier(scene):
        words = f"CUDA_VISIBLE_DEVICES={shown} hides every card"
        return Finding(Status.WARN, words, "0", str(cards), "unset CUDA_VISIBLE_DEVICES", detail)
    return Finding(Status.PASS, words, str(visible), wanted, detail=detail)


def _without_gpu_tier(scene: Scene) -> bool:
    return scene.tier is not None and not scene.cuda_tier


def _without_cards(scene: Scene, seen: Mapping[str, Any], promised: int | None) -> Finding:
    problem = seen.get("problem") or ""
    detail = tuple(dict.fromkeys((*scene.host.problems, *filter(None, (problem,)))))
    if promised:
        words = f"no card answers, {promised} expected"
        return Finding(Status.FAIL, words, "0", str(promised), "nvidia-smi -L", detail)
    if not has_driver(scene, seen):
        return Finding(Status.SKIP, "no NVIDIA card here", detail=detail)
    if is_closed_container(scene, seen):
        return Finding(Status.SKIP, NO_CARDS_HANDED_IN, fix=HAND_IN, detail=detail)
    count = len(seen.get("devices") or ())
    words = f"the NVIDIA driver has {counted(count, 'card')}, and none answers" + (f": {problem}" if problem else "")
    return Finding(Status.FAIL, words, "0", str(count), "nvidia-smi -L; sudo dmesg | grep -i xid", detail)


def visible_devices(shown: str, cards: int) -> int:
    """Return how many of ``cards`` CUDA_VISIBLE_DEVICES lets through.

    Numbers and identifiers (``GPU-…``, ``MIG-…``); what stands behind the first number that is no card is not seen, and
    a number that comes twice makes CUDA see none (CUDA programming guide, "Environment variables").
    """
    words = [word.strip() for word in shown.split(",")]
    good: list[str] = []
    for word in words:
        named = word.startswith(("GPU-", "MIG-"))
        if not named and not (word.isdigit() and int(word) < cards):
            break
        good.append(word)
    return 0 if len(set(good)) < len(good) else len(good)


def _modes(seen: Mapping[str, Any]) -> tuple[str, ...]:
    modes: Mapping[str, Sequence[str]] = seen.get("modes") or {}
    lines = []
    if "Enabled" in modes.get("mig.mode.current", ()):
        lines.append("MIG is on: a process sees one slice, and NCCL between slices of one card does not run")
    if any(mode.startswith("Exclusive") for mode in modes.get("compute_mode", ())):
        lines.append("compute mode Exclusive_Process: one process a card")
    return tuple(lines)


def _unsliced(scene: Scene, seen: Mapping[str, Any]) -> bool:
    modes = (seen.get("modes") or {}).get("mig.mode.current", ())
    sliced = any("MIG slice" in gpu.name for gpu in scene.host.gpus)
    return bool(modes) and all(mode == "Enabled" for mode in modes) and bool(scene.host.gpus) and not sliced


_ECC = "ecc.errors.uncorrected.volatile.total"

_FAULTS: tuple[tuple[str, str, str], ...] = (
    (_ECC, "{value} uncorrectable memory errors since the driver was loaded", "sudo nvidia-smi -r -i {index}"),
    ("remapped_rows.failure", "a memory row that could not be remapped", "have card {index} replaced"),
    ("remapped_rows.pending", "a memory row that waits to be remapped", "sudo nvidia-smi -r -i {index}"),
    ("retired_pages.pending", "a memory page that waits to be retired", "sudo nvidia-smi -r -i {index}"),
)
"""Field, what it means where it is neither zero nor ``No``, and what to do. Corrected errors and aggregate counters are
no faults: they never go back to zero."""

_LOST = ("requires reset", "is lost", "unable to determine the device handle", "fallen off the bus")


def _gpu_health(scene: Scene) -> Finding:
    seen = scene.values("gpu-health")
    cards: Sequence[Card] = seen.get("cards") or ()
    problem = str(seen.get("problem") or "")
    lost = next((text for text in (problem, *_cells(cards)) if any(word in text.lower() for word in _LOST)), "")
    if lost:
        words = f"a card has to be reset: {lost}"
        return Finding(Status.FAIL, words, "lost", "every card answers", "sudo nvidia-smi -r        (or: sudo reboot)")
    if not cards:
        return _unasked(scene, seen, problem, "the health of the cards")
    faults = [(card, *fault) for card in cards for fault in _FAULTS if _is_set(card.get(fault[0], ""))]
    detail = (*(_state(card) for card in cards), *((problem,) if problem else ()))
    if faults:
        card, field, words, fix = faults[0]
        fields = {"value": card[field], "index": card.get("index", "0")}
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        summary = f"card {fields['index']} has {words.format(**fields)}{more}"
        return Finding(Status.FAIL, summary, f"{field}={card[field]}", "0", fix.format(**fields), detail)
    if problem:
        return Finding(Status.WARN, f"nvidia-smi does not answer for every card: {problem}", detail=detail)
    counting = [card for card in cards if is_told(card.get(_ECC, ""))]
    words = "no memory errors" if counting else "they answer, and have no error-correcting memory to ask"
    return Finding(
        Status.PASS,
        f"{counted(len(cards), 'card')}: {words}",
        f"{len(counting)} of {len(cards)} count errors",
        "0",
        detail=detail,
    )


def _cells(cards: Sequence[Card]) -> list[str]:
    return [cell for card in cards for cell in card.values()]


def _unasked(scene: Scene, seen: Mapping[str, Any], problem: str, what: str) -> Finding:
    if not has_driver(scene, seen) or is_closed_container(scene, seen):
        words = NO_CARDS_HANDED_IN if seen.get("module") else NO_DRIVER
        return Finding(Status.SKIP, words, detail=(problem,) if problem else ())
    if problem and "not installed" not in problem:
        return Finding(Status.ERROR, f"{what} could not be read: {problem}", fix="nvidia-smi; sudo dmesg | grep -i xid")
    return Finding(Status.SKIP, f"{what} could not be read: {problem or 'it was not recorded'}")


def _is_set(text: str) -> bool:
    return text.lower() in {"yes", "true"} or (text.isdigit() and int(text) > 0)


def _state(card: Card) -> str:
    names = (("ecc.mode.current", "ECC"), ("persistence_mode", "persistence"), ("mig.mode.current", "MIG"))
    words = [f"{title} {card[name]}" for name, title in names if is_told(card.get(name, ""))]
    return f"card {card.get('index', '?')} {card.get('name', '')}: {', '.join(words) or 'nothing more is told'}"


_SLOWED = (
    (0x40, "is too hot and slowed down by its hardware", Status.FAIL),
    (0x80, "is slowed down by the power brake of the machine", Status.FAIL),
    (0x8, "is slowed down by its hardware (heat or power)", Status.FAIL),
    (0x20, "is warm and slowed down by the driver", Status.WARN),
)
"""Bits of nvmlClocksEventReasons that mean trouble, the most telling first. Idle (0x1), application clocks (0x2), the
power cap (0x4) and sync boost (0x10) are normal."""

_IDLE = 0x1


def _gpu_throttle(scene: Scene) -> Finding:
    seen = scene.values("gpu-health")
    cards: Sequence[Card] = seen.get("cards") or ()
    if not cards:
        return _unasked(scene, seen, str(seen.get("problem") or ""), "what slows the cards")
    masks = [(card, _bits(card.get("clocks_throttle_reasons.active", ""))) for card in cards]
    detail = tuple(filter(None, (_link(card) for card in cards)))
    for bit, words, status in _SLOWED:
        for card, bits in masks:
            if bits is not None and bits & bit:
                return Finding(
                    status, f"card {card.get('index', '?')} {words}", hex(bits), "no slowdown", detail=detail
                )
    narrow = [card for card, bits in masks if bits is not None and not bits & _IDLE and _is_narrow(card)]
    if narrow:
        card = narrow[0]
        now, most = card["pcie.link.width.current"], card["pcie.link.width.max"]
        words = f"card {card.get('index', '?')} uses {now} of its {most} PCIe lanes"
        return Finding(Status.WARN, words, f"x{now}", f"x{most}", "reseat the card or its riser", detail)
    if all(bits is None for _, bits in masks):
        return Finding(Status.SKIP, "the cards do not tell what slows them", detail=detail)
    return Finding(Status.PASS, f"{counted(len(cards), 'card')}, none slowed down", detail=detail)


def _bits(text: str) -> int | None:
    try:
        return int(text, 16)
    except ValueError:
        return None


def _is_narrow(card: Card) -> bool:
    now, most = (whole(card.get(f"pcie.link.width.{name}")) for name in ("current", "max"))
    return now is not None and most is not None and now < most


def _link(card: Card) -> str:
    """PCIe as it is now: an idle card goes down to generation 1, which is no fault."""
    names = ("pcie.link.gen.current", "pcie.link.gen.max", "pcie.link.width.current", "pcie.link.width.max")
    if not all(is_told(card.get(name, "")) for name in names):
        return ""
    gen, most_gen, width, most_width = (card[name] for name in names)
    return f"card {card.get('index', '?')}: PCIe generation {gen} of {most_gen}, x{width} of x{most_width}, now"


def _check(name: str, title: str, judge: Callable[[Scene], Finding], fix: str, **more: Any) -> Check:
    return Check(id=name, title=title, group="host", judge=judge, fix=fix, probe="machine", **more)


CHECKS = (
    _check("gpu-count", "a program sees every card", _gpu_count, "nvidia-smi -L", level=Level.QUICK, timeout=45),
    _check("gpu-health", "no card has memory errors", _gpu_health, "nvidia-smi -q -d ECC", level=Level.QUICK, gpu=True),
    _check(
        "gpu-throttle",
        "nothing slows the cards down",
        _gpu_throttle,
        "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER",
        level=Level.FULL,
        reads="gpu-health",
        gpu=True,
    ),
)
"""In the order of the ladder."""
