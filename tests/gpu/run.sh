#!/usr/bin/env bash
# The whole ladder on a machine with an NVIDIA card and a torch of its own, in under five minutes.
#
#   tests/gpu/run.sh [OUT]        (OUT is ./gpu-results by default)
#
# TORCH_PYTHON names the Python that has torch (python3 by default). LLMENV_PYTHON names one that has this checkout's
# requirements; without it a virtual environment is made, which needs a package index.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-gpu-results}
torch_python=$(command -v "${TORCH_PYTHON:-python3}")
"$torch_python" -c 'import torch' || { echo "TORCH_PYTHON has no torch: $torch_python" >&2; exit 2; }
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || echo "nvidia-smi does not answer" >&2

if [ -z "${LLMENV_PYTHON:-}" ]; then
  python3 -m venv .venv-gpu
  .venv-gpu/bin/python -m pip install --quiet --editable .
  LLMENV_PYTHON=.venv-gpu/bin/python
fi
prefix=$("$torch_python" -c 'import sys; print(sys.prefix)')
PYTHONPATH=$PWD exec timeout 290 "$LLMENV_PYTHON" -m tests.gpu "$prefix" "$out"
