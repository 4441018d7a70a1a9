"""Records and specs on their way to the library and back."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
import rattler
from msgspec.structs import replace

from conda_llmenv.engines.rattler.convert import from_records, to_cutoff, to_record, to_spec, to_virtual
from conda_llmenv.errors import InputError
from conda_llmenv.model import Channel, Record, VirtualPackage

RECORDED = Path(__file__).parents[3] / "shared" / "channels"

CHANNELS = (
    Channel("pytorch", "https://mirror.example/pytorch"),
    Channel("nvidia/label/cuda-12.1.0", "https://mirror.example/nvidia/label/cuda-12.1.0"),
)

FULL = Record(
    name="demo",
    version="1.0.0rc1",
    build="py3-none-any",
    build_number=7,
    subdir="linux-64",
    url="https://h.example/ch/linux-64/demo-1.0.0rc1-py3-none-any.conda",
    channel="https://h.example/ch",
    file_name="demo-1.0.0rc1-py3-none-any.conda",
    sha256="ab" * 32,
    md5="cd" * 16,
    size=0,
    timestamp=1_750_000_000_123,
    depends=("python >=3.10", "numpy"),
    constrains=("other <2",),
    noarch="python",
    license="MIT",
    track_features=("one", "two"),
    python_site_packages_path="lib/python3.13t/site-packages",
    purls=("pkg:pypi/demo@1.0.0rc1", "pkg:pypi/other@2"),
)


@pytest.mark.channels
@pytest.mark.parametrize(
    "path", sorted(RECORDED.glob("*/*/repodata.json")), ids=lambda path: "/".join(path.parts[-3:-1])
)
def test_every_recorded_record_survives_the_round_trip(path: Path) -> None:
    """All records of real channels, old and new, come back as they went (33,000 of them)."""
    library = rattler.RepoData.from_path(path).into_repo_data(rattler.Channel(path.parents[1].as_uri()))
    ours = [to_record(record) for record in library]
    assert [to_record(record) for record in from_records(ours)] == ours


@pytest.mark.channels
def test_fields_are_those_of_repodata() -> None:
    """What we read off the library is what the channel's file says, in the units the model promises."""
    path = RECORDED / "conda-forge" / "linux-64" / "repodata.json"
    raw = json.loads(path.read_text(encoding="utf-8"))
    entries = raw["packages"] | raw["packages.conda"]
    library = rattler.RepoData.from_path(path).into_repo_data(rattler.Channel((RECORDED / "conda-forge").as_uri()))
    for record in map(to_record, library):
        entry = entries[record.file_name]
        assert record.sha256 == entry.get("sha256")
        assert record.depends == tuple(entry["depends"])
        assert record.timestamp in {None, entry.get("timestamp"), (entry.get("timestamp") or 0) * 1000}
        assert record.url.endswith(f"/conda-forge/linux-64/{record.file_name}")


def test_every_field_survives_at_once() -> None:
    """A record with all fields set, a build string outside CEP 26 and a size of zero comes back equal."""
    assert to_record(from_records([FULL])[0]) == FULL


def test_absent_fields_stay_absent() -> None:
    """A bare record gains nothing on the way: no empty hash, no epoch as its date."""
    bare = Record("a", "1", "0", 0, "noarch", "file:///c/noarch/a-1-0.tar.bz2", "file:///c", "a-1-0.tar.bz2")
    assert to_record(from_records([bare])[0]) == bare


def test_order_is_kept_and_nothing_gives_nothing() -> None:
    """Records come back in the order they were given, whatever their names."""
    bare = [
        Record(name, "1", "0", 0, "noarch", f"file:///c/noarch/{name}-1-0.conda", "file:///c", f"{name}-1-0.conda")
        for name in ("z", "a", "m")
    ]
    assert [record.name.normalized for record in from_records(bare)] == ["z", "a", "m"]
    assert from_records([]) == []


def test_a_timestamp_in_seconds_becomes_milliseconds() -> None:
    """Old repodata counts in seconds (conda reads both); the model has milliseconds only."""
    (record,) = from_records([replace(FULL, timestamp=1_539_797_452_000)])
    assert to_record(record).timestamp == 1_539_797_452_000


@pytest.mark.parametrize(
    ("text", "version", "build"),
    [
        ("pytorch=1.12.*", "1.12.*", None),
        ("pytorch>=2.7.0=cuda12*", ">=2.7.0", "cuda12*"),
        ("pytorch=2.0.1=py3.9_cuda11.8_cudnn8.7.0_0", "==2.0.1", "py3.9_cuda11.8_cudnn8.7.0_0"),
        ("pytorch 2.5.1", "==2.5.1", None),
        ("cuda-version >=12.4,<13", ">=12.4,<13", None),
    ],
)
def test_spellings_of_environment_files_are_read(text: str, version: str, build: str | None) -> None:
    """Spellings that the library's strict reader refuses, and that environment.yml files are full of."""
    spec = to_spec(text)
    assert (spec.version, spec.build) == (version, build)


@pytest.mark.parametrize(
    ("text", "url", "subdir"),
    [
        ("pytorch::torchvision=0.15", "https://mirror.example/pytorch/", None),
        ("pytorch/linux-64::pytorch", "https://mirror.example/pytorch/", "linux-64"),
        ("nvidia/label/cuda-12.1.0::cuda-nvcc", "https://mirror.example/nvidia/label/cuda-12.1.0/", None),
        ("pytorch[channel=pytorch,build_number='>3']", "https://mirror.example/pytorch/", None),
        ("https://mirror.example/pytorch::pytorch", "https://mirror.example/pytorch/", None),
    ],
)
def test_a_channel_in_a_spec_is_the_requests_channel(text: str, url: str, subdir: str | None) -> None:
    """`channel::package` means the channel of that name as configured (mirror, alias), not the one on anaconda.org."""
    spec = to_spec(text, CHANNELS)
    assert spec.channel is not None
    assert (spec.channel.base_url, spec.subdir) == (url, subdir)


def test_a_channel_nobody_listed_is_refused_by_name() -> None:
    """Silently finding nothing in a channel that is not searched would be the worst answer."""
    with pytest.raises(InputError, match="'conda-forge::numpy' asks for a channel that is not among") as caught:
        to_spec("conda-forge::numpy", CHANNELS)
    assert "pytorch" in caught.value.message


def test_an_unreadable_spec_is_named() -> None:
    """A spec that is none is a mistake of the person's, shown as typed."""
    with pytest.raises(InputError, match=r"'\*' is not a package specification"):
        to_spec("*")


def test_a_virtual_package_keeps_version_and_build() -> None:
    """`__archspec=1=x86_64_v3` reaches the solver as it is."""
    assert str(to_virtual(VirtualPackage("__archspec", "1", "x86_64_v3"))) == "__archspec=1=x86_64_v3"


def test_a_virtual_package_without_a_version_is_refused() -> None:
    """`CONDA_OVERRIDE_CUDA=yes` is no version."""
    with pytest.raises(InputError, match="__cuda"):
        to_virtual(VirtualPackage("__cuda", "not a version"))


def test_a_cutoff_is_handed_on_in_utc() -> None:
    """The library takes the clock face for UTC, whatever the zone says."""
    zone = dt.timezone(dt.timedelta(hours=2))
    assert to_cutoff(dt.datetime(2025, 1, 1, 1, tzinfo=zone)) == dt.datetime(2024, 12, 31, 23, tzinfo=dt.timezone.utc)
    assert to_cutoff(dt.datetime(2025, 1, 1)) == dt.datetime(2025, 1, 1, tzinfo=dt.timezone.utc)  # noqa: DTZ001 - the case
    assert to_cutoff(None) is None
