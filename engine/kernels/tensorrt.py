"""TensorRT's kernels for segments of a CUDA GPU: a provider of ONNX Runtime, which compiles them.

What it does not take of a segment, CUDA's kernels compute in the same session.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from surplus.engine.errors import RuntimeLibraryError
from surplus.engine.kernels.library import Installed, KernelLibrary
from surplus.engine.native import find_library, newest

TENSORRT_PROVIDER = "libonnxruntime_providers_tensorrt.so"
"""Of ONNX Runtime, beside its own library."""

_SYSTEM = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/tensorrt/lib")


@functools.cache
def _find() -> Installed | None:
    """Looked for once; not loaded, which takes a second."""
    try:
        provider = find_library().with_name(TENSORRT_PROVIDER)
    except RuntimeLibraryError:
        return None
    if not provider.is_file():
        return None
    from surplus.engine.cuda_libraries import TENSORRT_LIBRARIES  # not where there is no provider

    found = newest(path for folder in _folders() for path in folder.glob(TENSORRT_LIBRARIES[0]))
    return None if found is None else Installed(found, found.resolve().name)


def _folders() -> Iterator[Path]:
    spec = importlib.util.find_spec("tensorrt_libs")
    yield from map(Path, (spec.submodule_search_locations or ()) if spec else ())
    yield from map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")))
    yield from map(Path, _SYSTEM)


LIBRARY = KernelLibrary(
    name="tensorrt",
    title="TensorRT",
    install="pip install 'surplus-engine[gpu]' tensorrt",
    kinds=frozenset({"cuda"}),
    find=_find,
    refuses_op=lambda op_type: False,
    computes_in=lambda precision: precision == "f32",
    is_provider=True,
)
