"""What every test shares: isolation from the person's own machine, and the long runs kept apart."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell without job control starts what it runs in the background deaf to Ctrl-C, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:  # as under nohup
        signal.signal(_number, signal.SIG_DFL)

pytest_plugins = [
    "tests.channel.fixtures",
    "tests.index.fixtures",
    "tests.program",
    "tests.torchenv",
    "tests.kernelenv",
    "tests.labenv",
]

ENGINE_FOLDERS = ("engines", "e2e", "compose", "pypi", "content", "conformance")
"""Folders whose outcome depends on the version of py-rattler; the oldest supported one runs these."""

ANY_ENGINE = frozenset(
    {"diagnose", "history", "kernel", "notebook", "remote", "verify", "verify_hosts", "verify_torch"}
)
"""Files ``test_….py`` in those folders about what comes after an environment is installed, by whatever engine."""

RECORDED = Path(__file__).parent.parent.parent / "shared" / "channels"
"""Recorded metadata of real channels, beside the checkout where somebody has put it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--run-soak`` and ``--inside-conda``."""
    parser.addoption("--run-soak", action="store_true", help="also run the long randomised tests")
    parser.addoption("--inside-conda", action="store_true", help="run whole programs as `conda llmenv` of CONDA_PYTHON")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by folder, skip what needs recorded metadata where there is none, and keep long runs apart."""
    here = Path(__file__).parent
    for item in items:
        if _is_about_engines(item.path, here):
            item.add_marker(pytest.mark.engine)
        if item.get_closest_marker("channels") and not RECORDED.is_dir():
            item.add_marker(pytest.mark.skip(reason="no recorded channel metadata beside the checkout"))
        if item.get_closest_marker("script") and config.getoption("--inside-conda"):
            item.add_marker(pytest.mark.skip(reason="what only the program itself does, not conda's subcommand"))
        if item.get_closest_marker("soak") and not config.getoption("--run-soak"):
            item.add_marker(pytest.mark.skip(reason="a long run; `make soak` runs it"))


def _is_about_engines(path: Path, here: Path) -> bool:
    folder = path.relative_to(here).parts[0] if path.is_relative_to(here) else ""
    return folder in ENGINE_FOLDERS and path.stem.removeprefix("test_") not in ANY_ENGINE


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a home of its own and none of the person's conda, pip, uv and Jupyter settings."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in (
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
        "CONDARC",
        "CONDA_PREFIX",
        "MAMBARC",
        "CONDA_ROOT",
    ):
        monkeypatch.delenv(name, raising=False)
    return home
