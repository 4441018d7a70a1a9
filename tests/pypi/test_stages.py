"""What is installed first and what has to wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.errors import InputError
from conda_llmenv.model import PipKind, PipRequest
from conda_llmenv.pypi.localsources import check_local_sources
from conda_llmenv.pypi.stages import check_request, split
from tests.index.fixtures import requirement, section


def stages(*requirements: object, **fields: object) -> tuple[list[str], list[str]]:
    """Return the texts of both stages."""
    first, late = split(section(*requirements, **fields))  # type: ignore[arg-type]  # the section checks what it is given
    return [one.text for one in first], [one.text for one in late]


def test_known_and_named_builds_are_second_in_order() -> None:
    """5 (princeton-nlp/SimPO): flash-attn and torch in one list; so is what the fragment names itself."""
    first, late = stages("flash_attn==2.7.4", "torch==2.6", "my-ext", "numpy", no_build_isolation=["My_Ext"])
    assert (first, late) == (["torch==2.6", "numpy"], ["flash_attn==2.7.4", "my-ext"])


def test_wheels_are_first_wherever_they_lie() -> None:
    """A prebuilt flash-attn from an address or a folder needs no build."""
    url = "flash-attn @ https://h/flash_attn-2.7.4+cu12torch2.6-cp311-cp311-linux_x86_64.whl#sha256=ab"
    remote = requirement(url, kind=PipKind.URL)
    local = requirement("wheels/x.whl", kind=PipKind.PATH, path=Path("/w/x-1-py3-none-any.whl"))
    assert stages(remote, local) == ([url, "wheels/x.whl"], [])


def test_sources_are_second() -> None:
    """Version control, folders and editable ones are built against what is there."""
    git = requirement("git+https://h/apex", kind=PipKind.VCS)
    folder = requirement("./x", kind=PipKind.PATH, path=Path("/x"))
    editable = requirement("-e .", kind=PipKind.EDITABLE, path=Path("/y"))
    archive = requirement("a @ https://h/a-1.tar.gz", kind=PipKind.URL)
    first, late = stages(git, folder, editable, archive)
    assert late == ["git+https://h/apex", "./x", "-e ."]
    assert first == ["a @ https://h/a-1.tar.gz"]


def test_every_missing_source_is_named_at_once() -> None:
    """10 and 11 (open_flamingo, gaussian-splatting): one report with each file and line."""
    absent = [
        requirement(f"submodules/{name}", kind=PipKind.PATH, path=Path(f"/nowhere/{name}"), line=line)
        for name, line in (("x", 7), ("y", 8))
    ]
    with pytest.raises(InputError) as caught:
        check_local_sources(section(*absent), {})
    assert caught.value.message.startswith("env.yml:7: submodules/x is not there")
    assert caught.value.details == ("env.yml:8: submodules/y is not there: no file or folder /nowhere/y",)
    assert [origin.line for origin in caught.value.origins] == [7, 8]


def test_pip_section_without_python_is_an_input_mistake() -> None:
    """An environment without Python cannot have a pip section."""
    with pytest.raises(InputError, match=r"env\.yml:5: the environment has a pip section and no Python"):
        check_request(PipRequest(section("numpy"), ""), {})
