"""Resolving with the real uv against a real index."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.errors import InputError, PipFailed
from conda_llmenv.model import PipKind, PipPlan
from conda_llmenv.pypi.config import parse_config
from conda_llmenv.pypi.uv import UvInstaller
from tests.index.artifacts import sdist, source_files, wheel
from tests.index.fixtures import CANARY, MakeRequest, Recorder, requirement, section
from tests.index.server import serve, write_flat


def uv(environ: dict[str, str], **settings: str) -> UvInstaller:
    """Return uv under a pip configuration; ``extra_index_url`` stands for ``PIP_EXTRA_INDEX_URL``."""
    config = parse_config([], {f"PIP_{key.upper()}": value for key, value in settings.items()})
    return UvInstaller(config, environ, worth_fetching=0)


def versions(plan: PipPlan) -> dict[str, str | None]:
    """Return name → version of a plan."""
    return {package.name: package.version for package in plan.packages}


def test_plan_pins_with_hashes_and_sizes(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """A plan holds every transitive package with the hash that the index states, before any environment exists."""
    top, base = wheel("top", "1.0", ["base>=2"]), wheel("base", "2.5")
    with serve([top, base, wheel("base", "1.0")]) as index:
        plan = uv(environ, index_url=index.url).resolve(make_request(section("top")), recorder)
    assert versions(plan) == {"base": "2.5", "top": "1.0"}
    assert [package.hashes for package in plan.packages] == [(f"sha256:{base.sha256}",), (f"sha256:{top.sha256}",)]
    assert plan.packages[0].url == index.url.replace("/simple", "/files/base-2.5-py3-none-any.whl")


def test_provided_by_conda_is_neither_fetched_nor_planned(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """What conda installs satisfies a transitive requirement, even in a version no index has, without dependencies."""
    with serve([wheel("top", "1.0", ["base>=2"]), wheel("base", "9.0", ["unwanted"])]) as index:
        request = make_request(section("top"), provided={"base": "2.7.post3"})
        plan = uv(environ, index_url=index.url).resolve(request, recorder)
        assert versions(plan) == {"top": "1.0"}
        assert not [path for path in index.requests if "unwanted" in path or "base" in path]


def test_conflict_with_conda_names_its_version(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """7 (stanford-crfm/mistral): pip does not silently overwrite conda's numpy; both sides are named."""
    with serve([wheel("numpy", "1.2")]) as index:
        installer, request = (
            uv(environ, index_url=index.url),
            make_request(section("numpy==1.2"), provided={"numpy": "1.26.4"}),
        )
        with pytest.raises(PipFailed) as caught:
            installer.resolve(request, recorder)
    assert (
        caught.value.message
        == "env.yml:5: numpy could not be resolved: conda provides numpy 1.26.4, which does not fit"
    )
    assert "owner: {numpy: pip}" in caught.value.hint


def test_transitive_conflict_with_conda_names_the_package(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """A dependency of a dependency that conda's version cannot meet is refused with the chain in the details."""
    with serve([wheel("top", "1.0", ["numpy>=2"]), wheel("numpy", "2.0")]) as index:
        installer, request = (
            uv(environ, index_url=index.url),
            make_request(section("top"), provided={"numpy": "1.26.4"}),
        )
        with pytest.raises(PipFailed) as caught:
            installer.resolve(request, recorder)
    assert "conda provides numpy 1.26.4" in caught.value.message
    assert any("top" in line for line in caught.value.details)


def test_no_such_package_is_named_with_its_line(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """55 (conda#8537, #10073, #9042): the error names the requirement, its line and what the tool said."""
    with serve([wheel("other", "1.0")]) as index, pytest.raises(PipFailed) as caught:
        uv(environ, index_url=index.url).resolve(make_request(section("other", "no-such-pkg==0")), recorder)
    assert caught.value.message == "env.yml:6: no-such-pkg could not be resolved"
    assert any("no-such-pkg was not found" in line for line in caught.value.details)
    assert caught.value.exit_code == 1


def test_options_of_the_section_are_applied_wherever_they_stood(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """2 (facebookresearch/dinov2): an extra index between two packages counts for both of them."""
    with serve([wheel("one", "1")]) as main, serve([wheel("two", "2")]) as extra:
        wanted = section("one==1", "two==2", options=[("--extra-index-url", extra.url)])
        plan = uv(environ, index_url=main.url).resolve(make_request(wanted), recorder)
    assert versions(plan) == {"one": "1", "two": "2"}


def test_find_links_of_pips_configuration_count(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder, tmp_path: Path
) -> None:
    """A local version that only a find-links folder has meets a pin without one; its size is known."""
    cpu = wheel("torch", "2.0+cpu")
    folder = write_flat(tmp_path / "wheels", [cpu])
    with serve([wheel("torch", "2.0")]) as index:
        plan = uv(environ, index_url=index.url, find_links=str(folder)).resolve(
            make_request(section("torch==2.0")), recorder
        )
    assert versions(plan) == {"torch": "2.0+cpu"}
    assert plan.packages[0].size == len(cpu.content)


def test_constraint_file_of_pips_configuration_holds(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder, tmp_path: Path
) -> None:
    """``constraint = FILE`` in pip.conf caps a version, also from a path with a space."""
    cap = tmp_path / "my constraints.txt"
    cap.write_text("base<2\n")
    installer = UvInstaller(parse_config([], {"PIP_CONSTRAINT": "caps.txt"}), environ, directory=tmp_path)
    cap.rename(tmp_path / "caps.txt")
    with serve([wheel("base", "1.0"), wheel("base", "2.0")]) as index:
        wanted = section("base", options=[("--index-url", index.url)])
        assert versions(installer.resolve(make_request(wanted), recorder)) == {"base": "1.0"}


def test_higher_version_on_the_last_index_does_not_win(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """Dependency confusion: an index somebody added keeps its names, whatever others offer."""
    with serve([wheel("corp-lib", "1.0")]) as internal, serve([wheel("corp-lib", "99.0")]) as public:
        installer = uv(environ, index_url=public.url, extra_index_url=internal.url)
        plan = installer.resolve(make_request(section("corp-lib")), recorder)
    assert versions(plan) == {"corp-lib": "1.0"}


def test_version_only_the_last_index_has_is_found(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """A first index with an old copy does not hide the version asked for (PyTorch's index has old copies of numpy)."""
    with serve([wheel("numpy", "1.0")]) as extra, serve([wheel("numpy", "2.0")]) as main:
        installer = uv(environ, index_url=main.url, extra_index_url=extra.url)
        assert versions(installer.resolve(make_request(section("numpy>=2")), recorder)) == {"numpy": "2.0"}


def test_index_of_the_section_replaces_the_configured_ones(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """``--index-url`` in a fragment wins over every index of pip's configuration."""
    with serve([wheel("lib", "9.0")]) as configured, serve([wheel("lib", "1.0")]) as pinned:
        installer = uv(environ, index_url=configured.url, extra_index_url=configured.url)
        wanted = section("lib", options=[("--index-url", pinned.url)])
        assert versions(installer.resolve(make_request(wanted), recorder)) == {"lib": "1.0"}
        assert configured.requests == []


def test_own_uv_settings_do_not_interfere(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder, tmp_path: Path
) -> None:
    """A uv.toml and UV_* index variables of the user change nothing, and a notice says so."""
    settings = tmp_path / "home" / ".config" / "uv"
    settings.mkdir(parents=True)
    (settings / "uv.toml").write_text('[pip]\nno-index = true\nprerelease = "allow"\n')
    with serve([wheel("lib", "1.0"), wheel("lib", "2.0rc1")]) as index:
        installer = uv({**environ, "UV_NO_INDEX": "1", "UV_INDEX_URL": "http://127.0.0.1:1/"}, index_url=index.url)
        assert versions(installer.resolve(make_request(section("lib")), recorder)) == {"lib": "1.0"}
    assert [notice.code for notice in recorder.notices] == ["uv-variables-not-applied"]


def test_offline_says_what_the_cache_lacks(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """Offline works from the cache, and otherwise names the package that is missing from it."""
    with serve([wheel("lib", "1.0"), wheel("other", "1.0")]) as index:
        installer = uv(environ, index_url=index.url)
        installer.resolve(make_request(section("lib")), recorder)
        plan = installer.resolve(make_request(section("lib"), offline=True), recorder)
        assert versions(plan) == {"lib": "1.0"}
        with pytest.raises(PipFailed) as caught:
            installer.resolve(make_request(section("other"), offline=True), recorder)
    assert caught.value.message == "env.yml:5: other could not be resolved"
    assert "--offline" in caught.value.hint


def test_hash_somebody_wrote_is_the_only_one_accepted(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """``--hash`` behind a requirement that no file has stops the plan and shows both hashes."""
    good = wheel("lib", "1.0")
    with serve([good]) as index:
        installer = uv(environ, index_url=index.url)
        plan = installer.resolve(make_request(section(f"lib==1.0 --hash=sha256:{good.sha256}")), recorder)
        assert plan.packages[0].hashes == (f"sha256:{good.sha256}",)
        with pytest.raises(PipFailed) as caught:
            installer.resolve(make_request(section(f"lib==1.0 --hash=sha256:{'1' * 64}")), recorder)
    assert caught.value.message == "env.yml:5: lib could not be resolved"
    assert any("1" * 64 in line for line in caught.value.details)
    assert any(good.sha256 in line for line in caught.value.details)


def test_source_that_cannot_be_built_is_named(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """A broken source archive fails the plan with its name and the exception of its build."""
    broken = sdist("broken", "1.0", source_files("broken", "1.0", before="raise RuntimeError('sources are odd')"))
    with serve([broken]) as index, pytest.raises(PipFailed) as caught:
        uv(environ, index_url=index.url).resolve(make_request(section("broken")), recorder)
    assert caught.value.message == "env.yml:5: broken could not be resolved"
    assert any("sources are odd" in line for line in caught.value.details)


def test_source_that_imports_torch_waits_for_the_second_stage(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """48: sources nobody listed, whose build imports torch, are put off instead of failing the plan."""
    late = sdist("extension", "1.0", source_files("extension", "1.0", before="import torch"))
    with serve([late, wheel("lib", "1.0")]) as index:
        plan = uv(environ, index_url=index.url).resolve(make_request(section("extension", "lib")), recorder)
    assert plan.late == ("extension",)
    assert versions(plan) == {"lib": "1.0"}


def test_missing_local_source_is_refused_at_once(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder, tmp_path: Path
) -> None:
    """11 (graphdeco-inria/gaussian-splatting): an absent submodule folder fails before anything runs."""
    absent = requirement("submodules/x", path=tmp_path / "submodules" / "x", kind=PipKind.PATH, line=9)
    with pytest.raises(InputError) as caught:
        uv(environ).resolve(make_request(section(absent)), recorder)
    assert caught.value.message.startswith("env.yml:9: submodules/x is not there")
    assert "git submodule" in caught.value.hint


def test_extra_of_a_provided_distribution_is_reported(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """No pip extras come from conda: asking for one of conda's distribution gives a notice instead of silence."""
    with serve([wheel("lib", "1.0")]) as index:
        request = make_request(section("requests[socks]", "lib"), provided={"requests": "2.32.0"})
        plan = uv(environ, index_url=index.url).resolve(request, recorder)
    assert versions(plan) == {"lib": "1.0"}
    assert "extra 'socks'" in recorder.notices[0].message


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("six===junk", "env.yml:5: six===junk cannot be read as a pip requirement"),
        ("x @ hg+https://h/x", "needs hg, and uv knows git only"),
    ],
)
def test_a_line_that_uv_cannot_read_is_an_input_mistake(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder, text: str, told: str
) -> None:
    """It is told with the fragment's line, not with that of a file that is gone by then."""
    with serve([]) as index, pytest.raises(InputError) as caught:
        uv(environ, index_url=index.url).resolve(make_request(section(text)), recorder)
    assert told in caught.value.message
    assert "requirements.in" not in str(caught.value.details)


def test_nothing_is_left_in_the_home_but_the_cache(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """The store of credentials is locked when uv asks an index; that happens in the scratch folder."""
    with serve([wheel("top", "1.0")], user="u", password=CANARY) as index:
        url = index.url.replace("://", "://u@")
        with pytest.raises(PipFailed, match=r"^env\.yml:5: top could not be resolved"):
            uv(environ, index_url=url).resolve(make_request(section("top")), recorder)
    assert {path.name for path in Path(environ["HOME"]).iterdir()} == {".cache"}


def test_required_hashes_are_required_of_everything(
    environ: dict[str, str], make_request: MakeRequest, recorder: Recorder
) -> None:
    """``PIP_REQUIRE_HASHES`` refuses what cannot be hashed before anything is fetched, and lets the rest through."""
    with serve([wheel("top", "1.0")]) as index:
        installer = uv(environ, index_url=index.url, require_hashes="1")
        assert installer.resolve(make_request(section("top")), recorder).packages[0].hashes
        git = requirement("x @ git+https://h.example/x.git", kind=PipKind.VCS)
        with pytest.raises(InputError, match="requires hashes") as caught:
            installer.resolve(make_request(section("top", git)), recorder)
    assert any("h.example/x.git" in line for line in caught.value.details)
