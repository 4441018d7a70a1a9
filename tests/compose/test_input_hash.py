"""The input hash: what changes it, and what must not."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conda_llmenv.compose import merge, render_yaml
from conda_llmenv.compose.input_hash import input_hash
from conda_llmenv.errors import ConflictError
from conda_llmenv.model import EnvSpec, Fragment, Layer
from tests.compose.files import fragment

FULL = """
channels: [pytorch, conda-forge, nodefaults]
dependencies:
  - python >=3.10,<3.13
  - numpy=1.26
  - pip
  - pip:
      - --index-url https://h.example/simple
      - --extra-index-url https://a.example/simple
      - --extra-index-url https://b.example/simple
      - trl[vllm,peft]>=0.9,<1
      - tinydist @ git+https://h.example/tinydist@0a1b2c ; python_version >= "3.10"
      - -r requirements.txt
      - -c constraints.txt
variables:
  NCCL_DEBUG: INFO
  OTHER: "1"
"""
FILES = {"requirements.txt": "wandb==0.17\npeft >=0.11\n", "constraints.txt": "urllib3<3\nidna==3.7\n"}
PINNED = "sha256:a9551901b9c18716f3d5c30738e2eb70beb68d357de8b539ae68e1ebf60ac098"
"""Of :data:`FULL` with :data:`FILES`."""


def hash_of(text: str | bytes, files: dict[str, str] | None = None) -> str:
    """Return the hash of one file and those it includes."""
    return input_hash(merge([fragment(text, files=FILES if files is None else files)]))


def test_it_is_the_same_everywhere() -> None:
    """What stands in a committed lock must not move with Python or its libraries; if it has to, VERSION is raised."""
    assert hash_of(FULL) == PINNED


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_it_does_not_depend_on_the_order_of_sets(seed: str) -> None:
    """Nor on anything else of a process."""
    code = "from tests.compose.test_input_hash import FULL, hash_of; print(hash_of(FULL))"
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == PINNED


SAME = [
    pytest.param("# why\n" + FULL.replace("- pip\n", "- pip  # the installer\n\n"), id="comments and blank lines"),
    pytest.param(FULL.replace("\n", "\r\n"), id="line ends of Windows"),
    pytest.param("\ufeff" + FULL, id="a byte order mark"),
    pytest.param(FULL.encode("utf-16"), id="UTF-16"),
    pytest.param(FULL.replace("numpy=1.26", "'numpy=1.26'").replace("INFO", '"INFO"'), id="quotes"),
    pytest.param(FULL.replace("numpy=1.26", "NumPy  =1.26"), id="blanks and upper case in a spec"),
    pytest.param(FULL.replace("numpy=1.26", "numpy 1.26.*"), id="another spelling of a version"),
    pytest.param(FULL.replace(">=3.10,<3.13", "<3.13, >=3.10"), id="the order of bounds"),
    pytest.param(FULL.replace("  - pip\n", ""), id="pip, which the section brings anyway"),
    pytest.param(FULL.replace("trl[vllm,peft]>=0.9,<1", "TRL[peft, vllm] < 1, >= 0.9"), id="a requirement's spelling"),
    pytest.param(FULL.replace("tinydist @ git", "tinydist@git"), id="blanks around an address"),
    pytest.param(FULL.replace('python_version >= "3.10"', "python_version>='3.10'"), id="a marker's spelling"),
    pytest.param(FULL.replace("git+https://", "git+https://me:token@"), id="a token in an address"),
    pytest.param(FULL.replace("https://a.example", "https://me:token@a.example"), id="a password in an index"),
    pytest.param(FULL.replace("--index-url https", "-i https"), id="the short name of an option"),
    pytest.param(
        FULL.replace("      - --index-url https://h.example/simple\n", "").replace(
            "variables:", "      - --index-url=https://h.example/simple\nvariables:"
        ),
        id="the main index behind the others",
    ),
    pytest.param(FULL.replace("  NCCL_DEBUG: INFO\n", "") + "  NCCL_DEBUG: INFO\n", id="the order of variables"),
    pytest.param(FULL + "name: team\nprefix: /home/me/env\n", id="name and prefix, which mean nothing here"),
]


@pytest.mark.parametrize("text", SAME)
def test_spelling_does_not_count(text: str | bytes) -> None:
    """Two files that ask for the same have the same hash."""
    assert hash_of(text) == PINNED


OTHER = [
    pytest.param(FULL.replace("numpy=1.26", "numpy=1.27"), id="a pin"),
    pytest.param(FULL.replace("numpy=1.26", "numpy==1.26"), id="an exact pin"),
    pytest.param(FULL.replace("numpy=1.26", "numpy=1.26=py312*"), id="a build"),
    pytest.param(FULL.replace("numpy=1.26", "conda-forge::numpy=1.26"), id="a package's channel"),
    pytest.param(FULL.replace("  - numpy=1.26\n", ""), id="a package less"),
    pytest.param(FULL.replace("  - numpy=1.26\n", "  - numpy=1.26\n  - six\n"), id="a package more"),
    pytest.param(FULL.replace("pytorch, conda-forge", "conda-forge, pytorch"), id="the order of channels"),
    pytest.param(FULL.replace("pytorch, ", ""), id="a channel less"),
    pytest.param(FULL.replace(", nodefaults", ""), id="nodefaults"),
    pytest.param(FULL.replace("h.example/simple", "h.example/other"), id="the index"),
    pytest.param(FULL.replace("https://a.e", "https://z.e"), id="an extra index"),
    pytest.param(
        FULL.replace("https://a.e", "https://x.e").replace("https://b.e", "https://a.e").replace("//x.e", "//b.e"),
        id="the order of extra indexes",
    ),
    pytest.param(FULL.replace("- trl", "- --pre\n      - trl"), id="a flag"),
    pytest.param(FULL.replace("- trl", "- --no-binary=trl\n      - trl"), id="sources only"),
    pytest.param(FULL.replace(">=0.9,<1", ">=0.9"), id="a requirement's bound"),
    pytest.param(FULL.replace("[vllm,peft]", "[vllm]"), id="an extra"),
    pytest.param(FULL.replace("0a1b2c", "0a1b2d"), id="a commit"),
    pytest.param(FULL.replace('>= "3.10"', '>= "3.11"'), id="a marker"),
    pytest.param(
        FULL.replace("- trl[vllm,peft]>=0.9,<1", "- trl[vllm,peft]>=0.9,<1 --hash=sha256:" + "a" * 64), id="a hash"
    ),
    pytest.param(FULL.replace("INFO", "WARN"), id="a variable"),
    pytest.param(FULL.replace('  OTHER: "1"\n', ""), id="a variable less"),
    pytest.param(FULL.replace('OTHER: "1"', "OTHER: null"), id="a variable that is unset"),
    pytest.param(FULL + "llmenv: {channel_priority: flexible}\n", id="the channel priority"),
    pytest.param(FULL + "llmenv: {no_build_isolation: [trl]}\n", id="build isolation"),
]


@pytest.mark.parametrize("text", OTHER)
def test_what_is_asked_for_counts(text: str) -> None:
    """A changed request has another hash."""
    assert hash_of(text) != PINNED


INCLUDED = [
    pytest.param("requirements.txt", "# pins\nwandb == 0.17  # tracking\r\n\r\npeft>=0.11", True, id="spelling"),
    pytest.param("requirements.txt", "peft >=0.11\nwandb==0.17\n", True, id="order"),
    pytest.param("requirements.txt", "wandb==0.18\npeft >=0.11\n", False, id="a pin"),
    pytest.param("requirements.txt", "wandb==0.17\n", False, id="a requirement less"),
    pytest.param("constraints.txt", "# later\nidna == 3.7\nURLlib3 <3\n", True, id="spelling of constraints"),
    pytest.param("constraints.txt", "urllib3<4\nidna==3.7\n", False, id="a constraint"),
    pytest.param("constraints.txt", "urllib3<3\n", False, id="a constraint less"),
]


@pytest.mark.parametrize(("name", "content", "same"), INCLUDED)
def test_the_content_of_included_files_counts(name: str, content: str, *, same: bool) -> None:
    """What they ask for, not how they are written."""
    assert (hash_of(FULL, {**FILES, name: content}) == PINNED) is same


def test_an_included_file_is_as_good_as_its_lines() -> None:
    """Wherever requirements stand, in a file of any name or folder, or in the section itself."""
    inline = FULL.replace("- -r requirements.txt", "- wandb==0.17\n      - peft >=0.11")
    assert hash_of(inline) == PINNED
    elsewhere = FULL.replace("-r req", "-r pip/req").replace("-c con", "-c pip/con")
    assert hash_of(elsewhere, {f"pip/{name}": text for name, text in FILES.items()}) == PINNED
    nested = {**FILES, "requirements.txt": "-r more.txt\nwandb==0.17\n", "more.txt": "peft>=0.11"}
    assert hash_of(FULL, nested) == PINNED
    two = FULL.replace("- -c constraints.txt", "- -c constraints.txt\n      - -c more.txt")
    assert hash_of(two, {**FILES, "constraints.txt": "urllib3<3\n", "more.txt": "idna==3.7\n"}) == PINNED


def test_the_place_of_the_files_does_not_count() -> None:
    """Two checkouts in different folders ask for the same."""
    text = FULL + "\n"
    links = text.replace("- trl", "- --find-links ./wheels\n      - trl")
    here = hash_of(links, {**FILES, "wheels/x.whl": ""})
    assert here != PINNED
    assert here == hash_of(links.replace("./wheels", "'./wheels'"), {**FILES, "wheels/x.whl": ""})
    spec = merge([fragment(links, files={**FILES, "wheels/x.whl": ""})])
    assert "/project/envs" in repr(spec.pip.options)
    assert input_hash(spec) == here


def test_a_secret_does_not_count() -> None:
    """A lock leaves it out, and a hash over it would help to guess it."""
    one, other = (hash_of(f"variables: {{HF_TOKEN: hf_{name}}}") for name in ("one", "two"))
    assert one == other != hash_of("variables: {}")


CHANNELS = ["pytorch", "nvidia", "conda-forge"]
NAMES = ["numpy", "python", "cuda-version", "pytorch"]
BOUNDS = st.sampled_from([">=1", "<3", "1.*|2.*", "!=1.5", ">=1,<4", "2.*", ""])
SPECS = st.dictionaries(st.sampled_from(NAMES), BOUNDS, max_size=4)
PIP = st.dictionaries(
    st.sampled_from(["trl", "peft", "wandb"]), st.sampled_from(["", ">=1", "<3,!=1.5", "[a,b]", "[b]>=0.5"]), max_size=3
)
VARIABLES = st.dictionaries(st.sampled_from(["A", "B", "C"]), st.sampled_from(["1", "x y", "null"]), max_size=3)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, object]:
    """Draw what one file asks for."""
    return {
        "channels": [name for name in CHANNELS if draw(st.booleans())],
        "specs": draw(SPECS),
        "pip": draw(PIP),
        "variables": draw(VARIABLES),
    }


def written(request: dict[str, object], chance: random.Random) -> tuple[str | bytes, dict[str, str]]:
    """Write a request in one of the many ways there are: order, quotes, comments, line ends, and an included file."""
    specs, pip = (list(request[part].items()) for part in ("specs", "pip"))  # type: ignore[attr-defined]  # mappings
    variables = list(request["variables"].items())  # type: ignore[attr-defined]  # a mapping
    for items in (specs, pip, variables):
        chance.shuffle(items)
    lines = [f"{name}{chance.choice(['', ' '])}{rest}" for name, rest in pip]
    cut = chance.randint(0, len(lines))
    files = {"more.txt": chance.choice(["\n", "\r\n"]).join(["# more", *lines[cut:]])}
    section = [*lines[:cut], *(["-r more.txt"] if lines[cut:] else [])]
    quote = chance.choice("'\"")
    blocks = [
        f"channels: {json.dumps(request['channels'])}\n",
        "dependencies:\n"
        + "".join(f"  - {quote}{f'{name} {rest}'.strip()}{quote}\n" for name, rest in specs)
        + "  - pip\n"
        + (f"  - pip: {json.dumps(section)}\n" if section else ""),
        "variables: {" + ", ".join(f"{key}: {value}" for key, value in variables) + "}\n",
    ]
    chance.shuffle(blocks)
    text = "".join(f"# {chance.random()}\n{block}" for block in blocks)
    text = text.replace("\n", chance.choice(["\n", "\r\n"]))
    encodings: list[str | bytes] = [text, "\ufeff" + text, text.encode("utf-16")]
    return chance.choice(encodings), files


@settings(max_examples=100, deadline=None)
@given(requests(), st.randoms(use_true_random=False))
def test_no_way_of_writing_changes_it(request: dict[str, object], chance: random.Random) -> None:
    """Whatever is asked for."""
    first, second = (written(request, chance) for _ in range(2))
    assert hash_of(*first) == hash_of(*second)


@settings(max_examples=100, deadline=None)
@given(requests(), requests(), st.randoms(use_true_random=False))
def test_another_request_changes_it(one: dict[str, object], other: dict[str, object], chance: random.Random) -> None:
    """And only that: equal hashes mean equal requests."""
    same = hash_of(*written(one, chance)) == hash_of(*written(other, chance))
    assert same == (one == other)


@settings(max_examples=100, deadline=None)
@given(st.lists(requests(), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_it_does_not_matter_which_file_asks(drawn: list[dict[str, object]], chance: random.Random) -> None:
    """Files that are stacked have the hash of the one file that says what they come to."""
    layers = [_layer(request, chance, number) for number, request in enumerate(drawn)]
    try:
        whole = merge(layers)
    except ConflictError:
        assume(False)  # noqa: FBT003 - hypothesis' own signature
        return
    one = fragment(render_yaml(whole, for_conda=False) + _unset(whole))
    assert input_hash(merge([one])) == input_hash(whole)


def _layer(request: dict[str, object], chance: random.Random, number: int) -> Fragment:
    text, files = written(request, chance)
    return fragment(text, f"f{number}", files=files, layer=list(Layer)[number])


def _unset(spec: EnvSpec) -> str:
    """Return what a rendered file leaves out: variables that are taken away."""
    names = [one.name for one in spec.variables if one.value is None]
    lines = "".join(f"  {name}: null\n" for name in names)
    known = any(one.value is not None for one in spec.variables)
    return lines if known else f"variables:\n{lines}" if names else ""
