"""Reading explanations: the packages that take part, in whichever solver's words."""

from __future__ import annotations

import pytest

from conda_llmenv.engines.explain import package_names

LIBSOLV = """\
Encountered problems while solving:
  - nothing provides __cuda needed by pytorch-2.7.1-cuda126_generic_py311_h0_201
Could not solve for environment specs
The following package could not be installed
└─ pytorch-gpu =* * is not installable because it requires
   └─ pytorch [==2.6.0 cuda*_generic*201|==2.7.1 cuda*_generic*201], which requires
      └─ __cuda =* *, which is missing on the system.
"""

RESOLVO = """\
Cannot solve the request because of: The following packages are incompatible
├─ gate-a * can be installed with any of the following options:
│  └─ gate-a 1.0 would require
│     └─ gate-c <2, which can be installed with any of the following options:
└─ the constraint gate-b >=2 cannot be fulfilled
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (LIBSOLV, ("__cuda", "pytorch", "pytorch-gpu")),
        (RESOLVO, ("gate-a", "gate-c", "gate-b")),
        ("  - package confused-9.0-0 is excluded by strict repo priority", ("confused",)),
        ("  - nothing provides requested no-such_package 1.*", ("no-such_package",)),
        ("  - package nccl-2.22.3.1-h0_1 requires cuda-version >=12.0,<13, but none", ("nccl", "cuda-version")),
        ("No candidates were found for a *.\nNo candidates were found for b >=2.", ("a", "b")),
    ],
    ids=["libsolv", "resolvo", "hidden", "missing", "chain", "two missing"],
)
def test_every_package_of_an_explanation_is_named(text: str, names: tuple[str, ...]) -> None:
    """What a person has to look at is told by name, once each, in the order of the explanation."""
    assert package_names(text) == names
