"""What holds for every exact format: what goes in comes out, no secret does, and an edit is told with its line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from conda_llmenv.errors import FileFormatError, InputError
from conda_llmenv.locks.exact import without_sha256
from conda_llmenv.locks.header import is_edited
from conda_llmenv.model import Channel, Lock, LockedPlatform, PipPackage, Record
from tests.locks.samples import CANARY, COMMITTED, LOCK, READ, WRITE, locks, record, wheel

pytestmark = pytest.mark.engine

EXACT = tuple(WRITE)
every_format = pytest.mark.parametrize("name", EXACT)


def told(name: str, one: Record) -> Record:
    """Return what a format carries of a record."""
    if name == "pixi":
        return one
    kept = replace(
        one,
        build_number=0,
        size=None,
        timestamp=None,
        constrains=(),
        noarch=None,
        license=None,
        track_features=(),
        python_site_packages_path=None,
        purls=(),
        depends=tuple(sorted(one.depends)),
    )
    return kept if name == "conda-lock" else replace(kept, depends=(), md5=None)


@every_format
@settings(max_examples=60, deadline=None)
@given(lock=locks())
def test_what_is_written_can_be_read_again(name: str, lock: Lock) -> None:
    """Each package comes back as far as the format tells it; so do channels in order, distributions and commits."""
    back = READ[name](WRITE[name](lock), "lock")
    expected = lock.platforms[:1] if name == "explicit" else lock.platforms
    assert [platform.subdir for platform in back.platforms] == [platform.subdir for platform in expected]
    assert back.channels == lock.channels
    assert (back.specs, back.facts) == (lock.specs, lock.facts)
    for ours, theirs in zip(expected, back.platforms, strict=True):
        assert [told(name, one) for one in theirs.records] == [told(name, one) for one in ours.records]
        if name != "explicit":
            assert theirs.pip == ours.pip
        else:
            assert [one.name for one in theirs.pip] == [one.name for one in ours.pip]


@every_format
def test_writing_twice_gives_the_same(name: str) -> None:
    """The text depends on nothing but the lock, ends in one line feed and is not taken for edited."""
    text = WRITE[name](LOCK)
    assert text == WRITE[name](READ[name](text, "lock")) or name == "explicit"
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert not is_edited(text)
    assert is_edited(text.replace("1.3.1", "1.3.2"))


@every_format
def test_lines_are_told(name: str) -> None:
    """The line of each package is where its entry stands."""
    text = WRITE[name](LOCK)
    lines = text.split("\n")
    found = READ[name](text, "lock").lines
    assert set(found) == {"numpy", "python", "tzdata", "zlib", "six", "tool"}
    assert all(package in lines[line - 1] for package, line in found.items())


@every_format
def test_no_secret_is_written(name: str) -> None:
    """Row 36: tokens, users, passwords and query secrets of channels, packages, indexes and repositories stay out."""
    secret = f"https://u:{CANARY}@h.example/t/tk-{CANARY}/ch"
    leaky = replace(
        record("libx"), url=f"{secret}/linux-64/libx-1.0-h0_0.conda", channel=secret, license=f"https://u:{CANARY}@h/"
    )
    six = wheel("six", "1.17.0")
    url = f"https://u:{CANARY}@h.example/six-1.17.0-py3-none-any.whl"
    packages = (
        replace(six, url=url, artifacts=(replace(six.artifacts[0], url=url),)),
        replace(COMMITTED, requirement=COMMITTED.requirement.replace("https://", f"https://x:{CANARY}@")),
    )
    lock = replace(
        LOCK,
        platforms=(LockedPlatform("linux-64", (leaky,), packages),),
        channels=(Channel(secret, secret),),
        pip_options=(f"--index-url https://u:{CANARY}@h.example/simple",),
        facts={"odd": f"https://u:{CANARY}@h.example/"},
        specs=(f"{secret}::libx",),
    )
    text = WRITE[name](lock)
    assert CANARY not in text
    back = READ[name](text, "lock")
    assert back.channels[0].url == "https://h.example/ch"
    assert back.platforms[0].records[0].url == "https://h.example/ch/linux-64/libx-1.0-h0_0.conda"


EDITS = {
    "a hash that is none": (r"a{64}", "a" * 63, "is not 64 hexadecimal digits"),
    "letters that are no digits": (r"a{64}", "z" * 64, "is not 64 hexadecimal digits"),
    "another host": (
        r"https://conda.anaconda.org/conda-forge/linux-64/zlib",
        "https://evil.example/conda-forge/linux-64/zlib",
        "zlib comes from https://evil.example/conda-forge, which is none of the lock's channels",
    ),
    "another platform": (
        r"conda-forge/linux-64/zlib",
        "conda-forge/osx-64/zlib",
        "zlib is a package for osx-64, in a lock for linux-64",
    ),
    "no platform": (r"conda-forge/linux-64/zlib", "conda-forge/pool/zlib", "does not lie in a folder such as linux-64"),
    "no package": (r"zlib-1\.3\.1-h4_2\.conda", "zlib.zip", "does not end in .conda or .tar.bz2"),
    "no version": (r"zlib-1\.3\.1-h4_2\.conda", "zlib.conda", "has no file name of the form name-version-build"),
    "a folder in the name": (r"zlib-1\.3\.1-h4_2\.conda", "..%2Fzlib-1.3.1-h4_2.conda", "has no file name of the form"),
    "another kind of address": (r"https://conda", "ftp://conda", "is no address that starts with https://"),
    "a placeholder": (
        r"anaconda\.org/conda",
        "anaconda.org/t/<TOKEN>/conda",
        "a placeholder stands where the token was",
    ),
    "another version of a wheel": (r"six-1\.17\.0", "six-1.16.0", "the file of six 1.17.0 is called six 1.16.0"),
}


@pytest.mark.parametrize(
    ("name", "edit"),
    [  # a list says the version of a wheel in its address only
        (name, edit) for name in EXACT for edit in EDITS if (name, edit) != ("explicit", "another version of a wheel")
    ],
)
def test_an_edited_entry_is_refused(name: str, edit: str) -> None:
    """Fault 40: a changed hash, host, platform or file is refused; the message names the file and the line."""
    pattern, replacement, reason = EDITS[edit]
    text = re.sub(pattern, replacement, WRITE[name](LOCK))
    with pytest.raises(FileFormatError) as caught:
        READ[name](text, "some/lock")
    found = [str(caught.value), *caught.value.details]
    match = next(found_one for one in found if (found_one := re.match(r"some/lock:(\d+): ", one)) and reason in one)
    near = text.split("\n")[int(match[1]) - 1 :][:15]
    assert replacement.split("/")[-1] in "\n".join(near)
    assert all(re.match(r"some/lock:\d+: ", one) for one in found)


@every_format
def test_every_fault_is_told_at_once(name: str) -> None:
    """One report holds all that is wrong, each with its own line."""
    text = WRITE[name](LOCK).replace("a" * 64, "a" * 63)
    with pytest.raises(FileFormatError) as caught:
        READ[name](text, "lock")
    lines = {one.split(":")[1] for one in (str(caught.value), *caught.value.details) if " sha256 of " in one}
    assert len(lines) == 4


def test_an_added_entry_is_refused() -> None:
    """Fault 40: a second entry for a package is refused, and both lines are told."""
    lines = WRITE["explicit"](LOCK).split("\n")
    position = next(number for number, line in enumerate(lines) if "/zlib-" in line)
    text = "\n".join([*lines[:-1], lines[position].replace("1.3.1", "1.3.2"), ""])
    with pytest.raises(FileFormatError, match=rf"lock:{len(lines)}: a second entry .* zlib .* line {position + 1}\)"):
        READ["explicit"](text, "lock")


@pytest.mark.parametrize("name", ["conda-lock", "pixi"])
def test_an_added_entry_of_yaml_is_refused(name: str) -> None:
    """Fault 40, in the formats with a list of packages."""
    extra = record("zlib", "1.3.2", "h4_2")
    twice = replace(LOCK, platforms=(replace(LOCK.platforms[0], records=(*LOCK.platforms[0].records, extra)),))
    with pytest.raises(FileFormatError, match="a second entry for the conda package zlib"):
        READ[name](WRITE[name](twice), "lock")


@every_format
def test_what_cannot_be_said_is_named(name: str) -> None:
    """Row 34: every package without an address or a hash is named, not the first alone; nothing is written."""
    lock = replace(
        LOCK,
        platforms=(
            LockedPlatform(
                "linux-64",
                (record("nohash", sha256=None, md5=None), replace(record("nowhere"), url=""), record("fine")),
                (
                    PipPackage("local", "1.0", "-e /home/u/src/local"),
                    PipPackage("named", "1.0", "named==1.0"),
                    PipPackage("late", None, f"late @ git+https://h.example/late@{'1' * 40}"),
                    PipPackage("branch", "1.0", "branch @ git+https://h.example/late@main"),
                ),
            ),
        ),
    )
    with pytest.raises(InputError) as caught:
        WRITE[name](lock)
    named = [one.split()[0] for one in caught.value.details]
    assert named == ["nohash", "nowhere"] + ([] if name == "explicit" else ["local", "named", "late", "branch"])
    assert "/home/u" not in str(caught.value) + "".join(caught.value.details)


HOSTILE = {
    "nothing": "",
    "a list": "- 1\n- 2\n",
    "half a string": 'version: "1',
    "a deep one": "[" * 5000,
    "deep YAML": "version: 1\npackage: " + "[" * 500,
    "wrong types": "version: 1\nmetadata: 7\npackage: {a: b}\n",
    "wrong types of a pixi.lock": "version: 6\nenvironments: [1]\npackages: hello\n",
    "empty entries": "version: 1\nmetadata:\n  platforms: [linux-64]\npackage:\n- \n- []\n- {}\n",
    "a future version": "version: 1000\nenvironments: {}\npackages: []\n",
    "a version that is no number": "version: six\nenvironments: {}\npackages: []\n",
    "an alias bomb": "a: &a [1,1,1,1]\n"
    + "\n".join(f"b{n}: &b{n} [*{'a' if not n else f'b{n - 1}'},*a,*a]" for n in range(40)),
    "a tag": "version: !!python/object:os.system x\n",
    "a control character": "version: 1\n\x00\x07\n",
    "two documents": "version: 1\n---\nversion: 1\n",
    "a very long line": "@EXPLICIT\n" + "x" * 300_000,
    "marks alone": "@EXPLICIT\n#\n##\n#x\n@EXPLICIT\nhttps://\nhttps://#\n#sha256:\nfile:///#md5:1\n",
}


@every_format
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_refused(name: str, kind: str) -> None:
    """Anything but such a lock is an error that says where, never a crash and never a lock."""
    with pytest.raises(FileFormatError, match=r"lock:\d+:"):
        READ[name](HOSTILE[kind], "lock")


@every_format
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_no_damage_makes_it_crash(name: str, data: st.DataObject) -> None:
    """A lock cut off, with a piece lost or a piece of its own put elsewhere is read or refused, nothing else."""
    text = WRITE[name](LOCK)
    start, end, at = (data.draw(st.integers(0, len(text))) for _ in range(3))
    piece = text[min(start, end) : max(start, end)][:200]
    damaged = data.draw(st.sampled_from([text[:at], text.replace(piece, ""), text[:at] + piece + text[at:]]))
    try:
        lock = READ[name](damaged, "lock")
    except FileFormatError as error:
        assert re.match(r"lock:\d+:", str(error))  # noqa: PT017 - reading it is as good
    else:
        assert lock.platforms


INJECTED = {
    "an option in a name": (r"(name: )six\b", r'\1"six --index-url=https://evil.example"', "no name of a distribution"),
    "a line in a version": (r"1\.17\.0$", '"1.17.0\\\\n--extra-index-url=https://evil.example"', "no version"),
    "an option in an address": (
        r"/six-1\.17\.0-py3-none-any\.whl$",
        "/six-1.17.0-py3-none-any.whl --no-deps",
        "holds a blank",
    ),
    "a platform that is a path": (r"linux-64", "../linux-64", ""),
}


@pytest.mark.parametrize("name", ["conda-lock", "pixi"])
@pytest.mark.parametrize("kind", INJECTED)
def test_nothing_can_be_smuggled_into_a_command(name: str, kind: str) -> None:
    """A name, version, address or platform that would say more than that to an installer is refused."""
    pattern, replacement, reason = INJECTED[kind]
    text = re.sub(pattern, replacement, WRITE[name](LOCK), flags=re.MULTILINE)
    if (name, kind) == ("pixi", "an option in an address"):  # the library escapes blanks
        assert (READ[name](text, "lock").platforms[0].pip[0].url or "").endswith(".whl%20--no-deps")
        return
    with pytest.raises(FileFormatError, match=r"lock:\d+: ") as caught:
        READ[name](text, "lock")
    if name == "conda-lock":
        assert any(reason in one for one in (str(caught.value), *caught.value.details))


def test_a_list_names_a_real_platform() -> None:
    """What a list calls its platform has to be one."""
    with pytest.raises(FileFormatError, match=r"'\.\./x' is no platform of conda"):
        READ["explicit"]("# platform: ../x\n@EXPLICIT\n", "lock")


def test_only_a_sha256_or_a_longer_hash_is_proof() -> None:
    """An md5 alone is none: anybody can make another file that has it."""
    digest = "0" * 64
    platform = LockedPlatform(
        "linux-64",
        (replace(record("proven"), sha256=digest), replace(record("weak"), sha256=None)),
        (
            PipPackage("bare", "1", "bare==1"),
            PipPackage("long", "1", "long==1", (f"sha512:{digest * 2}",)),
            PipPackage("short", "1", "short==1", ("md5:" + "0" * 32,)),
        ),
    )
    assert without_sha256(platform) == ("weak", "bare", "short")
