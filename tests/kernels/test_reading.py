"""Kernelspecs as others leave them on the disk, and where Jupyter looks for them."""

from __future__ import annotations

import ast
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conda_llmenv import activation
from conda_llmenv.entering import variables
from conda_llmenv.errors import InputError
from conda_llmenv.kernels import registering
from conda_llmenv.kernels.liveness import look_inside
from conda_llmenv.kernels.places import searched
from conda_llmenv.kernels.reading import kernelspecs, read_kernelspec
from conda_llmenv.model.kernels import Place

OURS = {"argv": ["/envs/sft/bin/python"], "metadata": {"llmenv": {"prefix": "/envs/sft"}}}


def written(folder: Path, content: object) -> Path:
    """Write a kernelspec."""
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", '{"argv": "python"}', '{"argv": [1]}', '{"argv": []}', '{"argv": ["x"], "metadata": [1]}',
     '{"argv": ["x"], "env": 3}', "[" * 100_000, '{"argv": ["x"], "metadata": {"llmenv": {}}, "env": []}'],
)  # fmt: skip
def test_odd_content_is_told_and_never_ours(tmp_path: Path, content: str) -> None:
    """A list of kernels never fails for one of them, and what is not plainly ours is somebody else's."""
    spec = read_kernelspec(written(tmp_path / "Odd", content))
    assert spec is not None
    assert spec.name == "odd"
    assert spec.ours is False


def test_pipes_and_large_files_are_not_waited_for(tmp_path: Path) -> None:
    """A device or a pipe as kernel.json is a broken kernelspec."""
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe/kernel.json")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dir/kernel.json").mkdir(parents=True)
    written(tmp_path / "large", json.dumps({"argv": ["x" * 2**21]}))
    found = kernelspecs([Place(tmp_path, "user"), Place(tmp_path / "nowhere", "user")])
    assert {spec.name: bool(spec.problem) for spec in found} == {"pipe": True, "dir": True, "large": True}


@pytest.mark.parametrize("noted", [None, "x", [], {}, {"prefix": 1}])
def test_only_our_note_makes_it_ours(tmp_path: Path, noted: object) -> None:
    """A mapping with a prefix; anything else by that name is not."""
    assert not read_kernelspec(written(tmp_path / "k", {**OURS, "metadata": {"llmenv": noted}})).ours  # type: ignore[union-attr]  # it is there


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_another_account_wrote_is_not_ours(tmp_path: Path) -> None:
    """In a folder that several may write: its interpreter is never run to repair it, and it is not replaced."""
    folder = written(tmp_path / "k", OURS)
    os.chown(folder, 12345, 12345)
    spec = read_kernelspec(folder)
    assert spec is not None
    assert (spec.ours, spec.noted is None) == (False, False)
    with pytest.raises(InputError, match="left alone"):
        registering.check_replaceable(folder)


def test_where_jupyter_looks(tmp_path: Path) -> None:
    """JUPYTER_PATH, the account's own folder, its user site's, the system's, IPython's old one; each once."""
    environ = {"HOME": str(tmp_path), "JUPYTER_PATH": f"/a:{tmp_path}/.local/share/jupyter"}
    paths = [str(place.path) for place in searched(environ, [])]
    own = f"{tmp_path}/.local/share/jupyter/kernels"
    system = ["/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"]
    assert paths == ["/a/kernels", own, *system, f"{tmp_path}/.ipython/kernels"]
    for more, first in (
        ({"JUPYTER_DATA_DIR": "/data"}, "/data/kernels"),
        ({"XDG_DATA_HOME": "/xdg"}, "/xdg/jupyter/kernels"),
    ):
        assert str(searched({"HOME": str(tmp_path), **more})[0].path) == first


def test_a_failed_exchange_leaves_what_was_there(tmp_path: Path) -> None:
    """The folder that was to come does not exist: the old one is back, and nothing else is left."""
    old = written(tmp_path / "k", OURS)
    with pytest.raises(OSError, match="No such file"):
        registering._publish(tmp_path / "work/new", old)
    assert read_kernelspec(old).ours  # type: ignore[union-attr]  # it is there


def test_what_changes_hands_meanwhile_goes_back(tmp_path: Path) -> None:
    """Somebody else's kernelspec that came after the check is moved back and left alone."""
    theirs = written(tmp_path / "k", {"argv": ["/usr/bin/R"]})
    (tmp_path / "work").mkdir()
    new = written(tmp_path / "work/new", OURS)
    with pytest.raises(InputError, match="changed by somebody else"):
        registering._publish(new, theirs)
    assert json.loads((theirs / "kernel.json").read_text()) == {"argv": ["/usr/bin/R"]}


def test_many_at_once_leave_one(tmp_path: Path) -> None:
    """Processes that register the same name at the same time all end well, and nothing of theirs is left."""
    made = written(tmp_path / "made", OURS)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: registering.install(made, tmp_path / "kernels", "k"), range(18)))
    assert [path.name for path in (tmp_path / "kernels").iterdir()] == ["k"]
    assert read_kernelspec(tmp_path / "kernels/k").ours  # type: ignore[union-attr]  # it is there


def test_what_a_killed_run_left_goes_a_day_later(tmp_path: Path) -> None:
    """Not before: it may be at work. To Jupyter it never was a kernelspec."""
    made = written(tmp_path / "made", OURS)
    for name, age in ((".llmenv-old", 90_000), (".llmenv-new", 60)):
        written(tmp_path / "kernels" / name / "new", OURS)
        os.utime(tmp_path / "kernels" / name, (time.time() - age, time.time() - age))
    registering.install(made, tmp_path / "kernels", "k")
    assert sorted(path.name for path in (tmp_path / "kernels").iterdir()) == [".llmenv-new", "k"]
    assert [spec.name for spec in kernelspecs([Place(tmp_path / "kernels", "user")])] == ["k"]


@pytest.mark.parametrize(
    "path", [*registering.ENTERING.glob("*.py"), *registering.INSIDE.glob("*.py")], ids=lambda path: path.name
)
def test_what_is_copied_runs_in_older_pythons(path: Path) -> None:
    """Its grammar is that of Python 3.8, and it imports nothing but the standard library and its neighbours."""
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {
        str(node.module).split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level
    }
    assert imported <= sys.stdlib_module_names | {"ipykernel", "jupyter_client"}


def test_install_copies_and_refuses_links(tmp_path: Path) -> None:
    """For whoever makes a kernelspec otherwise: the same rules."""
    made = written(tmp_path / "made", OURS)
    assert registering.install(made, tmp_path / "kernels", "k") == tmp_path / "kernels/k"
    assert registering.install(made, tmp_path / "kernels", "k").is_dir()
    assert [path.name for path in (tmp_path / "kernels").iterdir()] == ["k"]
    (tmp_path / "kernels/link").symlink_to(tmp_path / "kernels/k")
    with pytest.raises(InputError, match="a link to"):
        registering.install(made, tmp_path / "kernels", "link")


def test_what_is_inside_is_read_without_running_it(tmp_path: Path) -> None:
    """Versions of Python, torch and CUDA from records and files, and a digest that moves with the environment."""
    prefix = tmp_path / "env"
    site = prefix / "lib/python3.12/site-packages"
    for folder in ("bin", "conda-meta", "lib/python3.12/site-packages/torch", ".."):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    (prefix / "bin/python").symlink_to("/bin/sh")
    (prefix / "conda-meta/python-3.12.4-h123_0.json").write_text("{}")
    (site / "ipykernel-7.1.0.dist-info").mkdir()
    version = "from typing import Optional\n__version__ = '2.9.0+cu128'\ncuda: Optional[str] = '12.8'\nhip = None\n"
    (site / "torch/version.py").write_text(version)
    inside = look_inside(prefix)
    assert (inside.python, inside.torch, inside.cuda, inside.ipykernel) == ("3.12.4", "2.9.0+cu128", "12.8", "7.1.0")
    moved = prefix.rename(tmp_path / "moved")
    assert look_inside(moved) == inside
    (moved / "lib/python3.12/site-packages/six-1.dist-info").mkdir()
    assert look_inside(moved).digest != inside.digest
    assert look_inside(tmp_path / "nowhere").python == ""


def test_both_writings_of_condas_words_agree() -> None:
    """What is copied beside a kernel cannot import the rest of the program."""
    assert (variables.UNSET, variables.RESERVED) == (activation.UNSET, activation.RESERVED)
