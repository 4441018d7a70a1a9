"""``conda-lock.yml`` version 1, as conda-lock 4 writes and reads it; mamba and micromamba read it too.

conda-lock requires an md5 for each conda package, mamba a hash for each package; a commit of git stands where a sha256
should be, as conda-lock writes it. Of the categories, ``main`` and ``dev`` are read, which is what ``conda-lock
install`` does without options; how many packages of others were left out is told among the facts.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from conda_llmenv.compose.yamltree import Mapping as MappingNode
from conda_llmenv.compose.yamltree import Node, Scalar
from conda_llmenv.compose.yamltree import Sequence as SequenceNode
from conda_llmenv.locks.addresses import channel_of, clean
from conda_llmenv.locks.dependencies import dependency_parts
from conda_llmenv.locks.entries import Entries
from conda_llmenv.locks.exact import exact
from conda_llmenv.locks.facts import left_out
from conda_llmenv.locks.header import read_head, with_head
from conda_llmenv.locks.pip_entries import Entry, git_entry
from conda_llmenv.locks.repositories import is_commit
from conda_llmenv.locks.yaml_entries import Fields, read_fields
from conda_llmenv.locks.yaml_text import scalar
from conda_llmenv.model import Channel, Lock, Record
from conda_llmenv.redact import mask, strip

VERSION = "1"
SOURCE = "environment.yml"
"""What conda-lock would lock again from; it and mamba want one named, and this is the name it takes by default."""
CATEGORIES = ("main", "dev")
"""What ``conda-lock install`` installs without options."""
PIP_MANAGERS = ("pip", "pypi")
"""Both spellings are about; conda-lock writes and reads the first."""


def write(lock: Lock) -> str:
    """Return the lockfile.

    Raises:
        InputError: packages without an address, an md5 or, from pip, a sha256; all of them are named.
    """
    rows = []
    for subdir, packages in exact(lock, "conda-lock.yml", hashes=("md5",)).items():
        rows += [(("conda", record.name, subdir), _conda_row(record, subdir)) for record in packages.records]
        rows += [(("pip", entry.name, subdir), _pip_row(entry, subdir)) for entry in packages.pip]
    lines = [line for _, row in sorted(rows, key=lambda one: one[0]) for line in row]
    body = [f"version: {VERSION}", *_metadata(lock, lines), "package:" if lines else "package: []", *lines, ""]
    return with_head("\n".join(body), lock.facts, lock.specs, lock.input_hash)


def read(text: str, display: str) -> Lock:
    """Return what a lockfile says, with the packages of the categories ``main`` and ``dev``.

    Raises:
        FileFormatError: it is not version 1 of the format, or entries are wrong.
    """
    entries = Entries(display)
    root = read_fields(text, entries)
    _check_version(root, entries)
    metadata = root.fields("metadata")
    channels = tuple(_channels(metadata, entries))
    entries.only_from(channels)
    subdirs = [node.value for node in metadata.items("platforms") if isinstance(node, Scalar)]
    if not subdirs:
        entries.problem(metadata.line, "`platforms` names none")
    others: Counter[str] = Counter()
    for node in root.items("package"):
        _read_row(Fields(entries, node, "a package"), entries, subdirs, others)
    head = read_head(text)
    return Lock(
        entries.platforms(subdirs),
        channels=channels,
        specs=head.specs,
        facts=left_out(head.facts, (f"{count} packages of {name}" for name, count in sorted(others.items()))),
        input_hash=head.input_hash,
        lines=entries.lines,
    )


def _conda_row(record: Record, subdir: str) -> Iterator[str]:
    yield from _start(record.name, record.version, "conda", subdir)
    constraints = _constraints(record.depends)
    yield "  dependencies:" if constraints else "  dependencies: {}"
    yield from (f"    {scalar(name)}: {scalar(constraint)}" for name, constraint in sorted(constraints.items()))
    yield f"  url: {scalar(strip(record.url))}"
    yield from _end({"md5": record.md5, "sha256": record.sha256})


def _pip_row(entry: Entry, subdir: str) -> Iterator[str]:
    yield from _start(entry.name, entry.version, "pip", subdir)
    yield "  dependencies: {}"
    yield f"  url: {scalar(entry.pip_address)}"
    hashes = {"md5": entry.md5, "sha256": entry.commit or entry.sha256}
    yield from _end(hashes, source=entry.pip_address if entry.direct else "")


def _start(name: str, version: str, manager: str, subdir: str) -> Iterator[str]:
    yield f"- name: {scalar(name)}"
    yield f"  version: {scalar(version)}"
    yield f"  manager: {manager}"
    yield f"  platform: {subdir}"


def _end(hashes: Mapping[str, str | None], source: str = "") -> Iterator[str]:
    yield "  hash:"
    yield from (f"    {name}: {scalar(digest)}" for name, digest in hashes.items() if digest)
    if source:
        yield "  source:"
        yield "    type: url"
        yield f"    url: {scalar(source)}"
    yield "  category: main"
    yield "  optional: false"


def _constraints(depends: Iterable[str]) -> dict[str, str]:
    """Return dependencies as the format has them: one constraint a name; what asks twice is joined."""
    found: dict[str, str] = {}
    for text in depends:
        name, constraint = dependency_parts(text)
        known = found.get(name, "")
        joined = ",".join(dict.fromkeys(filter(None, (known, constraint))))
        found[name] = joined if " " not in joined else max(known, constraint, key=lambda one: (" " in one, one))
    return found


def _metadata(lock: Lock, packages: Sequence[str]) -> Iterator[str]:
    content = lock.input_hash.removeprefix("sha256:") or hashlib.sha256("\n".join(packages).encode()).hexdigest()
    yield "metadata:"
    yield "  content_hash:"
    yield from (f"    {platform.subdir}: {scalar(content)}" for platform in lock.platforms)
    yield "  channels:" if lock.channels else "  channels: []"
    for channel in lock.channels:
        yield f"  - url: {scalar(strip(channel.url))}"
        yield "    used_env_vars: []"
    yield "  platforms:"
    yield from (f"  - {platform.subdir}" for platform in lock.platforms)
    yield "  sources:"
    yield f"  - {SOURCE}"


def _check_version(root: Fields, entries: Entries) -> None:
    version = root.needed("version")
    if version and version != VERSION:
        entries.problem(
            root.line_of("version"),
            f"version {mask(version)} of conda-lock.yml is not read here, only version {VERSION}",
            hint="lock again with conda-lock 1.0 or newer, or with `llmenv lock`",
        )
    entries.raise_if_any()


def _channels(metadata: Fields, entries: Entries) -> Iterator[Channel]:
    for node in metadata.items("channels"):
        text = node.value if isinstance(node, Scalar) else Fields(entries, node, "a channel").needed("url")
        yield from channel_of(text)


def _read_row(row: Fields, entries: Entries, subdirs: Sequence[str], others: Counter[str]) -> None:
    name, version, platform = row.needed("name"), row.needed("version"), row.needed("platform")
    manager, url = row.needed("manager"), row.needed("url")
    category = row.text("category") or CATEGORIES[0]
    if not all((name, version, platform, manager, url)) or name.startswith("__"):
        return
    if category not in CATEGORIES:
        others[category] += 1
    elif platform not in subdirs:
        entries.problem(row.line, f"{name} is for {platform}, which is none of the lock's platforms")
    elif manager == "conda":
        _read_conda(row, entries, platform)
    elif manager in PIP_MANAGERS:
        _read_pip(row, entries, platform)
    else:
        entries.problem(row.line_of("manager"), f"nobody knows the package manager {mask(manager)!r} of {name}")


def _read_conda(row: Fields, entries: Entries, platform: str) -> None:
    address = entries.address(row.line_of("url"), row.needed("url"))
    if address is None:
        return
    name, version = row.needed("name"), row.needed("version")
    hashes = entries.digests(row.fields("hash").line, name, _hashes(row))
    record = replace(
        address.record(),
        name=name,
        version=version,
        build=row.text("build") or address.build,
        subdir=address.subdir or platform,
        depends=tuple(_dependencies(row.node("dependencies"))),
        **hashes,
    )
    entries.record(platform, record, row.line)


def _read_pip(row: Fields, entries: Entries, platform: str) -> None:
    name, version = row.needed("name"), row.needed("version")
    source = row.fields("source").text("url")
    url, hashes = clean(row.needed("url")), _hashes(row)
    commit = hashes.get("sha256") or ""
    git = git_entry(name, version, source or url) or git_entry(name, version, url)
    if git is None and url.startswith("git+") and is_commit(commit):
        git = git_entry(name, version, f"{url.partition('#')[0]}#{commit}")
    if git is None and url.startswith("git+"):
        entries.problem(row.line, f"{name} comes from a repository, and no commit is named")
    elif git is None and not url.startswith(("https://", "http://", "file://")):
        entries.problem(row.line, f"{name} has no address that starts with https://: {mask(url)!r}")
    else:
        good = {} if git else entries.digests(row.fields("hash").line, name, hashes)
        entry = git or Entry(name, version, url, **good, direct=source is not None)
        depends = tuple(name for name in _dependencies(row.node("dependencies")) if name)
        entries.pip(platform, replace(entry.package(), depends=depends), row.line)


def _hashes(row: Fields) -> dict[str, str | None]:
    fields = row.fields("hash")
    return {name: fields.text(name) for name in ("sha256", "md5")}


def _dependencies(node: Node | None) -> Iterator[str]:
    """Yield dependencies as a record has them; rattler's lockfiles of this kind have a list of them."""
    if isinstance(node, SequenceNode):
        yield from (item.value for item in node.items if isinstance(item, Scalar))
    elif isinstance(node, MappingNode):
        for name, (_, value) in node.items.items():
            yield f"{name} {value.value if isinstance(value, Scalar) else ''}".strip()
