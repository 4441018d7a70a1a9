"""A variable that holds a secret is in no format of a lock, by whatever it can be told."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from conda_llmenv.locks.environment_lock import write_asked
from conda_llmenv.locks.registry import FORMATS
from conda_llmenv.model import AskedEnvironment, Lock
from tests.locks.samples import LOCK

CANARY = "c4n4ry0123456789c4n4ry0123456789ab"
SECRET = {
    "API_KEY": CANARY,
    "AWS_SECRET_ACCESS_KEY": f"/{CANARY}+",
    "GH_PAT": CANARY,
    "PW": f"two {CANARY}",
    "WANDB_KEY": CANARY,
    "my_token": CANARY,
    "HEADER": f"Bearer {CANARY}",
    "NOTE": f"ghp_{CANARY}",
    "LINK": f"https://b.example/x?X-Amz-Signature={CANARY}",
}
PLAIN = {"NCCL_DEBUG": "INFO", "TOKENIZERS_PARALLELISM": "false", "SSH_KEY_PATH": "/keys/id"}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_format_holds_it(name: str) -> None:
    """Each value is left out; what is no secret is written where the format has a place for it."""
    lock: Lock = replace(LOCK, variables={**SECRET, **PLAIN})
    text = FORMATS[name].write(lock)
    assert CANARY not in text
    if "NCCL_DEBUG" in text:
        assert all(other in text for other in PLAIN)


def test_a_mask_is_not_written_as_a_value() -> None:
    """What was noted of a secret is a mask; an environment with that value would be worse than one without."""
    text = write_asked(AskedEnvironment(("python",), variables={"HF_TOKEN": "***", "NO": "1"}))
    assert "# HF_TOKEN holds a secret and is left out" in text
    assert "***" not in text
    assert '"NO": "1"' in text
