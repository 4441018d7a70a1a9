"""Locks of pip sections for tests, made up and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from conda_llmenv.locks.pip_tables import package_of, read_table
from conda_llmenv.model import Lock, LockedPlatform, PipPackage, Record
from tests.index.artifacts import Artifact

CANARY = "s3cr3tcanary"
PYTHON = Record("python", "3.11.7", "0", 0, "linux-64", "https://h.example/c/linux-64/p", "https://h.example/c", "p")


def lock(*packages: PipPackage, options: Sequence[str] = (), subdir: str = "linux-64", **fields: Any) -> Lock:
    """Return a lock of one platform with a Python."""
    return Lock((LockedPlatform(subdir, (PYTHON,), packages),), pip_options=tuple(options), **fields)


def package(**table: Any) -> PipPackage:
    """Return the package of a table as it stands in a ``pylock.toml``."""
    return package_of(read_table(table))


def indexed(*artifacts: Artifact, version: str, folder: str = "https://h.example/files") -> PipPackage:
    """Return a package whose files lie in a folder, pinned with their hashes."""
    files = [
        {
            "url": f"{folder}/{quote(one.file_name)}",
            "size": len(one.content),
            "hashes": {"sha256": one.sha256},
        }
        for one in artifacts
    ]
    wheels = [file for file in files if str(file["url"]).endswith(".whl")]
    sources = [file for file in files if file not in wheels]
    table: dict[str, Any] = {"name": artifacts[0].name, "version": version, "wheels": wheels}
    return package(**(table | ({"sdist": sources[0]} if sources else {})))


_WORDS = st.text("abcxyz019", min_size=1, max_size=6)
_NAMES = st.lists(_WORDS, min_size=1, max_size=3).map("-".join)
_VERSIONS = st.sampled_from(["1.0", "2!1.0", "1.0rc1", "1.0.post3", "2.1.0+cu121", "1.0.dev2+a.b", "2024.1"])
_FOLDERS = st.lists(st.text(min_size=1, max_size=8), max_size=3).map(
    lambda parts: "/".join(
        quote(part, safe="") for part in parts if part.strip(".") and part.isprintable() and part.lower() != "t"
    )
)
"""Folders of an address; none is ``t``, after which a token is expected and left out."""
_HOSTS = st.sampled_from(["https://h.example", "https://files.pythonhosted.org", "file://"])
_SHA256 = st.text("0123456789abcdef", min_size=64, max_size=64).map(lambda digest: {"sha256": digest})
_MORE = st.text("0123456789abcdef", min_size=128, max_size=128).map(lambda digest: {"sha512": digest})
_HASHES = st.tuples(_SHA256, st.one_of(st.just({}), _MORE)).map(lambda two: {**two[0], **two[1]})
_SIZES = st.one_of(st.none(), st.integers(min_value=0, max_value=2**40))
_TAGS = st.lists(
    st.sampled_from(["py3-none-any", "cp311-cp311-manylinux_2_28_x86_64", "cp39-abi3-linux_x86_64"]), unique=True
)
_PATHS = st.lists(st.text("ab c.ü%+#", min_size=1, max_size=5), min_size=1, max_size=3).map(
    lambda parts: "/" + "/".join(f"x{part.strip()}" for part in parts)
)
_COMMITS = st.text("0123456789abcdef", min_size=40, max_size=40)
_SUBDIRECTORIES = st.one_of(st.none(), st.sampled_from(["python", "a/b"]))


def _known(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


@st.composite
def _files(draw: st.DrawFn) -> dict[str, Any]:
    name, version = draw(_NAMES), draw(_VERSIONS)
    module, place = name.replace("-", "_"), f"{draw(_HOSTS)}/{draw(_FOLDERS)}".rstrip("/")

    def file(ending: str) -> dict[str, Any]:
        url = f"{place}/{quote(f'{module}-{version}{ending}')}"
        return _known({"url": url, "size": draw(_SIZES), "hashes": draw(_HASHES)})

    wheels = [file(f"-{tag}.whl") for tag in draw(_TAGS)]
    sources = file(".tar.gz") if draw(st.booleans()) or not wheels else None
    return _known({"name": name, "version": version, "wheels": wheels, "sdist": sources})


@st.composite
def _direct(draw: st.DrawFn) -> dict[str, Any]:
    name, version = draw(_NAMES), draw(st.one_of(st.none(), _VERSIONS))
    inside = draw(_SUBDIRECTORIES)
    url = f"https://h.example/{name}.git"
    kinds: list[dict[str, Any]] = [
        {"vcs": _known({"type": "git", "url": url, "commit-id": draw(_COMMITS), "subdirectory": inside})},
        {"directory": _known({"path": draw(_PATHS), "subdirectory": inside})},
        {"directory": {"path": draw(_PATHS), "editable": True}},
        {
            "archive": _known(
                {
                    "url": f"https://h.example/{name}-1.0.tar.gz",
                    "size": draw(_SIZES),
                    "hashes": draw(_HASHES),
                    "subdirectory": inside,
                }
            )
        },
    ]
    return _known({"name": name, "version": version, **draw(st.sampled_from(kinds))})


PACKAGES = st.lists(
    st.one_of(_files(), _direct()).map(lambda table: package(**table)), max_size=6, unique_by=lambda one: one.name
).map(lambda found: tuple(sorted(found, key=lambda one: one.name)))
"""Packages as uv's resolution gives them, and as sources do."""
