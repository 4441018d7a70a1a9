"""Faults that people met with other tools, and peculiarities of real files: one test each, with the source."""

from __future__ import annotations

import pytest

from conda_llmenv.compose import render_yaml
from conda_llmenv.errors import ConflictError, FileFormatError
from conda_llmenv.model import PipKind
from tests.compose.files import HOME, fragment, merged, report, texts_of


def codes(*texts: str) -> dict[str, str]:
    """Return the notices of merging some files, by code."""
    return {notice.code: notice.message for notice in merged(*texts).notices}


def test_local_editable_is_taken_from_the_folder_of_its_file() -> None:
    """CompVis/stable-diffusion: `-e .` means the fragment's folder, order is kept, and an old pip is pointed out."""
    spec = merged("dependencies: [pip=20.3, {pip: [a==1, '-e git+file:///x@main#egg=foo', -e .]}]")
    assert [(one.kind, one.path) for one in spec.pip.requirements] == [
        (PipKind.NAMED, None),
        (PipKind.EDITABLE, None),
        (PipKind.EDITABLE, HOME),
    ]
    assert spec.pip.requirements[1].name == "foo"
    assert "a.yml:1" in next(notice for notice in spec.notices if notice.code == "old-pip").message
    assert f"    - -e {HOME}" in render_yaml(spec) or f'    - "-e {HOME}"' in render_yaml(spec)


def test_pip_options_stand_once_at_the_top_and_are_no_packages() -> None:
    """facebookresearch/dinov2: an index between two packages serves the whole file, and the order of packages stays."""
    spec = merged(
        "dependencies: [pip, {pip: [a==1, 'git+file:///r', '--extra-index-url https://idx/simple', b==2]}]",
        "dependencies: [{pip: ['--extra-index-url=https://idx/simple', c]}]",
    )
    assert [option.tokens for option in spec.pip.options] == [("--extra-index-url", "https://idx/simple")]
    assert [one.text for one in spec.pip.requirements] == ["a==1", "git+file:///r", "b==2", "c"]


def test_legacy_cudatoolkit_beside_cuda_version_names_both_files() -> None:
    """Vision-CAIR/MiniGPT-4: two choices of CUDA are pointed out; a build that selects a variant is kept."""
    a = "channels: [pytorch, anaconda, defaults]\ndependencies:\n  - cudatoolkit\n  - pytorch-mutex=1.0=cuda\n"
    spec = merged(a, "dependencies:\n  - cuda-version=12.4\n")
    message = codes(a, "dependencies:\n  - cuda-version=12.4\n")["legacy-cudatoolkit"]
    assert "a.yml:3" in message
    assert "b.yml:2" in message
    assert texts_of(spec)["pytorch-mutex"] == ("pytorch-mutex ==1.0 cuda",)


def test_exported_file_with_builds_and_pip_pins() -> None:
    """princeton-nlp/SimPO: exact builds, a missing pip, an old pip and another nvJitLink are each pointed out."""
    text = (
        "dependencies:\n  - openssl=3.0.14=h5eee18b_0\n  - xz=5.4.6=h5eee18b_1\n  - zlib=1.2.13=h5eee18b_1\n"
        "  - pip:\n    - pip==22.3.1\n    - flash-attn==2.5.8\n    - torch==2.2.2\n"
        "    - nvidia-cublas-cu12==12.1.3.1\n    - nvidia-nvjitlink-cu12==12.4.127\n"
    )
    spec, found = merged(text), codes(text)
    assert {"solved-builds", "pip-added", "old-pip", "nvjitlink-minor"} <= set(found)
    assert texts_of(spec)["pip"] == ("pip",)
    assert "a.yml:9" in found["nvjitlink-minor"]
    assert "a.yml:10" in found["nvjitlink-minor"]


def test_pip_numpy_over_the_numpy_that_conda_pulls_in() -> None:
    """stanford-crfm/mistral: scipy brings conda's numpy, which pip would overwrite; `prefix:` decides nothing."""
    text = "prefix: /scratch/someone/env\ndependencies:\n  - mkl\n  - scipy\n  - pip\n  - pip: [numpy==1.2]\n"
    assert "a.yml:6" in codes(text)["pip-overwrites"]
    assert "a.yml:4" in codes(text)["pip-overwrites"]
    assert "/scratch" not in render_yaml(merged(text))


def test_a_build_glob_that_a_person_wrote_stays() -> None:
    """young-geng/EasyLM: `*cuda*` is a wish, not a solved build; a CPU package asked for by name is nothing wrong."""
    spec = merged("dependencies:\n    - jaxlib=0.3.15=*cuda*\n    - pytorch-cpu\n")
    assert texts_of(spec) == {"jaxlib": ("jaxlib ==0.3.15 *cuda*",), "pytorch-cpu": ("pytorch-cpu",)}
    assert spec.notices == ()


def test_requirements_files_are_read_beside_the_file_that_names_them() -> None:
    """mlfoundations/open_flamingo: `-r` inside `-r`, with a digest of each and the lines of each."""
    files = {"requirements.txt": "# all\nx==1\n-r more.txt\n", "more.txt": "\ny==2  # why\n", "setup.py": ""}
    read = fragment("dependencies: [pip, {pip: [-r requirements.txt, -e .]}]", files=files)
    assert [(one.text, str(one.origin)) for one in read.pip] == [
        ("x==1", "requirements.txt:2"),
        ("y==2", "more.txt:2"),
        ("-e .", "f.yml:1"),
    ]
    assert [path.rsplit("/", 1)[1] for path, _digest in read.includes] == ["requirements.txt", "more.txt"]
    assert all(len(digest) == 64 for _path, digest in read.includes)


def test_a_missing_requirements_file_names_the_line_that_asks_for_it() -> None:
    """mlfoundations/open_flamingo: the fragment's line, not a traceback."""
    with pytest.raises(FileFormatError, match=r"^f\.yml:3:5: 'requirements\.txt' cannot be read: No such file"):
        fragment("dependencies:\n- pip:\n  - -r requirements.txt\n")


def test_a_local_path_that_is_not_there_is_refused_before_anything_is_done() -> None:
    """graphdeco-inria/gaussian-splatting: a submodule that nobody checked out; once there, it is a path requirement."""
    text = "dependencies:\n  - pip\n  - pip:\n    - submodules/x\n"
    with pytest.raises(FileFormatError, match=r"^f\.yml:4:7: 'submodules/x' is not there") as caught:
        fragment(text)
    assert "git submodule update --init" in caught.value.hint
    (there,) = fragment(text, files={"submodules/x/setup.py": ""}).pip
    assert (there.kind, there.path) == (PipKind.PATH, HOME / "submodules/x")


def test_a_pin_against_a_bound_names_both_lines() -> None:
    """togethercomputer/OpenChatKit: nccl pinned by one file, bounded by another; no solve is needed to see it."""
    with pytest.raises(ConflictError) as caught:
        merged(
            "dependencies:\n- cudatoolkit=11.6.0\n- pytorch-cuda=11.6\n- nccl=2.12.12.1\n",
            "dependencies:\n- nccl>=2.18\n",
        )
    shown = report(caught.value)
    assert "nccl" in shown
    assert "a.yml:4" in shown
    assert "b.yml:2" in shown
    assert "cudatoolkit" not in shown
    assert "in b.yml add llmenv: {replace: [nccl]}" in shown
    assert caught.value.exit_code == 2


def test_two_spellings_of_the_same_bound_agree_and_the_channel_stays() -> None:
    """facebookresearch/esm: `conda-forge::cudatoolkit==11.3.*` and `cudatoolkit=11.3` are one spec."""
    spec = merged("dependencies: ['conda-forge::cudatoolkit==11.3.*']", "dependencies: [cudatoolkit=11.3]")
    assert texts_of(spec) == {"cudatoolkit": ("conda-forge::cudatoolkit 11.3.*",)}
    assert [channel.name for channel in spec.channels] == ["conda-forge"]


def test_all_contradictions_of_two_real_files_in_one_report() -> None:
    """lllyasviel/ControlNet and hpcaitech/ColossalAI: eight names at once, duplicates folded."""
    control = (
        "dependencies: [python=3.8.5, pytorch=1.12.1, torchvision=0.13.1, numpy=1.23.1, pip, {pip: [test-tube>=0.7.5, "
        "einops==0.3.0, transformers==4.19.2, kornia==0.6, webdataset==0.2.5, test-tube>=0.7.5]}]"
    )
    colossal = (
        "dependencies: [python=3.9.12, pytorch=1.11.0, torchvision=0.12.0, numpy=1.19.2, pip, {pip: [test-tube>=0.7.5, "
        "einops==0.6.0, transformers==4.24.0, kornia==0.7, webdataset==0.2.6]}]"
    )
    with pytest.raises(ConflictError) as caught:
        merged(control, colossal)
    shown = report(caught.value)
    for name in ("python", "pytorch", "torchvision", "numpy", "einops", "transformers", "kornia", "webdataset"):
        assert f"\n{name}" in shown
    assert "test-tube" not in shown
    assert shown.startswith("8 requirements contradict each other; nothing was solved or written")


def test_a_label_in_a_spec_survives() -> None:
    """Seen in the wild: `nvidia/label/cuda-12.1.0::cuda-nvcc`."""
    spec = merged("channels: [conda-forge]\ndependencies: ['nvidia/label/cuda-12.1.0::cuda-nvcc']")
    assert texts_of(spec)["cuda-nvcc"] == ("nvidia/label/cuda-12.1.0::cuda-nvcc",)
    assert [channel.name for channel in spec.channels] == ["conda-forge", "nvidia/label/cuda-12.1.0"]


@pytest.mark.parametrize("name", ["base", "root", "BASE", " base "])
def test_a_file_for_the_base_environment_is_refused(name: str) -> None:
    """Seen in the wild: `name: base`, which would write over conda itself."""
    with pytest.raises(FileFormatError, match=r"^f\.yml:1:7: (?i:.*(base|root))") as caught:
        fragment(f"name: {name!r}\ndependencies: []\n")
    assert "-n" in caught.value.hint


def test_a_path_above_the_file_is_taken_from_the_file() -> None:
    """Seen in the wild: `-e ../x/`."""
    (one,) = fragment(
        "dependencies: [{pip: [-e ../x/]}]", files={"../x/setup.py": ""} | {"/project/x/setup.py": ""}
    ).pip
    assert str(one.path) == "/project/x"


def test_several_pip_sections_are_all_kept_in_order() -> None:
    """conda#11113, #8815: of two `pip:` maps in one list, conda silently takes the last."""
    read = fragment("dependencies: [pip, {pip: [a]}, {pip: [b]}]")
    assert [one.text for one in read.pip] == ["a", "b"]


def test_output_is_utf_8_with_line_feeds() -> None:
    """Whatever came in (conda#7821)."""
    spec = merged("dependencies:\r\n  - numpy  # naïve\r\nvariables: {A: 'é'}\r\n")
    assert "\r" not in render_yaml(spec)
    assert 'A: "é"' in render_yaml(spec)


def test_channel_order_is_kept_from_whichever_file_comes_first() -> None:
    """conda-devenv#117, conda-merge PR#1, conda-lock#42: each list is an order; never alphabetical."""
    lists = ["channels: [conda-forge]", "channels: [nvidia, conda-forge]", "channels: [pytorch, nvidia]"]
    for order in (lists, lists[::-1], [lists[1], lists[2], lists[0]]):
        assert [channel.name for channel in merged(*order).channels] == ["pytorch", "nvidia", "conda-forge"]
    with pytest.raises(ConflictError) as caught:
        merged(*lists, "channels:\n- conda-forge\n- nvidia\n")
    shown = report(caught.value)
    assert "nvidia before conda-forge, and conda-forge before nvidia" in shown
    assert "b.yml:1" in shown
    assert "d.yml:2" in shown


def test_nodefaults_is_a_marker_and_never_a_channel() -> None:
    """Asked for as a channel it gives a 404 (conda 26.7, conda-lock#192); our own files keep it."""
    spec = merged("channels: [conda-forge, nodefaults]")
    assert [channel.name for channel in spec.channels] == ["conda-forge"]
    assert spec.nodefaults is not None
    assert "nodefaults" not in render_yaml(spec)
    assert "  - nodefaults" in render_yaml(spec, for_conda=False)


def test_two_files_give_one_explicit_channel_order() -> None:
    """The first comes first; conda and mamba give two `-f` files opposite priorities."""
    assert [channel.name for channel in merged("channels: [x]", "channels: [y]").channels] == ["x", "y"]


def test_values_of_variables_are_text_and_null_unsets() -> None:
    """conda#11485, #10448, #10830, #11055: later wins and is listed, null leaves the key out of what is handed on."""
    spec = merged(
        "variables: {NCCL_DEBUG: INFO, N: 8, X: 'on', F: 3.10, B: true}", "variables: {X: null, NCCL_DEBUG: WARN}"
    )
    assert {one.name: one.value for one in spec.variables} == {
        "B": "true", "F": "3.10", "N": "8", "NCCL_DEBUG": "WARN", "X": None,
    }  # fmt: skip
    messages = [notice.message for notice in spec.notices]
    assert messages[0] == "variable NCCL_DEBUG is WARN (b.yml:1), overriding INFO (a.yml:1)"
    assert "  X" not in render_yaml(spec)


@pytest.mark.parametrize(
    ("name", "word"), [("bad-name", "not allowed"), ("1A", "not allowed"), ("nccl_debug", "NCCL_DEBUG")]
)
def test_a_bad_variable_name_is_an_error(name: str, word: str) -> None:
    """A lower-case one says how to write it: conda and micromamba turn names into upper case."""
    with pytest.raises(FileFormatError) as caught:
        fragment(f"variables: {{{name!r}: 1}}")
    assert caught.value.message.startswith("f.yml:1:13")
    assert word in report(caught.value)


def test_torch_from_both_sides_needs_an_owner() -> None:
    """pytorch#12470, pixi#1230: refused with both lines; one word chooses."""
    conda, pip = "dependencies:\n- pytorch-gpu\n- pytorch >=2.8\n", "dependencies:\n- pip\n- pip:\n  - torch==2.9.1\n"
    with pytest.raises(ConflictError) as caught:
        merged(conda, pip)
    shown = report(caught.value)
    assert "a.yml:2" in shown
    assert "b.yml:4" in shown
    assert "llmenv: {owner: {torch: conda}}" in shown
    by_pip = merged(conda, pip, "llmenv: {owner: {torch: pip}}")
    assert set(texts_of(by_pip)) == {"pip"}
    by_conda = merged(conda, pip, "llmenv: {owner: {pytorch: conda}}")
    assert set(texts_of(by_conda)) == {"pytorch", "pytorch-gpu", "pip"}
    assert by_conda.pip.requirements == ()


def test_an_old_toolkit_beside_a_new_card_composes_with_its_line() -> None:
    """RosettaCommons/RFdiffusion: what the check of card against CUDA needs is there, as written and where."""
    spec = merged("channels: [defaults]\ndependencies:\n  - cudatoolkit=11.1\n  - dgl-cuda11.1\n  - pytorch=1.9\n")
    toolkit = spec.spec("cudatoolkit")
    assert toolkit is not None
    assert (toolkit.texts, str(toolkit.parts[0].origin)) == (("cudatoolkit 11.1.*",), "a.yml:3")
    assert texts_of(spec)["dgl-cuda11.1"] == ("dgl-cuda11.1",)


def test_every_channel_knows_the_lines_that_list_it() -> None:
    """CrisHY1995/headnerf#22, tuna/issues#2219: a mirror that is gone is reported with the file that brought it."""
    spec = merged("channels:\n- https://mirror/pkgs/main\n", "channels:\n- x/label/y\n- https://mirror/pkgs/main/\n")
    assert [(one.name, [str(origin) for origin in one.origins]) for one in spec.channels] == [
        ("x/label/y", ["b.yml:2"]),
        ("https://mirror/pkgs/main", ["a.yml:2", "b.yml:3"]),
    ]
