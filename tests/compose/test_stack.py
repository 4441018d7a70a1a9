"""Layers stack in one order, whatever names what; unknown names and circles say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from conda_llmenv.compose import (
    ComposeRequest,
    compose,
    explain,
    names_workload,
    read_recipes,
    read_tier,
    read_tiers,
    stack,
    to_json,
)
from conda_llmenv.errors import ConflictError, FileFormatError, InputError, NotFoundError
from conda_llmenv.library import FileLibrary
from conda_llmenv.model import EnvSpec
from tests.compose.files import merged, report, texts_of

PACKAGED = {
    "envs/base.yml": "channels: [conda-forge]\ndependencies: ['python >=3.10', pip]\n",
    "envs/pytorch.yml": "dependencies: [pytorch]\nllmenv: {extends: [cuda]}\n",
    "envs/cuda.yml": "dependencies: ['cuda-version <13']\n",
    "envs/distributed.yml": "dependencies: ['nccl >=2.21']\nvariables: {NCCL_DEBUG: WARN}\n",
    "envs/tiers/a100.yml": "dependencies: [cuda-version>=12.4]\n"
    "llmenv: {extends: [base, distributed], gpu: {match: [A100]}}\n",
    "envs/tiers/cpu.yml": "llmenv: {gpu: {}}\n",
    "recipes/sft.yml": "description: fine\nllmenv: {fragments: [pytorch, cuda], tiers: [a100]}\ndependencies: [trl]\n",
}


@pytest.fixture
def library(tmp_path: Path) -> FileLibrary:
    """A project folder with nothing in it, and a small packaged library."""
    write(tmp_path / "package", PACKAGED)
    (tmp_path / "work").mkdir()
    return FileLibrary(tmp_path / "work", tmp_path / "config", tmp_path / "package/envs", tmp_path / "package/recipes")


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_layers_come_in_one_order_and_each_file_once(library: FileLibrary, tmp_path: Path) -> None:
    """Base → fragments of the recipe, depth first → recipe → tier → project → -f → what was typed."""
    write(tmp_path / "work", {"llmenv.yml": "dependencies: [wandb]", "team.yml": "llmenv: {extends: [distributed]}"})
    request = ComposeRequest("a100", "sft", (Path("team.yml"),), specs=("numpy=1.26",))
    layers = stack(request, library)
    assert [(one.name, one.origin.label) for one in layers] == [
        ("base", "base"),
        ("cuda", "recipe sft"),
        ("pytorch", "recipe sft"),
        ("sft", "recipe sft"),
        ("distributed", "tier a100"),
        ("a100", "tier a100"),
        ("llmenv", "project"),
        ("team", "command line"),
        ("command line", "command line"),
    ]
    spec = compose(request, library)
    assert texts_of(spec)["cuda-version"] == ("cuda-version >=12.4,<13",)
    assert (spec.tier and spec.tier.name, spec.recipe and spec.recipe.name) == ("a100", "sft")


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        (ComposeRequest(tier="a1000"), "did you mean `a100`?"),
        (ComposeRequest(tier="A100"), "tiers are lower case: a100"),
        (ComposeRequest(recipe="stf"), "did you mean `sft`?"),
        (ComposeRequest(recipe="zzz"), "known: sft"),
        (ComposeRequest(files=(Path("gone.yml"),)), "gone.yml cannot be read: No such file"),
        (ComposeRequest(tier="../a100"), "tier name '../a100' is not allowed"),
        (ComposeRequest(tier="a100\n"), "not allowed"),
        (ComposeRequest(specs=("foo*",)), "glob"),
        (ComposeRequest(pip=("-e .",)), "-f"),
        (ComposeRequest(specs=("/nope/six-1.17.0-pyh0_0.conda",)), "with -c CHANNEL"),
        (ComposeRequest(specs=("./x.conda",)), "is a file or an address"),
        (ComposeRequest(specs=("x.tar.bz2",)), "is a file or an address"),
        (ComposeRequest(specs=("https://h/c/noarch/six-1.17.0-pyh0_0.conda",)), "is a file or an address"),
        (ComposeRequest(specs=("pip:six",)), "under `- pip:` in a file"),
        (ComposeRequest(specs=("conda-forge:six",)), "`conda-forge::six`"),
        (ComposeRequest(files=(Path(),)), "give the path of an environment.yml"),
        (ComposeRequest(files=(Path("/dev/zero"),)), "it is a device"),
        (ComposeRequest(override_channels=True), "-c CHANNEL"),
    ],
)
def test_what_is_not_there_or_not_right_says_what_to_do(
    library: FileLibrary, request_: ComposeRequest, word: str
) -> None:
    """Exit code 2, the close names in the hint."""
    with pytest.raises(InputError) as caught:
        stack(request_, library)
    assert word in report(caught.value)
    assert caught.value.exit_code == 2


def test_a_missing_fragment_names_the_line_that_extends_it(library: FileLibrary, tmp_path: Path) -> None:
    """And all of them at once, with the mistakes of other files."""
    write(tmp_path / "work", {"a.yml": "llmenv:\n  extends: [distribted, cuda, nope]\n", "b.yml": "dependencies: x\n"})
    with pytest.raises(NotFoundError) as caught:
        stack(ComposeRequest(files=(Path("a.yml"), Path("b.yml"))), library)
    shown = report(caught.value)
    assert "a.yml:2: no fragment is named 'distribted'" in shown
    assert "did you mean `distributed`" in shown
    assert "a.yml:2: no fragment is named 'nope'" in shown
    assert "b.yml:1:15: dependencies must be a list" in shown


def test_files_that_extend_each_other_are_refused_with_the_circle(library: FileLibrary, tmp_path: Path) -> None:
    """A circle of two, and a file that extends itself."""
    files = {
        "envs/a.yml": "llmenv: {extends: [b]}",
        "envs/b.yml": "llmenv:\n  extends: [a]",
        "envs/c.yml": "llmenv: {extends: [c]}",
    }
    write(tmp_path / "work", files)
    with pytest.raises(InputError, match="circle") as caught:
        stack(ComposeRequest(files=(Path("envs/a.yml"),)), library)
    assert "./envs/b.yml:2: files include each other in a circle: envs/a.yml → ./envs/b.yml → ./envs/a.yml" in report(
        caught.value
    )
    write(tmp_path / "work", {"d.yml": "llmenv: {extends: [c]}"})
    with pytest.raises(InputError, match="circle"):
        stack(ComposeRequest(files=(Path("d.yml"),)), library)


def test_a_chain_of_files_has_a_longest_length(library: FileLibrary, tmp_path: Path) -> None:
    """A generated chain ends with a message that names the entry too many, not with a full stack."""
    chain = {f"envs/c{i}.yml": f"dependencies: []\nllmenv:\n  extends: [c{i + 1}]\n" for i in range(1500)}
    write(tmp_path / "work", {**chain, "envs/c1500.yml": ""})
    with pytest.raises(InputError, match=r"envs/c49\.yml:3: more than 50 files") as caught:
        stack(ComposeRequest(files=(Path("envs/c0.yml"),)), library)
    assert caught.value.exit_code == 2


def test_a_tier_the_recipe_is_not_made_for_is_a_warning(library: FileLibrary) -> None:
    """Never a refusal: people try."""
    (notice,) = [one for one in compose(ComposeRequest("cpu", "sft"), library).notices if one.code == "tier-not-meant"]
    assert "made for the tiers a100, not for cpu" in notice.message


def test_typed_channels_come_as_early_as_the_files_allow(library: FileLibrary, tmp_path: Path) -> None:
    """`-c` as conda means it; `--override-channels` leaves nothing else."""
    write(tmp_path / "work", {"f.yml": "channels: [pytorch, conda-forge, nodefaults]"})
    files = (Path("f.yml"),)

    def channels(request: ComposeRequest) -> list[str]:
        return [channel.name for channel in compose(request, library).channels]

    assert channels(ComposeRequest(files=files, channels=("mine",))) == ["mine", "pytorch", "conda-forge"]
    assert channels(ComposeRequest(files=files, channels=("conda-forge",))) == ["pytorch", "conda-forge"]
    only = ComposeRequest(files=files, channels=("file:///x",), override_channels=True)
    assert channels(only) == ["file:///x"]
    assert compose(only, library).nodefaults is not None


def test_a_recipe_given_as_a_file_is_stacked_as_by_its_name(library: FileLibrary, tmp_path: Path) -> None:
    """`-f recipes/sft.yml` and `--recipe sft` are the same layers in the same order."""
    by_path = stack(ComposeRequest(files=(tmp_path / "package/recipes/sft.yml",), tier="cpu"), library)
    by_name = stack(ComposeRequest(recipe="sft", tier="cpu"), library)
    assert [fragment.name for fragment in by_path] == [fragment.name for fragment in by_name]
    assert names_workload(ComposeRequest(files=(tmp_path / "package/recipes/sft.yml",)), library)
    assert not names_workload(ComposeRequest(), library)


def test_lists_of_tiers_and_recipes(library: FileLibrary) -> None:
    """Read whole, with what they say of themselves."""
    assert [one.name for one in read_tiers(library)] == ["a100", "cpu"]
    assert read_tier("a100", library).gpu is not None
    assert [(one.name, one.description) for one in read_recipes(library)] == [("sft", "fine")]


def composed(library: FileLibrary, tmp_path: Path) -> EnvSpec:
    """Compose a project that shadows, replaces and overrides."""
    write(
        tmp_path / "work",
        {
            "envs/pytorch.yml": "dependencies: [pytorch]  # ours\n",
            "llmenv.yml": "dependencies:\n  - nccl >=2.27  # the cluster's\nvariables: {NCCL_DEBUG: INFO}\n"
            "llmenv: {replace: [nccl], remove: [trl]}\n",
        },
    )
    return compose(ComposeRequest("a100", "sft"), library)


def test_explaining_a_package_gives_file_line_layer_reason_and_what_it_replaced(
    library: FileLibrary, tmp_path: Path
) -> None:
    """With the channels and the shadowed files beside it."""
    found = explain(composed(library, tmp_path), "nccl")
    assert (found[0].kind, found[0].value) == ("package", "nccl >=2.27")
    assert [(str(one.origin), one.origin.label, one.why) for one in found[0].reasons] == [
        ("./llmenv.yml:2", "project", "the cluster's")
    ]
    assert [(one.value, str(one.origin)) for one in found[0].replaced] == [("nccl >=2.21", "envs/distributed.yml:1")]
    assert str(found[0].taken_over) == "./llmenv.yml:4"
    assert [(one.kind, one.name) for one in found[1:]] == [
        ("channel", "conda-forge"),
        ("shadowed", "./envs/pytorch.yml"),
    ]
    assert found[-1].shadowed == ("envs/pytorch.yml",)


def test_explaining_everything_lists_what_was_removed_and_overridden(library: FileLibrary, tmp_path: Path) -> None:
    """So that nothing disappears without a trace."""
    found = {(one.kind, one.name): one for one in explain(composed(library, tmp_path))}
    assert str(found["removed", "trl"].taken_over) == "./llmenv.yml:4"
    assert [one.value for one in found["variable", "NCCL_DEBUG"].replaced] == ["WARN"]
    with pytest.raises(NotFoundError) as caught:
        explain(composed(library, tmp_path), "pytorhc")
    assert "did you mean `pytorch`" in report(caught.value)


def test_no_secret_leaves_in_what_is_shown(library: FileLibrary, tmp_path: Path) -> None:
    """Channel token, index password, git token, token variable: none in explanations, JSON, YAML or errors."""
    from conda_llmenv.compose import render_yaml

    canary = "s3cr3t-canary"
    text = (
        f"channels: ['https://h/t/{canary}/ch']\ndependencies:\n- 'https://h/t/{canary}/ch::nccl'\n- pip\n- pip:\n"
        f"  - --index-url https://u:{canary}@h/simple\n  - git+https://{canary}@h/x#egg=x\n"
        f"variables: {{HF_TOKEN: {canary}, A: '1'}}\n"
    )
    write(tmp_path / "work", {"s.yml": text, "other.yml": f"dependencies: ['https://k/t/{canary}/o::nccl']"})
    spec = compose(ComposeRequest(files=(Path("s.yml"),)), library)
    write(tmp_path / "work", {"t.yml": f"variables: {{HF_TOKEN: {canary}-2}}\n"})
    notices = compose(ComposeRequest(files=(Path("s.yml"), Path("t.yml"))), library).notices
    assert [notice.code for notice in notices] == ["variable-overridden"]
    yaml = render_yaml(spec) + render_yaml(spec, for_conda=False)
    for shown in (str(explain(spec)), str(to_json(spec)), yaml, str(notices)):
        assert canary not in shown
    assert "HF_TOKEN holds a secret" in render_yaml(spec)
    assert render_yaml(spec, secrets=True).count(canary) == 5
    with pytest.raises(ConflictError) as caught:
        compose(ComposeRequest(files=(Path("s.yml"), Path("other.yml"))), library)
    assert canary not in report(caught.value)


def test_a_placeholder_that_an_export_left_behind_is_refused(library: FileLibrary, tmp_path: Path) -> None:
    """conda#10232: `<TOKEN>` is then used literally; a reference to a variable is fine."""
    write(
        tmp_path / "work",
        {"f.yml": "channels:\n- https://h/t/<TOKEN>/ch\n", "g.yml": "channels: ['https://h/t/${TOKEN}/ch']\n"},
    )
    with pytest.raises(FileFormatError, match=r"^f\.yml:2:3: .*placeholder") as caught:
        stack(ComposeRequest(files=(Path("f.yml"),)), library)
    assert "${TOKEN}" in report(caught.value)
    assert stack(ComposeRequest(files=(Path("g.yml"),)), library)[-1].channels[0].value == "https://h/t/${TOKEN}/ch"


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("l4", "L4 belongs to tier small"),
        ("4090", "RTX 4090 belongs to tier small"),
        ("rtx4090", "RTX 4090 belongs to tier small"),
        ("RTX-4090", "RTX 4090 belongs to tier small"),
        ("H200", "H200 belongs to tier h100"),
        ("NVIDIA H200 NVL", "H200 belongs to tier h100"),
        ("l40", "L40 belongs to tier l40s"),
        ("A800", "A800 belongs to tier a100-40g or a100-80g"),
        ("h10", "did you mean `h100`?"),
    ],
)
def test_the_name_of_a_card_leads_to_its_tier(tmp_path: Path, word: str, hint: str) -> None:
    """People type what the card is called; only then is a name of a tier guessed. A broken tier does not matter."""
    cards = {
        "small": ["RTX 4090", "L4"],
        "h100": ["H100", "H200"],
        "l40s": ["L40S", "L40"],
        "a100-40g": ["A800"],
        "a100-80g": ["A800"],
    }
    write(tmp_path / "tiers", {f"{name}.yml": f"llmenv: {{gpu: {{match: {found}}}}}" for name, found in cards.items()})
    write(tmp_path / "tiers", {"broken.yml": "llmenv: {gpu: [1"})
    with pytest.raises(InputError) as caught:
        stack(ComposeRequest(tier=word), FileLibrary(tmp_path / "work", tmp_path / "home", tmp_path, tmp_path))
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "asked", "hint"),
    [
        ("dependencies: [pytorch-gpu, pytorch]", "torch", "conda's name of it is `pytorch` or `pytorch-gpu`"),
        ("dependencies: [pip, pip: [torch]]", "pytorch", "pip's name of it is `torch`"),
        ("dependencies: [nccl]", "nvidia-nccl-cu12", "conda's name of it is `nccl`"),
    ],
)
def test_the_other_sides_name_of_a_package(text: str, asked: str, hint: str) -> None:
    """Conda and PyPI name some packages differently; asking for one by the other's name says so."""
    with pytest.raises(NotFoundError) as caught:
        explain(merged(text), asked)
    assert caught.value.hint == hint
