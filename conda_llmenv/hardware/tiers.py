"""Which tier a machine belongs to, with the reason as a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from conda_llmenv.hardware.tables import Capability, Tables, capability, has_words, load_tables
from conda_llmenv.model import Fragment, Gpu, GpuMatch, HostFacts, TierChoice

CPU = "cpu"


def is_gpu_tier(tier: Fragment) -> bool:
    """Return whether a tier is about cards; one without a ``gpu`` mapping is a CPU tier."""
    return tier.gpu is not None and tier.gpu != GpuMatch()


def choose_tier(facts: HostFacts, tiers: Sequence[Fragment], tables: Tables | None = None) -> TierChoice:
    """Return the tier for this machine: by the card's name, then its memory, then its compute capability.

    With several kinds of card the one of lowest capability decides, as for ``__cuda_arch`` (CEP 46): what runs on it
    runs on the others too. Without a card the answer is the CPU tier, and where no tier fits, the nearest one.
    """
    tables = tables or load_tables()
    candidates = [tier for tier in tiers if is_gpu_tier(tier)]
    if not facts.gpus or not candidates:
        return TierChoice(_cpu_tier(tiers), _why_cpu(facts))
    card = lowest_card(facts.gpus, tables)
    tier, reason = _for_card(card, candidates, tables)
    return TierChoice(tier.name, f"{reason}{_mixed(facts.gpus, card, tables)}", gpu_count=len(facts.gpus))


def lowest_card(gpus: Sequence[Gpu], tables: Tables) -> Gpu:
    """Return the card of lowest compute capability, the smallest of them; an unknown one counts as newest."""
    return min(gpus, key=lambda gpu: (capability_of(gpu, tables) or (99, 0), gpu.memory_mib or 0))


def capability_of(gpu: Gpu, tables: Tables) -> Capability | None:
    """Return a card's compute capability as the driver told it, or as its name tells."""
    return gpu.compute_capability or tables.capability_of(gpu.name)


def tier_capability(tier: Fragment, tables: Tables) -> Capability | None:
    """Return the compute capability a tier is for: as written, or that of the first card it names."""
    if tier.gpu is None:
        return None
    if tier.gpu.compute_capability:
        return capability(tier.gpu.compute_capability)
    return next((found for words in tier.gpu.match if (found := tables.capability_of(words))), None)


def fits_tier(gpu: Gpu, tier: Fragment, tables: Tables) -> bool:
    """Return whether a card is one that a tier is for, by name or else by compute capability; memory plays no part."""
    if tier.gpu is None:
        return False
    if any(has_words(gpu.name, words) for words in tier.gpu.match):
        return True
    return capability_of(gpu, tables) == tier_capability(tier, tables)


def _for_card(card: Gpu, tiers: Sequence[Fragment], tables: Tables) -> tuple[Fragment, str]:
    named = _by_name(card.name, tiers)
    fitting = [tier for tier in named if _memory_distance(card, tier) == 0]
    if fitting:
        tier = _narrowest(fitting)
        return tier, f"{described(card)} is a card of tier {tier.name}"
    if named:
        tier = min(named, key=lambda tier: _memory_distance(card, tier))
        return tier, f"{described(card)} is named by tier {tier.name}, the nearest by memory"
    return _by_capability(card, tiers, tables)


def _by_name(name: str, tiers: Sequence[Fragment]) -> list[Fragment]:
    """Whole words first (``A10`` must not take an A100), then plain substrings (``RTX 50`` takes an RTX 5090)."""
    whole = [tier for tier in tiers if any(has_words(name, words) for words in _words(tier))]
    return whole or [tier for tier in tiers if _named(name, tier)]


def _by_capability(card: Gpu, tiers: Sequence[Fragment], tables: Tables) -> tuple[Fragment, str]:
    wanted = capability_of(card, tables)
    known = [(found, tier) for tier in tiers if (found := tier_capability(tier, tables))]
    if wanted is None or not known:
        tier = known[0][1] if known else tiers[0]
        return tier, f"no tier names {described(card)} and its compute capability is unknown; {tier.name} is a guess"
    equal = [tier for found, tier in known if found == wanted]
    if equal:
        tier = min(equal, key=lambda tier: _memory_distance(card, tier))
        return tier, f"no tier names {described(card)}; {tier.name} has its compute capability {dotted(wanted)}"
    below = [pair for pair in known if pair[0] < wanted]
    found, tier = max(below, key=lambda pair: pair[0]) if below else min(known, key=lambda pair: pair[0])
    return tier, (
        f"no tier is written for {described(card)} with compute capability {dotted(wanted)}; "
        f"{tier.name} ({dotted(found)}) is the nearest"
    )


def described(card: Gpu) -> str:
    """Return a card's name with its memory in GiB, where known."""
    return card.name if card.memory_mib is None else f"{card.name} ({card.memory_mib / 1024:.0f} GiB)"


def dotted(found: Capability) -> str:
    """Return ``8.0`` for ``(8, 0)``."""
    return f"{found[0]}.{found[1]}"


def _words(tier: Fragment) -> tuple[str, ...]:
    return tier.gpu.match if tier.gpu else ()


def _named(name: str, tier: Fragment) -> bool:
    return any(words.lower() in name.lower() for words in _words(tier))


def _memory_distance(card: Gpu, tier: Fragment) -> int:
    """MiB by which a card lies outside a tier's bounds; 0 inside, or where either is unknown."""
    if card.memory_mib is None or tier.gpu is None:
        return 0
    low, high = tier.gpu.min_memory_mib, tier.gpu.max_memory_mib
    return max((low or 0) - card.memory_mib, 0) + (max(card.memory_mib - high, 0) if high is not None else 0)


def _narrowest(tiers: Sequence[Fragment]) -> Fragment:
    """The tier that says most about memory: with two that fit, the one with bounds was written for this card."""
    return max(tiers, key=lambda tier: sum(bound is not None for bound in _bounds(tier)))


def _bounds(tier: Fragment) -> tuple[int | None, ...]:
    return (tier.gpu.min_memory_mib, tier.gpu.max_memory_mib) if tier.gpu else ()


def _cpu_tier(tiers: Sequence[Fragment]) -> str:
    plain = [tier.name for tier in tiers if not is_gpu_tier(tier)]
    return CPU if CPU in plain or not plain else plain[0]


def _why_cpu(facts: HostFacts) -> str:
    if facts.gpus:
        return f"no tier for cards is known, although this machine has {described(facts.gpus[0])}"
    if facts.driver:
        return f"driver {facts.driver} is here but no card is visible"
    return facts.problems[0] if facts.problems else "no NVIDIA driver and no card here"


def _mixed(gpus: Sequence[Gpu], card: Gpu, tables: Tables) -> str:
    kinds = {(gpu.name, capability_of(gpu, tables)) for gpu in gpus}
    if len(kinds) == 1:
        return f", {len(gpus)} of them" if len(gpus) > 1 else ""
    others = ", ".join(sorted({gpu.name for gpu in gpus} - {card.name}))
    return f"; mixed cards, so the one of lowest compute capability decides (also here: {others})"
