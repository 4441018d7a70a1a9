"""``llmenv kernel test``: start a kernel as Jupyter does, and see whether it is what it should be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from conda_llmenv.cli import console
from conda_llmenv.cli.options import complete_kernels, json_option

if TYPE_CHECKING:
    from conda_llmenv.model import CheckResult, ProbeEnd, ProbeRun
    from conda_llmenv.model.kernels import Kernelspec
    from conda_llmenv.pipeline.kernel_tools import KernelTools


@click.command()
@click.argument("name", metavar="KERNEL", shell_complete=complete_kernels)
@json_option
def test(name: str, *, as_json: bool) -> int:
    """Start a kernel as Jupyter does, and see whether it is what it should be.

    It is started through its kernelspec, asked for its prefix and its variables, made to import what the recipe
    promises, interrupted in a loop, and shut down. Exit codes: 0 all is well, 1 something is not, 3 it could not be
    tried.
    """
    from conda_llmenv.cli.kernel_tools import kernel_tools, spec_json
    from conda_llmenv.cli.verified import result_json
    from conda_llmenv.cli.wiring import signals_as_exceptions
    from conda_llmenv.pipeline.kernel_test import Trial, hiding, try_kernel
    from conda_llmenv.pipeline.kernels import select

    tools = kernel_tools()
    (spec,) = select([name], tools)
    trial = Trial(spec, _client(spec, tools), _modules(spec), _python_variables(), hiding(spec, tools))
    with signals_as_exceptions():
        results = try_kernel(trial, _probe)
    code = _code(results)
    if as_json:
        checks = [result_json(result) for result in results]
        console.payload("kernel test", {**spec_json(spec), "checks": checks}, ok=code == 0)
    else:
        _say(spec, results)
    return code


def _probe(prefix: Path, run: ProbeRun, /) -> ProbeEnd:
    from conda_llmenv.probes.running import run_probe

    return run_probe(prefix, run, os.environ)


def _python_variables() -> dict[str, str]:
    """Return Python's own variables, which a probe does not see and a kernel does."""
    from conda_llmenv.probes.running import PYTHON_VARIABLES

    names = (*PYTHON_VARIABLES, "PYTHONNOUSERSITE", "PYTHONSAFEPATH", "PYTHONDONTWRITEBYTECODE")
    return {name: os.environ[name] for name in names if name in os.environ}


def _client(spec: Kernelspec, tools: KernelTools) -> Path:
    """Return the environment whose jupyter_client starts a kernel: its own, or the first that has one.

    Raises:
        InputError: it cannot be started from here.
    """
    from conda_llmenv.errors import InputError

    if spec.problem:
        raise InputError(f"{spec.folder} cannot be started: {spec.problem}", hint="remove it or register it again")
    if spec.host:
        raise InputError(
            f"{spec.name} runs on {spec.host}", hint="a Jupyter server with conda-llmenv beside it starts it"
        )
    if spec.prefix is not None and tools.look(spec.prefix).ipykernel is not None:
        return spec.prefix
    if spec.ours:
        raise InputError(
            f"{spec.name} cannot start: there is no ipykernel in {spec.prefix}",
            hint=f"llmenv kernel repair {spec.name}",
        )
    for prefix in tools.environments():
        if tools.look(prefix).ipykernel is not None:
            return prefix
    raise InputError("no environment here has a jupyter_client to start it with", hint="install ipykernel in one")


def _modules(spec: Kernelspec) -> tuple[str, ...]:
    from conda_llmenv.cli.verifying import subject_of
    from conda_llmenv.errors import LlmenvError

    try:
        return subject_of(spec.prefix).modules if spec.ours and spec.prefix else ()
    except LlmenvError:
        return ()


def _code(results: tuple[CheckResult, ...]) -> int:
    from conda_llmenv.checks.verdict import COULD_NOT_RUN
    from conda_llmenv.model import Status

    statuses = {result.status for result in results}
    return 1 if Status.FAIL in statuses else COULD_NOT_RUN if Status.ERROR in statuses else 0


def _say(spec: Kernelspec, results: tuple[CheckResult, ...]) -> None:
    from conda_llmenv.checks.verdict import worst_first
    from conda_llmenv.cli.verified import check_line, result_lines
    from conda_llmenv.model import Status

    for number, result in enumerate(results):
        console.fact("kernel" if number == 0 else "", check_line(result))
    wrong = [result for result in results if result.status in {Status.FAIL, Status.ERROR, Status.WARN}]
    for result in worst_first(wrong):
        console.out()
        console.out("\n".join(result_lines(result)))
    console.out()
    failed = [result for result in wrong if result.status is not Status.WARN]
    console.out(f"{spec.name} works" if not failed else f"{spec.name} does not work: {failed[0].finding.summary}")
