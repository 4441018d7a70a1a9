"""pip's sources in uv's terms: one ``uv.toml`` for everything, credentials included, so that argv holds no secret.

Facts about uv 0.13 (``uv help pip compile``, and its reference of settings): ``--config-file`` replaces the discovery
of ``uv.toml`` and ``pyproject.toml``; ``unsafe-first-match`` exhausts the versions of one index before it moves on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from conda_llmenv.model import Notice
from conda_llmenv.pypi.sources import Sources

KEPT_VARIABLES = frozenset(
    {
        "UV_CACHE_DIR",
        "UV_COMPILE_BYTECODE",
        "UV_CONCURRENT_BUILDS",
        "UV_CONCURRENT_DOWNLOADS",
        "UV_CONCURRENT_INSTALLS",
        "UV_CREDENTIALS_DIR",
        "UV_HTTP_CONNECT_TIMEOUT",
        "UV_HTTP_RETRIES",
        "UV_HTTP_TIMEOUT",
        "UV_KEYRING_PROVIDER",
        "UV_LINK_MODE",
        "UV_LOCK_TIMEOUT",
        "UV_NATIVE_TLS",
        "UV_OFFLINE",
        "UV_REQUEST_TIMEOUT",
        "UV_SYSTEM_CERTS",
    }
)
"""uv's own variables about caches, connections and speed; all others could change what is installed and are dropped."""

INDEX_VARIABLES = (
    "UV_INDEX",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_NO_INDEX",
    "UV_CONSTRAINT",
    "UV_OVERRIDE",
    "UV_EXCLUDE_NEWER",
    "UV_TORCH_BACKEND",
)
"""Variables whose loss a person would notice."""

_DROPPED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE")


def render(sources: Sources) -> str:
    """Return the text of ``uv.toml``; it may hold credentials, so it belongs in a file of mode 0600."""
    indexes = sources.indexes()
    pip: dict[str, object] = {"index-strategy": "unsafe-first-match"}
    if indexes:
        pip["index-url"] = indexes[-1]
        pip["extra-index-url"] = list(indexes[:-1])
    pip |= {"no-index": sources.no_index, "find-links": sources.find_links}
    pip |= {"no-binary": sources.formats.no_binary, "only-binary": sources.formats.only_binary}
    pip |= {"prerelease": "allow" if sources.prerelease else None, "exclude-newer": sources.exclude_newer}
    pip["keyring-provider"] = "subprocess" if sources.keyring in ("subprocess", "import") else None
    lines = [f"allow-insecure-host = {json.dumps(sources.trusted_hosts)}", "[pip]"]
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in pip.items() if value]
    return "\n".join(lines) + "\n"


def environment(sources: Sources, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment uv runs in: the user's, without what would change the result behind their back."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _DROPPED and (not name.startswith("UV_") or name in KEPT_VARIABLES)
    }
    kept |= {"PYTHONNOUSERSITE": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}
    if sources.cert:
        kept["SSL_CERT_FILE"] = str(Path(sources.cert).expanduser())
    elif not kept.get("SSL_CERT_FILE"):
        kept.setdefault("UV_SYSTEM_CERTS", "1")  # pip trusts the certificates of the operating system
    if sources.client_cert:
        kept["SSL_CLIENT_CERT"] = str(Path(sources.client_cert).expanduser())
    if sources.proxy:
        proxy = sources.proxy if "://" in sources.proxy else f"http://{sources.proxy}"
        kept |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), proxy)
    if sources.timeout:
        kept.setdefault("UV_HTTP_TIMEOUT", str(sources.timeout))
    if sources.retries:
        kept.setdefault("UV_HTTP_RETRIES", sources.retries)
    return kept


def credentials_folder(environ: Mapping[str, str], scratch: Path) -> str:
    """Return uv's folder of credentials: the user's where ``uv auth login`` was used, else one that goes away.

    uv makes a lock file in it even where it holds nothing.
    """
    data = Path(environ.get("XDG_DATA_HOME") or Path(environ.get("HOME") or Path.home()) / ".local" / "share")
    known = Path(environ.get("UV_CREDENTIALS_DIR") or data / "uv" / "credentials")
    return str(known if (known / "credentials.toml").exists() else scratch / "credentials")


def dropped_variables(environ: Mapping[str, str]) -> tuple[Notice, ...]:
    """Return a notice where the user's uv variables would have named other sources."""
    found = sorted(name for name in INDEX_VARIABLES if environ.get(name))
    if not found:
        return ()
    message = f"{', '.join(found)} not applied: the pip section follows pip's configuration"
    return (
        Notice(
            "uv-variables-not-applied", message, hint="set PIP_INDEX_URL, PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS instead"
        ),
    )
