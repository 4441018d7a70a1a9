"""One distribution, two owners: what conda and pip both installed."""

from __future__ import annotations

from conda_llmenv.locks.pip_owners import double_owned
from conda_llmenv.model import PipPackage, Record


def record(name: str, version: str = "1.0", *, depends: tuple[str, ...] = ()) -> Record:
    """Return a record with the least there is."""
    return Record(
        name, version, "0", 0, "linux-64", "https://h.example/c/x", "https://h.example/c", name, depends=depends
    )


def pip(*names: str) -> tuple[PipPackage, ...]:
    """Return distributions that pip installed."""
    return tuple(PipPackage(name, "2.0", f"{name}==2.0") for name in names)


def test_torch_from_both_sides_is_reported() -> None:
    """32 (pytorch#12470, pixi#1230): conda's pytorch and pip's torch are one distribution; both versions are named."""
    records = (record("pytorch", "2.1.0", depends=("python >=3.11",)), record("python", "3.11.7"))
    (found,) = double_owned(records, pip("torch", "six"))
    assert (found.package.name, [one.name for one in found.records], found.same_files) == ("torch", ["pytorch"], True)
    notice = found.notice()
    assert notice.message == "torch 2.0 is from pip, and pytorch 2.1.0 is from conda: one is written over the other"
    assert "owner: {torch: conda}" in notice.hint


def test_a_second_copy_beside_is_another_thing() -> None:
    """32: NVIDIA's wheels of a library that conda brings lie beside it, and which one is loaded is chance."""
    (found,) = double_owned((record("nccl", depends=("libgcc",)),), pip("nvidia-nccl-cu12"))
    assert not found.same_files
    assert "both are there" in found.notice().message


def test_what_only_shares_a_name_is_left_alone() -> None:
    """A C library is no owner of the project of its name, and pip may renew pip."""
    records = (record("zstd", depends=("libzlib",)), record("pip", depends=("python",)))
    assert double_owned(records, pip("zstd", "pip")) == ()
    assert [one.package.name for one in double_owned((record("numpy"),), pip("numpy"))] == ["numpy"]
