"""CUDA's libraries that ONNX Runtime's provider needs, loaded first: it finds no packages."""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from surplus.engine import _core
from surplus.engine.native import newest

_log = logging.getLogger(__name__)

WORKSPACE_VARIABLE = "CUBLAS_WORKSPACE_CONFIG"
WORKSPACE = ":32768:1"
"""32 MiB in one block for each of cuBLAS' handles, of which each lane has one.

By itself cuBLAS takes 64 MiB on Hopper. With less than one block of 32 MiB products whose inner
side is long take up to 2.6 times as long there (docs/PERFORMANCE.md, "cuBLAS' workspace").
"""

WORKSPACE_A_SESSION = ":4096:2:16:8"
"""8 MiB, where another library's cuBLAS came first, and every session has a handle of its own."""

SHARED_CUBLAS = Path(_core.__file__).with_name("libsurplus_cublas.so")
"""In front of cuBLAS: gives the sessions of a lane one handle (core/cublas/cublas_lanes.cpp)."""

_RUNTIME = "libcudart.so.*"
LIBRARIES = (
    _RUNTIME,
    "libnvrtc.so.*",
    "libcublasLt.so.*",
    "libcublas.so.*",
    "libcurand.so.*",
    "libcufft.so.*",
    "libcudnn.so.*",
)
"""Patterns, each after those that it needs."""


TENSORRT_LIBRARIES = ("libnvinfer.so.10", "libnvonnxparser.so.10")
"""What ONNX Runtime's TensorRT provider is linked to, in the order of loading."""


def preload(folders: tuple[Path, ...] | None = None, *, runtime: str = "") -> tuple[Path, ...]:
    """Load what NVIDIA's packages have of them, for all libraries of the process to see.

    Before them what stands in front of cuBLAS, and the size of cuBLAS' workspaces is set for the
    process, unless that was done: the core counts them by it. What is missing there is left to the
    dynamic linker; ONNX Runtime names what that does not find.

    Parameters
    ----------
    folders : tuple of Path, optional
        Where to look; by default the ``lib`` folders of NVIDIA's packages.
    runtime : str
        CUDA's runtime where it is chosen already. A second one in the process would be the
        provider's, and know nothing of our streams and memory.

    Returns
    -------
    tuple of Path
        What was loaded, in that order.
    """
    shared = ctypes.CDLL(str(SHARED_CUBLAS), mode=ctypes.RTLD_GLOBAL)
    is_shared = bool(shared.surplus_cublas_is_first())
    os.environ.setdefault(WORKSPACE_VARIABLE, WORKSPACE if is_shared else WORKSPACE_A_SESSION)
    where = tuple(_folders()) if folders is None else folders
    patterns = [pattern for pattern in LIBRARIES if not (runtime and pattern == _RUNTIME)]
    chosen = [Path(runtime)] if runtime else []
    found = (*chosen, *(_found(pattern, where) for pattern in patterns))
    return tuple(path for path in found if path is not None and _load(path))


def preload_tensorrt() -> tuple[Path, ...]:
    """Load TensorRT from its package, or from where the dynamic linker finds it.

    Returns
    -------
    tuple of Path
        What was loaded, in that order; empty if there is none.
    """
    spec = importlib.util.find_spec("tensorrt_libs")
    folders = [Path(root) for root in (spec.submodule_search_locations or ())] if spec else []
    found = [_found(name, tuple(folders)) or Path(name) for name in TENSORRT_LIBRARIES]
    loaded = []
    for path in found:
        try:
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        except OSError:
            return ()
        loaded.append(path)
    return tuple(loaded)


def _folders() -> Iterator[Path]:
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(root).glob("*/lib"))


def _found(pattern: str, folders: tuple[Path, ...]) -> Path | None:
    return newest(path for folder in folders for path in folder.glob(pattern))


def _load(path: Path) -> bool:
    try:
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        _log.warning("%s is not loaded: %s", path, error)
        return False
    return True
