"""Locks that the tests of exact formats write: an ordinary one, and any one that hypothesis can think of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st
from msgspec.structs import replace

from conda_llmenv.engines.rattler import pixi_lock
from conda_llmenv.locks import conda_lock, explicit, pixi
from conda_llmenv.model import Channel, Lock, LockedPlatform, PipArtifact, PipPackage, Record

FOREIGN = Path(__file__).parent / "foreign"
"""Files as other tools write them."""

CANARY = "s3cr3t-canary"
FORGE = "https://conda.anaconda.org/conda-forge"
FILES = "https://files.pythonhosted.org/packages/ab/cd"
COMMIT = "0123456789abcdef0123456789abcdef01234567"

WRITE: dict[str, Callable[[Lock], str]] = {
    "explicit": explicit.write,
    "conda-lock": conda_lock.write,
    "pixi": pixi.write,
}
READ: dict[str, Callable[[str, str], Lock]] = {
    "explicit": explicit.read,
    "conda-lock": conda_lock.read,
    "pixi": pixi_lock.read,
}


def record(
    name: str,
    version: str = "1.0",
    build: str = "h0_0",
    subdir: str = "linux-64",
    channel: str = FORGE,
    *,
    depends: tuple[str, ...] = (),
    sha256: str | None = "a" * 64,
    md5: str | None = "b" * 32,
    noarch: str | None = None,
) -> Record:
    """Return a record whose address fits the rest."""
    file_name = f"{name}-{version}-{build}.conda"
    url = f"{channel}/{subdir}/{file_name}"
    return Record(name, version, build, 0, subdir, url, channel, file_name, sha256, md5, depends=depends, noarch=noarch)


def wheel(
    name: str, version: str, tags: str = "py3-none-any", *, digest: str = "c" * 64, direct: bool = False
) -> PipPackage:
    """Return a distribution whose only known file is a wheel."""
    url = f"{FILES}/{name.replace('-', '_')}-{version}-{tags}.whl"
    line = f"{name} @ {url}" if direct else f"{name}=={version}"
    hashes = (f"sha256:{digest}",)
    return PipPackage(name, version, line, hashes, url=url, direct=direct, artifacts=(PipArtifact(url, hashes),))


COMMITTED = PipPackage("tool", "0.3", f"tool @ git+https://h.example/tool@{COMMIT}", built=True, direct=True)

LOCK = Lock(
    platforms=(
        LockedPlatform(
            "linux-64",
            (
                record("numpy", "2.2.6", "py311h1_1", depends=("python >=3.11", "zlib >=1.3,<2.0a0")),
                record("python", "3.11.7", "h2_0_cpython", depends=("tzdata", "zlib")),
                record("tzdata", "2024a", "h3_0", "noarch", noarch="generic"),
                record("zlib", "1.3.1", "h4_2"),
            ),
            (wheel("six", "1.17.0"), COMMITTED),
        ),
    ),
    channels=(
        Channel("https://h.example/pytorch", "https://h.example/pytorch"),
        Channel("conda-forge", FORGE),
    ),
    specs=("python >=3.11", "numpy"),
    facts={"tier": "a100"},
    input_hash="sha256:0a1b",
)

_CHANNELS = (FORGE, "https://h.example:8443/a/b", "https://h.example/pytorch", "file:///srv/some channel")
_names = st.one_of(
    st.sampled_from(
        ["_libgcc_mutex", "r-base", "yes", "null", "1e5", "a.b-c_d", "2020-01-01", "python", "0x10", "lib-1-2"]
    ),
    st.text("ab_0.", min_size=1, max_size=6).map(lambda text: f"p{text}"),
)
_versions = st.one_of(
    st.sampled_from(
        ["1.0", "2024a", "1!2.0", "1e5", "2.1.0+cu121", "1.0rc1.post2", "0.1_b", "1_0", "12", "1.10", "0o7"]
    ),
    st.tuples(st.integers(0, 99), st.integers(0, 999)).map(lambda pair: "{}.{}.0".format(*pair)),
)
_builds = st.one_of(
    st.sampled_from(["0", "h0_0", "py311h1_1", "pyhd8ed1ab_100", "conda_forge", "1.2", "1e10", "x_+.y", "no", "007"]),
    st.text("abpy01_.+", min_size=1, max_size=8),
)
_hexes = {
    digits: st.sampled_from(
        ["a" * digits, "1" * digits, f"1e{'5' * (digits - 2)}", f"0x{'0' * digits}"[2:], "0f" * (digits // 2)]
    )
    for digits in (32, 64)
}
_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
_constraints = st.sampled_from(["", " >=1.2,<2.0a0", " 1.2.*", " * *_cp311", " 1.2 h0_0", " !=3", " 1e5", " =1"])
_depends = st.lists(st.builds(str.__add__, _names, _constraints), max_size=4, unique_by=lambda text: text.split()[0])


@st.composite
def records(draw: st.DrawFn, subdir: str, name: str) -> Record:
    """Any record of a platform that a repodata may hold."""
    version, build, channel = draw(_versions), draw(_builds), draw(st.sampled_from(_CHANNELS))
    place = draw(st.sampled_from([subdir, "noarch"]))
    file_name = f"{name}-{version}-{build}{draw(st.sampled_from(['.conda', '.tar.bz2']))}"
    return Record(
        name,
        version,
        build,
        draw(st.integers(0, 10**6)),
        place,
        f"{channel.replace(' ', '%20')}/{place}/{file_name}",
        channel.replace(" ", "%20"),
        file_name,
        draw(_hexes[64]),
        draw(_hexes[32]),
        size=draw(st.none() | st.integers(0, 2**40)),
        timestamp=draw(st.none() | st.integers(10**12, 2 * 10**12)),
        depends=tuple(draw(_depends)),
        constrains=tuple(draw(_depends)),
        noarch=draw(st.sampled_from(["python", "generic"])) if place == "noarch" else None,
        license=draw(st.none() | _text),
        track_features=tuple(draw(st.lists(_names, max_size=2, unique=True))),
        python_site_packages_path=draw(st.none() | st.just("lib/python3.13t/site-packages")),
        purls=tuple(sorted(draw(st.lists(_names.map(lambda one: f"pkg:pypi/{one}"), max_size=2, unique=True)))),
    )


@st.composite
def platforms(draw: st.DrawFn, subdir: str) -> LockedPlatform:
    """Any packages of a platform."""
    names = draw(st.lists(_names, max_size=5, unique=True))
    pip = [
        wheel(f"dist{number}", draw(st.sampled_from(["1.0", "1!2.0rc1", "2.1.0+cu121"])))
        for number in range(draw(st.integers(0, 2)))
    ]
    found = tuple(draw(records(subdir, name)) for name in sorted(names))
    return LockedPlatform(subdir, found, (*pip, *draw(st.sampled_from([(), (COMMITTED,)]))))


@st.composite
def locks(draw: st.DrawFn) -> Lock:
    """Any lock of one platform or two."""
    subdirs = draw(st.sampled_from([("linux-64",), ("linux-64", "osx-arm64"), ("win-64",)]))
    channels = tuple(
        Channel(url.removeprefix("https://conda.anaconda.org/"), url)
        for url in (one.replace(" ", "%20") for one in _CHANNELS)
    )
    parts = [draw(platforms(subdir)) for subdir in subdirs]
    one = {record.url: record for part in parts for record in part.records}  # one file is one package on any platform
    same = (replace(part, records=tuple(one[record.url] for record in part.records)) for part in parts)
    return Lock(tuple(same), channels, specs=tuple(draw(_depends)))
