"""Where CUDA's headers are: in NVIDIA's packages, and in the system."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_NEEDED = ("cuda.h", "cuda_runtime_api.h", "crt/host_defines.h")

MISSING = "no CUDA headers (pip install nvidia-cuda-runtime nvidia-cuda-crt)"


def cuda_header_folders() -> list[Path]:
    """Folders with all of them; empty if there is none."""
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(root) for root in (spec.submodule_search_locations or ())] if spec else []
    found = [folder for root in roots for folder in root.glob("cu*/include")]
    found += Path("/usr/local").glob("cuda-*/include")
    return [folder for folder in found if all((folder / name).exists() for name in _NEEDED)]
