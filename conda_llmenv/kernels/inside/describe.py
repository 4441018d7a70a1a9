"""Makes a kernelspec with the environment's own ipykernel: ``python -I describe.py JSON``.

The answer goes into the file that is asked for, as JSON: whatever packages print is no answer.
"""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping


def main() -> None:
    """Write the kernelspec, and tell the version of ipykernel or the exception."""
    asked = json.loads(sys.argv[1])
    try:
        answer = described(asked)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    with open(asked["answer"], "w", encoding="utf-8") as stream:
        json.dump(answer, stream)


def described(asked: Mapping[str, Any]) -> Dict[str, Any]:
    """Let ipykernel write the folder with kernel.json and logos, and put what starts the kernel beside them."""
    from ipykernel.kernelspec import get_kernel_dict, write_kernel_spec

    folder = asked["folder"]
    own = get_kernel_dict()
    write_kernel_spec(
        folder,
        overrides={
            "argv": [asked["python"], "-I", "-S", asked["launcher"], *own["argv"][1:]],
            "display_name": asked["display_name"],
            "env": {**own.get("env", {}), **asked["env"]},
            "metadata": {**own.get("metadata", {}), **asked["metadata"]},
        },
    )
    shutil.copyfile(asked["sources"]["launch"], os.path.join(folder, "launch.py"))
    entering = os.path.join(folder, "entering")
    shutil.copytree(asked["sources"]["entering"], entering, ignore=shutil.ignore_patterns("__pycache__"))
    for name in os.listdir(entering):
        if name.endswith(".py"):
            path = os.path.join(entering, name)
            # Nothing is compiled, or written, when a kernel starts; the folder is renamed into its place.
            py_compile.compile(path, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH, doraise=True)
    return {"ipykernel": _version(), "kernel": _read_back(folder)}


def _version() -> str:
    import ipykernel

    return str(getattr(ipykernel, "__version__", ""))


def _read_back(folder: str) -> Dict[str, Any]:
    """Return the kernelspec as Jupyter reads it."""
    from jupyter_client.kernelspec import KernelSpec

    return dict(KernelSpec.from_resource_dir(folder).to_dict())


if __name__ == "__main__":
    main()
