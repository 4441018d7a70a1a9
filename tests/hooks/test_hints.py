"""Which of conda's errors get a next step of ours."""

from __future__ import annotations

import pytest

from conda_llmenv.hooks.hints import told


@pytest.mark.parametrize(
    ("kind", "text", "codes"),
    [
        (
            "UnavailableInvalidChannel",
            "HTTP 404 NOT FOUND for channel nodefaults",
            ["llmenv_nodefaults"],
        ),
        ("UnsatisfiableError", "pytorch would require\n  - feature:/linux-64::__cuda >=12", ["llmenv_no_driver"]),
        ("PackagesNotFoundError", "- __cuda_arch", []),
        ("EnvironmentSpecPluginNotDetected", "Available formats:\n  - llmenv", ["llmenv_format"]),
        ("CondaHTTPError", "HTTP 000 for https://h.example/conda-forge", []),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else None,
)
def test_errors_are_told_by_name_and_text(kind: str, text: str, codes: list[str]) -> None:
    """A hint is given where we know more than conda, and nowhere else."""
    assert [code for code, _text in told(kind, text)] == codes
