"""Model libraries in a training step: a loss that falls, or the real error with what it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conda_llmenv.checks.causes import known_fix
from conda_llmenv.checks.limits import FLASH
from conda_llmenv.checks.runtime_import import cause_of
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Status

DISTRIBUTIONS = {"flash_attn": "flash-attn"}
"""Names on the package index where they are not those of the modules."""

COMPILED = ("flash_attn", "deepspeed")
"""What is compiled against torch, and rebuilt where it does not fit."""

Seen = Mapping[str, Any]


def model_step(scene: Scene) -> Finding:
    """Judge the steps of every library; one sentence for the first that fails, a line for each."""
    libraries: dict[str, Seen] = {}
    for observation in scene.every("model-step"):
        libraries.update(observation.values.get("libraries", {}))
    if not libraries:
        return Finding(
            Status.SKIP, "no model library is installed: transformers, peft, accelerate, deepspeed, flash-attn"
        )
    problems = {library: wrong for library, seen in libraries.items() if (wrong := _wrong(scene, library, seen))}
    if problems:
        first, *others = problems.values()
        lines = tuple(line for one in others for line in (one.summary, *(f"  {detail}" for detail in one.detail[:3])))
        good = tuple(_line(library, seen) for library, seen in libraries.items() if library not in problems)
        return Finding(
            Status.FAIL, first.summary, first.measured, first.expected, first.fix, (*first.detail, *lines, *good)
        )
    tried = [library for library, seen in libraries.items() if "unsupported" not in seen]
    lines = tuple(_line(library, seen) for library, seen in libraries.items())
    if not tried:
        return Finding(Status.SKIP, f"{', '.join(libraries)} can be imported; their kernels need a card", detail=lines)
    named = ", ".join(_named(library, libraries[library]) for library in tried)
    return Finding(
        Status.PASS, f"training steps with {named} lower the loss", f"{len(tried)} of {len(tried)}", detail=lines
    )


def _wrong(scene: Scene, library: str, seen: Seen) -> Finding | None:
    """Return what is wrong with one library, None for nothing."""
    if "error" in seen:
        return _raised(scene, library, seen)
    for what, measured, expected in _numbers(seen):
        summary = f"training steps with {_named(library, seen)} {what}"
        return Finding(Status.FAIL, summary, measured, expected, _anew(scene, library))
    return None


def _raised(scene: Scene, library: str, seen: Seen) -> Finding:
    """An exception or the end of the process; symbols of torch's that are missing mean another torch at build time."""
    error = str(seen["error"])
    lines = [line for line in error.splitlines() if line.strip()] or ["an error without a text"]
    told = tuple(str(line) for line in (*seen.get("trace", ()), *seen.get("tail", ())))
    known = cause_of("\n".join((error, *told)))
    means, fix = f"{lines[0]}", known_fix((*lines, *told)) or _anew(scene, library)
    if known and known[0].means.startswith("ABI mismatch"):
        means = f"ABI mismatch, rebuild it for the torch that is installed: {lines[0]}"
        fix = _rebuild(scene, library, seen)
    elif known:
        means, fix = f"{known[0].means}: {lines[0]}", known[0].fix.format(prefix=scene.prefix, found=known[1])
    return Finding(
        Status.FAIL,
        f"no training step with {_named(library, seen)}: {means}",
        measured=lines[0],
        expected="a training step",
        fix=fix,
        detail=told[-8:],
    )


def _numbers(seen: Seen) -> Iterator[tuple[str, str, str]]:
    """Yield what the numbers of a library show to be wrong: what, measured, expected."""
    for name in ("output_error", "gradient_error"):
        if name in seen and not seen[name] <= FLASH:
            yield f"give a wrong {name.partition('_')[0]}", f"relative error {seen[name]:.1e}", f"≤ {FLASH:.0e}"
    if "losses" not in seen:
        return
    losses = seen["losses"]
    if losses is None or not seen["finite"]:
        yield "give losses or gradients that are not finite", "NaN or infinity", "finite numbers"
    elif not losses[-1] < losses[0]:
        yield "do not lower the loss", f"{losses[0]:.4f} → {losses[-1]:.4f}", "a loss that falls"
    if seen.get("changed"):
        yield "change weights that are frozen", f"{seen['changed']} frozen tensors changed", "only adapters change"


def _line(library: str, seen: Seen) -> str:
    if "unsupported" in seen:
        return f"{_named(library, seen)}: {seen['unsupported']}"
    if "losses" in seen:
        return f"{_named(library, seen)} on {seen['device']}: loss {seen['losses'][0]:.4f} → {seen['losses'][-1]:.4f}"
    return f"{_named(library, seen)} on {seen['device']}: relative error {seen['output_error']:.1e}"


def _named(library: str, seen: Seen) -> str:
    return f"{DISTRIBUTIONS.get(library, library)} {seen.get('version', '')}".strip()


def _pinned(library: str, seen: Seen) -> str:
    version = seen.get("version")
    return DISTRIBUTIONS.get(library, library) + (f"=={version}" if version else "")


def _rebuild(scene: Scene, library: str, seen: Seen) -> str:
    options = "--force-reinstall --no-deps --no-cache-dir --no-build-isolation"
    return f"{scene.prefix}/bin/python -m pip install {options} {_pinned(library, seen)}"


def _anew(scene: Scene, library: str) -> str:
    python = f"{scene.prefix}/bin/python"
    return f"{python} -m pip check names what does not fit; `{python} -I -c 'import {library}'` shows the whole error"
