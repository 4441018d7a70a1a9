"""Lets each model library that is installed take training steps, in another process: one of them may end it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

from . import accelerate_script
from .private_folder import private_folder
from .started import Ended, ending, last_lines, run_to_end
from .telling import told

ENTRY = str(Path(__file__).resolve().parent / "entry.py")

LIBRARIES = {
    "transformers": "transformers",
    "peft": "peft",
    "accelerate": "accelerate",
    "flash_attn": "flash-attn",
    "deepspeed": "deepspeed",
}
"""Module to distribution; what others stand on comes first, what leaves a process group behind comes last."""

PATIENCE = 120
"""Seconds for one process; a first import over a network file system takes most of it."""

TAIL_LINES = 8


def run(asked: dict[str, Any], teller: Any) -> None:
    """Look at ``model-step`` for ``asked["library"]`` or all that are here, and at ``accelerate-script``."""
    with private_folder(tempfile.gettempdir(), "models") as home:
        environ = {**os.environ, **quiet(home)}
        if "model-step" in asked["checks"]:
            with teller.looking("model-step") as values:
                wanted = [asked["library"]] if asked.get("library") else list(LIBRARIES)
                here = [library for library in wanted if importlib.util.find_spec(library) is not None]
                found = stepped(here, asked, environ, teller)
                values["libraries"] = {library: {**version(library), **found[library]} for library in here}
        if "accelerate-script" in asked["checks"]:
            with teller.looking("accelerate-script") as values:
                teller.step("the test script of accelerate")
                values.update(accelerate_script.look(environ))


def quiet(home: Path) -> dict[str, str]:
    """Return variables under which nothing is downloaded, reported or read from the person's own settings."""
    return {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_HOME": str(home),
        "TMPDIR": str(home),
        "TRITON_CACHE_DIR": str(home / "triton"),
        "TORCH_EXTENSIONS_DIR": str(home / "extensions"),
        "WANDB_MODE": "disabled",
        "TOKENIZERS_PARALLELISM": "false",
        "TRANSFORMERS_VERBOSITY": "error",
    }


def version(library: str) -> dict[str, str]:
    """Return the version of a library by its record; nothing where it has none."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return {"version": importlib.metadata.version(LIBRARIES[library])}
    return {}


def stepped(
    libraries: list[str], asked: dict[str, Any], environ: dict[str, str], teller: Any
) -> dict[str, dict[str, Any]]:
    """Return what each library came to; one that ends its process is passed over and the others go on in a new one."""
    found: dict[str, dict[str, Any]] = {}
    waiting = list(libraries)
    while waiting:
        teller.step("a training step with " + ", ".join(waiting))
        nonce = uuid.uuid4().hex
        settings = json.dumps({"libraries": waiting, "device": asked.get("device"), "nonce": nonce})
        argv = [sys.executable, "-I", ENTRY, "model_step", settings]
        ended = run_to_end(argv, environ, float(asked.get("patience", PATIENCE)))
        records = {one["check"]: one for one in finished(ended.output, nonce)}
        found.update({library: seen(records[library]) for library in waiting if library in records})
        waiting = [library for library in waiting if library not in records]
        if waiting:
            found[waiting.pop(0)] = untold(ended)
    return found


def finished(output: str, nonce: str) -> list[dict[str, Any]]:
    """Return the finished observations among what a process printed."""
    records = (told(line, nonce) for line in output.split("\n"))
    return [one for one in records if one is not None and ("values" in one or "error" in one)]


def seen(record: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an observation, or its exception."""
    return record.get("values") or {"error": record["error"], "trace": record.get("trace", [])}


def untold(ended: Ended) -> dict[str, Any]:
    """Return why the library at work told nothing."""
    late = "it was still at work when its time was over"
    error = late if ended.returncode is None else ending(ended.returncode)
    return {"error": error, "tail": last_lines(ended.complaints, TAIL_LINES)}
