"""What a pip section names on this machine is looked at before a tool is started."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conda_llmenv.errors import InputError
from conda_llmenv.model import PipKind, PipRequirement
from conda_llmenv.pypi.localsources import check_local_sources
from tests.index.fixtures import requirement, section


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a project, an empty folder, a wheel, a text and a repository."""
    for name in ("project/pyproject.toml", "old/setup.py", "settings/setup.cfg", "a-1-py3-none-any.whl", "passwd"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "repository/.git").mkdir(parents=True)
    return tmp_path


def local(folder: Path, name: str, kind: PipKind) -> PipRequirement:
    """Return a requirement that names a path in the folder."""
    return requirement(f"./{name}", line=7, kind=kind, path=folder / name)


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("empty", PipKind.EDITABLE, "has neither pyproject.toml nor setup.py"),
        ("empty", PipKind.PATH, "has neither pyproject.toml nor setup.py"),
        ("settings", PipKind.PATH, "has neither pyproject.toml nor setup.py"),
        ("passwd", PipKind.URL, "neither a folder nor named like a wheel or an archive"),
        ("a-1-py3-none-any.whl", PipKind.EDITABLE, "cannot be editable"),
        ("gone", PipKind.PATH, "is not there"),
    ],
)
def test_what_can_never_be_installed_is_refused_with_its_line(
    folder: Path, name: str, kind: PipKind, reason: str
) -> None:
    """An input mistake, known before anything is downloaded."""
    with pytest.raises(InputError, match=rf"^env\.yml:7: .*{re.escape(reason)}"):
        check_local_sources(section(local(folder, name, kind)), {})


def test_what_can_be_installed_passes(folder: Path) -> None:
    """Projects of either kind, wheels, and repositories at a commit."""
    sources = [local(folder, name, PipKind.PATH) for name in ("project", "old", "a-1-py3-none-any.whl")]
    repository = requirement(f"x @ git+file://{folder}/repository@main#egg=x", kind=PipKind.VCS)
    check_local_sources(section(*sources, repository), {})


@pytest.mark.parametrize(
    "text", ["x @ git+file:///nope", "git+file:///nope@main#egg=x", "-e git+file:///nope", "git+file://${ROOT}/nope"]
)
def test_a_local_repository_must_be_there(text: str) -> None:
    """Git would be asked in vain."""
    with pytest.raises(InputError, match=r"leads nowhere: no git repository .*nope$"):
        check_local_sources(section(requirement(text, kind=PipKind.VCS)), {"ROOT": "/r"})


@pytest.mark.parametrize("text", ["${ROOT}/gone", "-e ${ROOT}/gone[dev]", "x @ file://${ROOT}/gone"])
def test_a_path_with_a_reference_is_looked_for_where_it_leads(folder: Path, text: str) -> None:
    """As pip fills them in: upper-case names in braces, nothing else."""
    wanted = section(requirement(text, kind=PipKind.EDITABLE if text.startswith("-e") else PipKind.PATH))
    with pytest.raises(InputError, match=f"no file or folder {folder}/gone"):
        check_local_sources(wanted, {"ROOT": str(folder)})
    check_local_sources(wanted, {})
