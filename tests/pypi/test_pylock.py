"""uv's resolutions as packages: every acceptable file with its hash, and what an environment keeps of it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from msgspec import structs

from conda_llmenv.model import PipArtifact, PipPackage
from conda_llmenv.pypi.pylock import completed, parse_pylock
from tests.index.artifacts import sdist, source_files, wheel
from tests.index.fixtures import MakeRequest, Recorder, section
from tests.index.server import serve, write_flat
from tests.pypi.test_uv_resolve import uv

TAGGED = "py2.py3-none-any"


def test_every_file_of_an_index_is_kept(environ: dict[str, str], make_request: MakeRequest, recorder: Recorder) -> None:
    """Wheels first, then the sources, each with its own hash; together they are the package's hashes."""
    files = [wheel("lib", "1.0"), wheel("lib", "1.0", tag=TAGGED), sdist("lib", "1.0", source_files("lib", "1.0"))]
    with serve(files) as index:
        (package,) = uv(environ, index_url=index.url).resolve(make_request(section("lib")), recorder).packages
        folder = index.url.replace("/simple", "/files")
    found = {artifact.url: artifact.hashes for artifact in package.artifacts}
    assert found == {f"{folder}/{one.file_name}": (f"sha256:{one.sha256}",) for one in files}
    assert package.artifacts[-1].url.endswith(".tar.gz")
    assert package.hashes == tuple(text for one in package.artifacts for text in one.hashes)
    assert (package.url, package.size) == (package.artifacts[0].url, package.artifacts[0].size)


def test_a_folder_of_wheels_is_measured(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder, tmp_path: Path
) -> None:
    """Files beside each other have no page that states sizes: they are read."""
    one = wheel("lib", "1.0")
    folder = write_flat(tmp_path / "wheels", [one])
    installer = uv(environ, no_index="1", find_links=str(folder))
    (package,) = installer.resolve(make_request(section("lib")), recorder).packages
    address = (folder / one.file_name).as_uri()
    assert package.artifacts == (PipArtifact(address, (f"sha256:{one.sha256}",), len(one.content)),)


def test_files_without_a_hash_get_theirs(tmp_path: Path) -> None:
    """What uv before 0.12 wrote for a folder: a path and nothing else."""
    one, source = wheel("lib", "1.0"), sdist("lib", "1.0", source_files("lib", "1.0"))
    write_flat(tmp_path, [one, source])
    text = f"[[packages]]\nname = 'lib'\nversion = '1.0'\nwheels = [{{ path = '{one.file_name}' }}]\n"
    (tmp_path / "pylock.toml").write_text(f"{text}sdist = {{ path = '{source.file_name}' }}\n")
    (bare,) = parse_pylock(tmp_path / "pylock.toml", tmp_path / "stubs")
    assert bare.hashes == ()
    package = completed(bare)
    assert package.hashes == (f"sha256:{one.sha256}", f"sha256:{source.sha256}")
    assert (package.size, package.artifacts[1].size) == (len(one.content), len(source.content))
    gone = structs.replace(bare, artifacts=(PipArtifact((tmp_path / "gone.whl").as_uri()),))
    assert completed(gone) == gone


def test_hashes_somebody_wrote_narrow_the_files(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """``lib==1.0 --hash=…``: only the file with that hash stays acceptable."""
    one, other = wheel("lib", "1.0"), wheel("lib", "1.0", tag=TAGGED)
    with serve([one, other]) as index:
        request = make_request(section(f"lib==1.0 --hash=sha256:{one.sha256}"))
        (package,) = uv(environ, index_url=index.url).resolve(request, recorder).packages
    assert package.hashes == (f"sha256:{one.sha256}",)
    assert [artifact.hashes for artifact in package.artifacts] == [package.hashes]


def test_the_folder_inside_an_archive_is_kept(tmp_path: Path) -> None:
    """A project in a folder of an archive installs from there and not from the archive's root."""
    archive = (
        f"{{ url = 'https://h.example/x-1.0.zip', subdirectory = 'python', hashes = {{ sha256 = '{'0' * 64}' }} }}"
    )
    (tmp_path / "pylock.toml").write_text(f"[[packages]]\nname = 'x'\narchive = {archive}\n")
    (package,) = parse_pylock(tmp_path / "pylock.toml", tmp_path / "stubs")
    assert package.requirement == "x @ https://h.example/x-1.0.zip#subdirectory=python"


def test_an_environment_keeps_the_files(environ: dict[str, str], make_request: MakeRequest, recorder: Recorder) -> None:
    """What is noted inside an environment as JSON comes back as the same package."""
    with serve([wheel("lib", "1.0")]) as index:
        (package,) = uv(environ, index_url=index.url).resolve(make_request(section("lib")), recorder).packages
    noted = json.loads(json.dumps(msgspec.to_builtins(package)))
    assert msgspec.convert(noted, PipPackage, strict=False) == package
