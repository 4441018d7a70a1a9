"""Two environments in two places, changed at random: their digests are equal exactly while they are."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from conda_llmenv.prefix.integrity.digest import compute_digest
from tests.prefix.integrity.building import SITE, install, write

PLACE = b"<prefix>"
"""In the model of a content: where the prefix stands."""

NEW = ("share/a", "share/b/c.txt", f"{SITE}/m.py", "bin/run", f"{SITE}/x.pth", "bin/pure")
CONTENTS = (
    *(b"", b"a", b"a\0b", PLACE + b"\n", b"x" + PLACE + b"/y\n", PLACE + PLACE + b"\n", b"#!/usr/bin/env python\n"),
    *(b"#!" + PLACE + b"/bin/python3.11\n", b"#!" + PLACE + b"/bin/python\nimport x\n"),
)
INSTALLED = (
    *("share/tool/about.txt", "lib/libtool.so", "lib/pkgconfig/tool.pc", "bin/tool", "bin/pure", "bin/theirs"),
    *("bin/theirs-run", f"{SITE}/theirs/__init__.py", f"{SITE}/pure/__init__.py", "bin/found-on-path"),
)
UNSEEN = (f"{SITE}/pure/__pycache__/a.pyc", "conda-meta/history", f"{SITE}/theirs-2.0.dist-info/REQUESTED")
TARGETS = ("a", "../share/a", "<prefix>/share/a", "/etc")
SIDES = st.sampled_from(["one", "other", "both"])


class Side:
    """An environment and what was done to it, apart from where it lives: path or subject → what it is now."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.files: dict[str, tuple[bytes, bool | None]] = {}
        self.changed: dict[str, str | None] = {}
        self.turned: set[str] = set()

    def note(self, subject: str, value: str | None, usual: str | None) -> None:
        """Keep what something is now, unless it is what it was."""
        self.changed[subject] = value
        if value == usual:
            del self.changed[subject]

    @property
    def state(self) -> tuple[object, ...]:
        """Everything that should make a difference."""
        return self.files, self.changed, self.turned

    def plain(self, path: str) -> bool:
        """Return whether a plain file is there."""
        return (self.prefix / path).is_file() and not (self.prefix / path).is_symlink()

    def clear(self, path: str) -> Path:
        """Make room at a path."""
        file = self.prefix / path
        file.unlink(missing_ok=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        self.turned.discard(path)
        self.files.pop(path, None)
        self.changed.pop(path, None)
        return file


class TwoEnvironments(RuleBasedStateMachine):
    """Each step is done to one of them, or to both."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="equality-"))
        self.one = Side(install(self.folder / "e"))
        self.other = Side(install(self.folder / ("long-" * 30) / "in another"))

    def teardown(self) -> None:
        """Remove both."""
        shutil.rmtree(self.folder)

    def sides(self, which: str) -> list[Side]:
        """Return those that a step is done to."""
        return [side for name, side in (("one", self.one), ("other", self.other)) if which in (name, "both")]

    @rule(which=SIDES, path=st.sampled_from(NEW), content=st.sampled_from(CONTENTS), executable=st.booleans())
    def put_file(self, which: str, path: str, content: bytes, *, executable: bool) -> None:
        """Write a file, perhaps with the prefix in it."""
        for side in self.sides(which):
            write(side.clear(path), content.replace(PLACE, bytes(side.prefix)), executable=executable)
            side.files[path] = (content, executable)

    @rule(which=SIDES, path=st.sampled_from(NEW), leads_to=st.sampled_from(TARGETS))
    def put_link(self, which: str, path: str, leads_to: str) -> None:
        """Make a link, perhaps with the prefix in it."""
        for side in self.sides(which):
            side.clear(path).symlink_to(leads_to.replace("<prefix>", str(side.prefix)))
            side.changed[path] = leads_to

    @rule(which=SIDES, path=st.sampled_from([*NEW, *INSTALLED]))
    def remove(self, which: str, path: str) -> None:
        """Remove something, if it is there."""
        for side in self.sides(which):
            side.clear(path)
            side.note(path, None, "still there" if path in INSTALLED else None)

    @rule(which=SIDES, path=st.sampled_from(INSTALLED), data=st.sampled_from([b"x", b"xy", b"\n"]))
    def append(self, which: str, path: str, data: bytes) -> None:
        """Make a file longer."""
        for side in self.sides(which):
            if side.plain(path):
                with (side.prefix / path).open("ab") as stream:
                    stream.write(data)
                before, executable = side.files.get(path, (b"<installed>", None))
                side.files[path] = (before + data, executable)

    @rule(which=SIDES, path=st.sampled_from(INSTALLED))
    def turn_executable(self, which: str, path: str) -> None:
        """Turn round whether a file may be run."""
        for side in self.sides(which):
            if side.plain(path):
                file = side.prefix / path
                file.chmod(file.stat().st_mode ^ 0o100)
                content, executable = side.files.get(path, (b"", None))
                if executable is None:
                    side.turned ^= {path}
                else:
                    side.files[path] = (content, not executable)

    @rule(which=SIDES, path=st.sampled_from(UNSEEN), data=st.binary(max_size=3))
    def leave_behind(self, which: str, path: str, data: bytes) -> None:
        """Write what does not count."""
        for side in self.sides(which):
            write(side.prefix / path, data)

    @rule(which=SIDES, value=st.sampled_from(["a", "b", "<prefix>/data"]))
    def set_variable(self, which: str, value: str) -> None:
        """Set what activation sets."""
        for side in self.sides(which):
            text = value.replace("<prefix>", str(side.prefix))
            (side.prefix / "conda-meta/state").write_text(json.dumps({"env_vars": {"DATA": text}}))
            side.note("variable", value, "<prefix>/data")

    @rule(which=SIDES, build=st.sampled_from(["0", "1"]))
    def change_package(self, which: str, build: str) -> None:
        """Note another build of a package."""
        for side in self.sides(which):
            path = side.prefix / "conda-meta/pure-1-0.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), "build": build}))
            side.note("build", build, "0")

    @invariant()
    def equal_as_long_as_the_same_was_done(self) -> None:
        """In both directions: no change is missed, and the place makes none."""
        one, other = compute_digest(self.one.prefix), compute_digest(self.other.prefix)
        assert (one.value == other.value) == (self.one.state == self.other.state)


@pytest.mark.parametrize("examples", [15, pytest.param(300, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])])
def test_digests_are_equal_exactly_while_environments_are(examples: int) -> None:
    """Files, links, modes, packages and variables, on one side or on both."""
    run_state_machine_as_test(
        TwoEnvironments,
        settings=settings(
            max_examples=examples, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
