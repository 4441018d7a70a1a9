"""Where an environment goes, and what is refused before anything is written."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conda_llmenv.errors import InputError, NotFoundError, PrefixError
from conda_llmenv.prefix.location import find, is_environment, locate, path_notices


@dataclass
class Folders:
    """The part of a configuration that matters here."""

    envs_dirs: tuple[Path, ...] = ()
    root_prefix: Path | None = None
    environ: dict[str, str] = field(default_factory=dict)

    def locate(self, name: str | None = None, prefix: str | None = None) -> Path:
        """Call the function under test."""
        return locate(name, prefix, config=self, environ=self.environ)

    def find(self, name: str | None = None, prefix: str | None = None) -> Path:
        """Call the function under test."""
        return find(name, prefix, config=self, environ=self.environ)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """Return a home with two folders of environments, both there."""
    for name in ("one", "two", "home"):
        (tmp_path / name).mkdir()
    return Folders((tmp_path / "one", tmp_path / "two"), environ={"HOME": str(tmp_path / "home"), "WORK": "/w"})


def environment(prefix: Path) -> Path:
    """Make what conda takes for an environment."""
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta/history").touch()
    return prefix


def test_a_new_name_goes_to_the_first_folder_that_can_be_written(folders: Folders, tmp_path: Path) -> None:
    """As with conda; a folder that is missing but can be made counts."""
    assert folders.locate("sft") == tmp_path / "one" / "sft"
    folders.envs_dirs = (tmp_path / "home" / ".conda" / "envs", tmp_path / "two")
    assert folders.locate("sft") == tmp_path / "home" / ".conda" / "envs" / "sft"


def test_an_existing_name_is_found_in_every_folder(folders: Folders, tmp_path: Path) -> None:
    """The first one wins."""
    environment(tmp_path / "two" / "sft")
    assert folders.locate("sft") == tmp_path / "two" / "sft"
    assert folders.find("sft") == tmp_path / "two" / "sft"
    environment(tmp_path / "one" / "sft")
    assert folders.find("sft") == tmp_path / "one" / "sft"


def test_no_writable_folder_is_explained(folders: Folders, tmp_path: Path) -> None:
    """It names the folders and what to do."""
    folders.envs_dirs = (Path("/proc/nothing"),)
    if os.access("/proc", os.W_OK):  # root may write to everything access(2) is asked about
        (tmp_path / "file").touch()
        folders.envs_dirs = (tmp_path / "file",)
    with pytest.raises(PrefixError, match="no folder for environments can be written") as caught:
        folders.locate("sft")
    assert "envs_dirs" in caught.value.hint


HOSTILE_NAMES = [
    "", " ", ".", "..", "...", "-", "-p", "--prefix", "a b", "a\nb", "a\n", "a\0b", "a/b", "/a", "a/", "a\\b",
    "../../etc",
    "$(x)", "`x`", "${HOME}", "~", "~root", "a;b", "a|b", "a&b", "a'b", 'a"b', "a*", "a?", "a[b]", "a:b", "a#b", "a,b",
    "a=b", "a@b", "a%b", "a!b", "a(b)", "a<b", "a>b", "a{b}", "a^b", "ä", "环境", "a\u200bb", "a\u202eb", "\ufeffa",
    "a\tb",
    "x" * 65, "x" * 300, "a..b", "base", "BASE", "Base", "root", "\ud800", "a\x7f", "a\x1b[31m",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_hostile_names_are_refused_before_anything_is_written(name: str, folders: Folders, tmp_path: Path) -> None:
    """Row 34 and case 17: exit code 2, the rule in the hint, and a message that shows no control character."""
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError) as caught:
        folders.locate(name)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    assert caught.value.message.isprintable()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["a", "sft", "torch-2.6_cu124", "C++", "x" * 64, "9"])
def test_ordinary_names_are_taken(name: str, folders: Folders, tmp_path: Path) -> None:
    """The rule is not stricter than people need."""
    assert folders.locate(name) == tmp_path / "one" / name


def test_base_is_refused_by_name_and_by_path(folders: Folders, tmp_path: Path) -> None:
    """Whatever spelling (case 17)."""
    folders.root_prefix = environment(tmp_path / "conda")
    (tmp_path / "link").symlink_to(tmp_path / "conda")
    for prefix in ("conda", "conda/", "one/../conda", "link"):
        with pytest.raises(InputError, match="is never touched"):
            folders.locate(prefix=str(tmp_path / prefix))
    with pytest.raises(InputError, match="is never touched"):
        folders.locate("base")


def test_a_prefix_is_expanded(folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``~``, ``$VAR``, relative parts; the last link is kept as it is."""
    monkeypatch.chdir(tmp_path)
    environment(tmp_path / "one" / "real")
    (tmp_path / "link").symlink_to(tmp_path / "one" / "real")
    expected = {
        "~/env": tmp_path / "home" / "env",
        "./env": tmp_path / "env",
        "env": tmp_path / "env",
        "one/../env": tmp_path / "env",
        "$WORK/env": Path("/w/env"),
        "${WORK}/env/": Path("/w/env"),
        "link": tmp_path / "link",
    }
    assert {text: folders.locate(prefix=text) for text in expected} == expected
    with pytest.raises(InputError, match=r"\$"):
        folders.locate(prefix="$UNKNOWN/env")


@pytest.mark.parametrize(
    ("prefix", "words"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("/", "root of the file system"),
        ("//", "root of the file system"),
        ("/tmp/..", "root of the file system"),
        ("~", "home folder"),
        ("~/x/..", "home folder"),
        ("/x/a:b", "separates folders in PATH"),
        ("/x/a\nb", "cannot be shown"),
        ("/x/a\x1b[2Jb", "cannot be shown"),
        ("/x/a\0b", "NUL"),
        ("/x/\udcff", "cannot be shown"),
        ("/" + "x" * 255, "bytes long"),
    ],
    ids=ascii,
)
def test_a_prefix_that_can_be_none_is_refused(prefix: str, words: str, folders: Folders) -> None:
    """Exit code 2 and a next step (rows 33 and 34)."""
    with pytest.raises(InputError, match=words) as caught:
        folders.locate(prefix=prefix)
    assert caught.value.hint
    assert caught.value.message.isprintable()


def test_the_folder_of_environments_is_none(folders: Folders, tmp_path: Path) -> None:
    """Nor is a folder directly inside an environment, as conda has it."""
    with pytest.raises(InputError, match="folder of all named environments"):
        folders.locate(prefix=str(tmp_path / "one"))
    environment(tmp_path / "one" / "a")
    with pytest.raises(InputError, match="lies inside the environment"):
        folders.locate(prefix=str(tmp_path / "one" / "a" / "b"))


@pytest.mark.parametrize("kind", ["data", "file", "dangling", "below a file", "socket"])
def test_what_is_in_the_way_is_named(kind: str, folders: Folders, tmp_path: Path) -> None:
    """An occupied place is refused and left alone (row 33)."""
    target = tmp_path / "env"
    if kind == "data":
        target.mkdir()
        (target / "thesis.tex").touch()
    elif kind == "file":
        target.touch()
    elif kind == "dangling":
        target.symlink_to(tmp_path / "nowhere")
    elif kind == "socket":
        os.mkfifo(target)
    else:
        target.touch()
        target /= "deeper"
    with pytest.raises(PrefixError) as caught:
        folders.locate(prefix=str(target))
    assert str(tmp_path / "env") in caught.value.message
    assert caught.value.hint


def test_an_empty_folder_is_fine(folders: Folders, tmp_path: Path) -> None:
    """So is one that is an environment, which may be replaced."""
    (tmp_path / "env").mkdir()
    assert folders.locate(prefix=str(tmp_path / "env")) == tmp_path / "env"
    environment(tmp_path / "env")
    assert folders.locate(prefix=str(tmp_path / "env")) == tmp_path / "env"


def test_a_parent_that_everybody_may_write_to_is_refused(folders: Folders, tmp_path: Path) -> None:
    """Anybody could swap the environment for another; with the sticky bit, as in /tmp, they cannot (row 32)."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(PrefixError, match="world-writable without the sticky bit"):
        folders.locate(prefix=str(shared / "env"))
    shared.chmod(0o1777)
    assert folders.locate(prefix=str(shared / "env")) == shared / "env"


def test_name_and_prefix_exclude_each_other(folders: Folders) -> None:
    """One of them is needed to create."""
    with pytest.raises(InputError, match="a name and a prefix"):
        folders.locate("a", "b")
    with pytest.raises(InputError, match="neither a name nor a prefix"):
        folders.locate()


def test_find_takes_the_active_environment(folders: Folders, tmp_path: Path) -> None:
    """As conda does when nothing is given."""
    with pytest.raises(InputError, match="none is active"):
        folders.find()
    folders.environ["CONDA_PREFIX"] = str(environment(tmp_path / "active"))
    assert folders.find() == tmp_path / "active"


def test_find_offers_close_names(folders: Folders, tmp_path: Path) -> None:
    """A slip of the finger costs one look."""
    environment(tmp_path / "two" / "pretrain")
    with pytest.raises(NotFoundError, match="no environment named 'pretrian'") as caught:
        folders.find("pretrian")
    assert "pretrain" in caught.value.hint
    with pytest.raises(NotFoundError, match="no environment at"):
        folders.find(prefix=str(tmp_path / "home"))


def test_odd_paths_give_notice(tmp_path: Path) -> None:
    """Blanks and long paths work, but other tools may stumble."""
    assert path_notices(Path("/envs/a")) == ()
    assert [notice.code for notice in path_notices(Path("/my envs/a"))] == ["prefix-spaces"]
    assert [notice.code for notice in path_notices(Path("/" + "x" * 120))] == ["prefix-long"]
    assert not is_environment(tmp_path)


@pytest.mark.parametrize("prefix", ["/dev/null", "/dev/null/env", "$LOOP", "$LOOP/env"])
def test_odd_places_are_refused_with_a_next_step(prefix: str, folders: Folders, tmp_path: Path) -> None:
    """Devices and links in a circle raise nothing else."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    folders.environ["LOOP"] = str(tmp_path / "loop")
    with pytest.raises(PrefixError) as caught:
        folders.locate(prefix=prefix)
    assert caught.value.hint
