"""torch itself, where this machine's pip configuration offers a CPU build."""

from __future__ import annotations

import shutil

import pytest

from conda_llmenv.pypi.registry import choose
from tests.index.fixtures import MakePrefix, MakeRequest, Recorder, python, section
from tests.pypi.test_uv_resolve import versions


@pytest.mark.torch
def test_cpu_build_of_the_configured_find_links_is_installed(
    make_request: MakeRequest, make_prefix: MakePrefix, recorder: Recorder
) -> None:
    """``torch==2.13.0`` becomes the CPU build that only a configured find-links folder has, and it imports."""
    installer = choose().installer
    request = make_request(section("torch==2.13.0"))
    plan = installer.resolve(request, recorder)
    if versions(plan)["torch"] != "2.13.0+cpu":
        pytest.skip("pip's configuration offers no CPU build of torch 2.13.0 here")
    prefix = make_prefix()
    installer.prefetch(plan, request, recorder)
    installer.install(plan, request, prefix, recorder)
    printed = python(prefix, "import torch; print(torch.ones(2).sum().item(), torch.cuda.is_available())")
    shutil.rmtree(prefix)
    assert printed == "2.0 False"
