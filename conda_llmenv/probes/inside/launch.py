"""Starts several ranks of a probe under the environment's own torchrun, on a port that torchrun chooses itself."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from .telling import Teller


def run(asked: Mapping[str, Any], teller: Teller) -> None:
    """Run ``asked["probe"]`` as ``asked["ranks"]`` processes and end with torchrun's own exit status."""
    os.dup2(teller.descriptor, 1)  # the ranks' observations take the way this process was given
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # what torchrun sets too, with a warning
    from torch.distributed.run import main

    entry = os.path.join(os.path.dirname(os.path.abspath(__file__)), "entry.py")
    main(
        [
            "--standalone",
            "--nnodes=1",
            f"--nproc-per-node={asked['ranks']}",
            "--max-restarts=0",
            "--no-python",
            sys.executable,
            "-I",
            entry,
            asked["probe"],
            json.dumps({**asked["asked"], "nonce": teller.nonce}),
        ]
    )
