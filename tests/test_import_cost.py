"""What starting up loads, counted in modules rather than in milliseconds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HEAVY = ("rattler", "rich", "jupyter_client", "torch", "ruamel", "uv", "pynvml", "packaging", "asyncio")


def loaded_by(code: str, *path: Path) -> set[str]:
    """Return the modules in ``sys.modules`` after running ``code`` in a fresh interpreter."""
    program = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    environment = {"PYTHONPATH": ":".join(map(str, path)), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    return set(json.loads(done.stderr.strip().splitlines()[-1]))


def test_help_loads_nothing_heavy() -> None:
    """``llmenv --help`` answers without solver, YAML, display or notebook libraries."""
    loaded = loaded_by("from conda_llmenv.cli.main import main\nassert main(['--help']) == 0")
    assert {name for name in loaded if name.split(".")[0] in HEAVY} == set()


def test_completing_a_name_loads_nothing_heavy(tmp_path: Path) -> None:
    """A person who presses TAB waits for a configuration in YAML, for no solver, index or display library."""
    words = {"_LLMENV_COMPLETE": "bash_complete", "COMP_WORDS": "llmenv remove -n s", "COMP_CWORD": "3"}
    environ = {**words, "HOME": str(tmp_path), "CONDA_ENVS_DIRS": str(tmp_path)}
    loaded = loaded_by(
        f"import os\nos.environ.update({environ!r})\nfrom conda_llmenv.cli.main import main\nassert main([]) == 0"
    )
    assert "conda_llmenv.prefix.location" in loaded
    assert {name for name in loaded if name.split(".")[0] in set(HEAVY) - {"ruamel", "packaging"}} == set()


def test_help_loads_no_command() -> None:
    """Listing the commands imports none of them."""
    loaded = loaded_by("from conda_llmenv.cli.main import main\nassert main(['--help']) == 0")
    own = {name for name in loaded if name.startswith("conda_llmenv")}
    assert {"conda_llmenv.cli.create", "conda_llmenv.pipeline", "conda_llmenv.compose"} & own == set()


def test_a_plan_is_made_without_the_ladder() -> None:
    """Composing, locking and dry runs wait for no check; `create` loads them once something is installed."""
    loaded = loaded_by("from conda_llmenv.cli.main import main\nassert main(['compose', '--recipe', 'minimal']) == 0")
    assert "conda_llmenv.pipeline.tools" in loaded
    assert {"conda_llmenv.checks.registry", "conda_llmenv.diagnosis.matching", "conda_llmenv.probes"} & loaded == set()


def test_every_summary_in_help_is_the_commands_own() -> None:
    """The static table that keeps help light says what the commands themselves say."""
    import click

    from conda_llmenv.cli.main import COMMANDS, llmenv

    context = click.Context(llmenv)
    for name, entry in COMMANDS.items():
        command = llmenv.get_command(context, name)
        assert command is not None
        assert (command.help or "").splitlines()[0].rstrip(".") == entry.summary.rstrip("."), name


def test_the_plugin_loads_only_condas_hook_types(tmp_path: Path) -> None:
    """Conda imports the plugin on every call, so it must bring nothing along."""
    plugins = tmp_path / "conda" / "plugins"
    plugins.mkdir(parents=True)
    (tmp_path / "conda" / "__init__.py").write_text("")
    (plugins / "__init__.py").write_text("def hookimpl(function): return function\n")
    hook_types = ("Subcommand", "EnvironmentSpecifier", "EnvironmentExporter", "HealthCheck", "Setting")
    names = [*(f"Conda{name}" for name in hook_types), "EnvironmentFormat", "EnvironmentSpecBase"]
    (plugins / "types.py").write_text("import typing\n" + "".join(f"class {name}: pass\n" for name in names))
    before = loaded_by("import conda.plugins.types", tmp_path)
    after = loaded_by("import conda_llmenv.plugin", tmp_path)
    assert after - before <= {"conda_llmenv", "conda_llmenv.plugin", "__future__", "collections.abc"}
