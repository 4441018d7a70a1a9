"""The versions that a report keeps of an environment."""

from __future__ import annotations

from conda_llmenv.checks.known_good import parts
from conda_llmenv.checks.scene import Scene
from conda_llmenv.checks.versions import ACCELERATORS, MODEL_LIBRARIES, versions_of
from conda_llmenv.hardware import load_tables
from conda_llmenv.model import Observation
from tests.checks.host_scenes import DEV_BOX
from tests.history.reports import report


def test_every_library_that_history_has_a_column_for_is_kept() -> None:
    """What `llmenv history` lists as model library or accelerator is looked for in the first place."""
    installed = dict.fromkeys((*MODEL_LIBRARIES, *ACCELERATORS, "ruff"), "1.0")
    seen = {"installed": (Observation("installed", {"torch": "2.9.0", "versions": installed}),)}
    versions = versions_of(Scene("/env", DEV_BOX, load_tables(), seen=seen))
    assert (versions["torch"], "ruff" in versions) == ("2.9.0", False)
    of = parts(report(versions=versions))
    assert of.models == ", ".join(f"{name} 1.0" for name in MODEL_LIBRARIES)
    assert of.accelerators == ", ".join(f"{name} 1.0" for name in ACCELERATORS)
