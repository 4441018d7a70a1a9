"""``torch.compile``: compiled code computes the same; a compiler that is not there is a warning with how to get it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from conda_llmenv.checks.causes import known_fix
from conda_llmenv.checks.devices import Devices, named
from conda_llmenv.checks.limits import COMPILED
from conda_llmenv.checks.scene import Scene
from conda_llmenv.model import Finding, Status


class Complaint(Struct, frozen=True):
    """What a failure reads like, what it means and what to do; ``{prefix}`` and ``{subdir}`` are filled in."""

    text: str
    means: str
    fix: str


CONDA_COMPILER = "conda install -p {prefix} -c conda-forge gxx_{subdir}, or the distribution's: apt install g++"

COMPLAINTS = (
    Complaint(
        r"InvalidCxxCompiler|No working C\+\+ compiler found|Failed to find C compiler|CompilerNotFound",
        "there is no compiler that it could call",
        CONDA_COMPILER,
    ),
    Complaint(
        r"Python\.h: No such file",
        "the headers of Python are missing",
        "install them, with the distribution's python3-dev, or use a Python of conda's, which brings them",
    ),
    Complaint(
        r"omp\.h.*No such file|cannot find -l?gomp|cannot find -lomp",
        "the compiler has no OpenMP",
        CONDA_COMPILER,
    ),
    Complaint(
        r"fatal error: (?:iostream|cmath|algorithm|vector|bits/\S+): No such file|cannot execute '?cc1plus",
        "the compiler is one for C without C++",
        CONDA_COMPILER,
    ),
    Complaint(
        r"ptxas fatal|Cannot find ptxas|ptxas.*not (?:found|supported)",
        "the ptxas of Triton does not fit this card or driver",
        "{prefix}/bin/python -m pip install --force-reinstall --no-deps triton of the version that torch requires",
    ),
    Complaint(
        r"Cannot find a working triton|TritonMissing|No module named 'triton'",
        "Triton is not installed",
        "{prefix}/bin/python -m pip check names the triton that torch requires; install that",
    ),
    Complaint(
        r"failed to map segment|noexec|Permission denied",
        "compiled code cannot be run from the folder of temporary files",
        "mkdir -p ~/tmp && export TMPDIR=~/tmp, a folder on a file system that is not mounted noexec",
    ),
    Complaint(r"No space left on device", "the disk of temporary files is full", "df -h ${{TMPDIR:-/tmp}}"),
)


def compile_(scene: Scene) -> Finding:
    """Judge the compiled function of every device; only wrong values are a failure, since training works without."""
    seen = scene.values("compile")
    devices: Devices = seen["devices"]
    wrong = {
        device: float(found["difference"])
        for device, found in devices.items()
        if "error" not in found and not found["difference"] <= COMPILED
    }
    if wrong:
        measured = ", ".join(f"{device}: off by {difference:.1e}" for device, difference in wrong.items())
        summary = f"torch.compile makes code that computes something else on {', '.join(wrong)}"
        fix = "train without torch.compile (TORCHDYNAMO_DISABLE=1) until another torch or compiler gets it right"
        return Finding(Status.FAIL, summary, measured, f"≤ {COMPILED:.0e}", fix)
    failed = {device: str(found["error"]) for device, found in devices.items() if "error" in found}
    if failed:
        return _not_compiled(scene, failed, seen["compilers"])
    if not seen["made_code"]:
        return _left_alone(seen["switches"])
    took = max(float(found["took"]) for found in devices.values())
    summary = f"torch.compile works on {named(devices)}"
    return Finding(Status.PASS, summary, f"same values after {took:.0f} s", f"differences ≤ {COMPILED:.0e}")


def _left_alone(switches: Mapping[str, str]) -> Finding:
    """A function that runs as it was is no proof of a compiler."""
    if not switches:
        return Finding(Status.WARN, "torch.compile runs a function as it is and compiles nothing", "no code was made")
    named = " ".join(f"{name}={value}" for name, value in switches.items())
    return Finding(Status.SKIP, f"torch.compile is switched off by {named}", fix=f"unset {' '.join(switches)}")


def _not_compiled(scene: Scene, failed: Mapping[str, str], compilers: Mapping[str, str]) -> Finding:
    error = next(iter(failed.values()))
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    complaint = next((one for one in COMPLAINTS if re.search(one.text, error)), None)
    means = complaint.means if complaint else lines[0][:200]
    fix = complaint.fix.format(prefix=scene.prefix, subdir=scene.host.subdir) if complaint else known_fix(lines)
    found = ", ".join(path for path in compilers.values() if path) or "none"
    return Finding(
        Status.WARN,
        f"torch.compile does not work on {', '.join(failed)}: {means}",
        measured=lines[0][:200],
        expected="a tiny function is compiled",
        fix=fix or "train without torch.compile: export TORCHDYNAMO_DISABLE=1",
        detail=(f"compilers found: {found}", *(line[:200] for line in lines[-3:])),
    )
