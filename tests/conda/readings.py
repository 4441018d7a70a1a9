"""Reads configurations in both ways, by conda's context and by our own reader; runs in conda's own Python.

``python -m tests.conda.readings FOLDER < situations.json`` prints, for each situation, what each reading says. All of
them are read in this one process: conda can be told to read again.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from conda_llmenv.config import CondaConfig, active_config, load_config, resolve_channels
from conda_llmenv.errors import LlmenvError

NAMES = (
    "conda-forge", "defaults", "pytorch", "nvidia", "nvidia/label/cuda-12.1.0", "bioconda", "pkgs/main", "pkgs/pro",
    "lab", "private", "private/deep", "main", "conda-forge/linux-64", "https://conda.anaconda.org/conda-forge",
    "https://conda.anaconda.org/nvidia/label/x", "https://repo.anaconda.com/pkgs/main/noarch",
    "https://mirror.example/anaconda/cloud/conda-forge", "https://old.example/conda/thing", "/srv/channel",
)  # fmt: skip
"""Channels whose addresses are compared."""


def main() -> None:
    """Read every situation in both ways."""
    folder = Path(sys.argv[1])
    found = {}
    for number, (name, situation) in enumerate(json.load(sys.stdin).items()):
        found[name] = _read(folder / str(number), situation)
    json.dump(found, sys.stdout, default=str)


def _read(base: Path, situation: dict[str, Any]) -> dict[str, Any]:
    home = base / "home"
    home.mkdir(parents=True)
    for path, text in situation.get("files", {}).items():
        file = base / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    root = base / "root"
    (root / "conda-meta").mkdir(parents=True)
    (root / "conda-meta" / "history").touch()
    kept = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CONDA_ROOT": str(root),
        "CONDA_ROOT_PREFIX": str(root),
    }
    given = {name: text.replace("BASE", str(base)) for name, text in situation.get("environ", {}).items()}
    os.environ.clear()
    os.environ.update(kept | given)
    arguments = situation.get("arguments")
    conda = _by_conda(home, arguments)
    found = {name: _address_of_conda(name) for name in NAMES}
    return {"conda": conda, "files": _by_files(home), "addresses": found}


def _by_conda(home: Path, arguments: dict[str, Any] | None) -> Any:
    from argparse import Namespace

    from conda.base.context import SEARCH_PATH, reset_context

    reset_context(SEARCH_PATH, Namespace(**arguments) if arguments else None)
    return _plain(lambda: active_config(dict(os.environ), home))


def _by_files(home: Path) -> Any:
    from conda.base.context import context

    return _plain(lambda: load_config(dict(os.environ), home, root_prefix=Path(context.root_prefix)))


def _plain(read: Callable[[], CondaConfig]) -> Any:
    try:
        config = read()
    except LlmenvError as error:
        return {"error": error.message}
    addresses = {name: _address(name, config) for name in NAMES}
    return {"config": msgspec.to_builtins(config, enc_hook=str), "addresses": addresses}


def _address(name: str, config: CondaConfig) -> list[str]:
    try:
        return [channel.url for channel in resolve_channels([name], config, nodefaults=True)]
    except LlmenvError as error:
        return [type(error).__name__]


def _address_of_conda(name: str) -> list[str]:
    from conda import CondaError
    from conda.base.context import validate_channels
    from conda.models.channel import Channel

    try:
        validate_channels((name,))
        urls = Channel(name).urls(with_credentials=True, subdirs=("noarch",))
    except CondaError as error:
        forbidden = type(error).__name__ in {"ChannelDenied", "ChannelNotAllowed"}
        return ["InputError" if forbidden else str(error)]
    return [url.removesuffix("/noarch") for url in dict.fromkeys(urls)]


if __name__ == "__main__":
    main()
