"""Where and of what a report is: the machine, the versions that decide, and the run itself."""

from __future__ import annotations

from collections import Counter

from conda_llmenv.checks.moments import when
from conda_llmenv.checks.units import duration, number
from conda_llmenv.model import Gpu, HostFacts, Report
from conda_llmenv.page.ladder import pairs, section
from conda_llmenv.page.markup import Markup, element

GIB = 2**30
MIB = 2**20

NOT_READ = "could not be read"


def machine(report: Report) -> Markup:
    """Return the facts of the machine, and what of it could not be read."""
    host = report.host
    limits = (
        ("/dev/shm", NOT_READ if host.shm_bytes is None else size(host.shm_bytes)),  # noqa: S108 - a fact's name
        ("open files", _limit(host.nofile)),
        ("locked memory", _limit(host.memlock, in_bytes=True)),
        ("stack", _limit(host.stack, in_bytes=True)),
    )
    facts = (("host", report.hostname or NOT_READ), *_system(host), *_cards(host), *limits)
    problems = element("ul", *(element("li", problem) for problem in host.problems)) if host.problems else ""
    return section("machine", "Machine", pairs(facts, "facts"), problems)


def _system(host: HostFacts) -> tuple[tuple[str, str], ...]:
    return (
        ("platform", host.subdir),
        ("kernel", host.kernel or NOT_READ),
        ("glibc", host.glibc or NOT_READ),
        ("CPU", f"{host.cpus or '?'} cores, {host.cpu_level or 'level not read'}"),
        ("memory", NOT_READ if host.memory_mib is None else size(host.memory_mib * MIB)),
    )


def _cards(host: HostFacts) -> tuple[tuple[str, str], ...]:
    driver = host.driver or "none"
    cuda = f", runs CUDA up to {host.cuda_max}" if host.cuda_max else ""
    kinds = Counter(map(_card, host.gpus))
    cards = "\n".join(f"{count} × {card}" for card, count in kinds.items()) or "none"
    return (("NVIDIA driver", driver + cuda), ("GPUs", cards))


def _card(gpu: Gpu) -> str:
    facts = [gpu.name]
    if gpu.memory_mib is not None:
        facts.append(size(gpu.memory_mib * MIB))
    if gpu.compute_capability is not None:
        facts.append("compute capability {}.{}".format(*gpu.compute_capability))
    return ", ".join(facts)


def _limit(value: int | None, *, in_bytes: bool = False) -> str:
    if value is None:
        return NOT_READ
    if value < 0:
        return "unlimited"
    return size(value) if in_bytes else f"{value:,}"


def versions(report: Report) -> Markup:
    """Return the versions of what decides whether training works."""
    if not report.versions:
        return Markup()
    return section("versions", "Versions", pairs(report.versions.items(), "facts"))


def run(report: Report) -> Markup:
    """Return what was run, when, on which environment, and by which version of this program."""
    facts = (
        ("environment", report.prefix),
        ("recipe", report.recipe or "none"),
        ("tier", report.tier or "none"),
        ("level", report.level.word + ("" if report.whole else ", only some of its checks")),
        ("world sizes", ", ".join(map(str, report.ranks)) or "none tried"),
        ("started", when(report.started)),
        ("took", duration(report.seconds)),
        ("results reused from", when(report.reused_from)),
        ("not proven", report.unproven),
        ("fingerprint", report.fingerprint),
        ("llmenv", report.llmenv),
    )
    return section("run", "This run", pairs(((name, value) for name, value in facts if value), "facts"))


def size(number_of_bytes: int) -> str:
    """Return bytes in GiB or MiB."""
    if number_of_bytes >= GIB:
        return f"{number(number_of_bytes / GIB)} GiB"
    return f"{number(number_of_bytes / MIB)} MiB"
