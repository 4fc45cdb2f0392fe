"""The native core with ONNX Runtime loaded: found in the installed wheel, opened once."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx

from engine import _core
from engine.errors import RuntimeLibraryError

LIBRARY_VARIABLE = "SURPLUS_ORT_LIBRARY"
"""Environment variable that names the library file to load instead of the wheel's."""

_WEIGHTS_FOLDER_KEY = "session.model_external_initializers_file_folder_path"


def find_library() -> Path:
    """The ONNX Runtime library, without importing its Python module (a second copy of it).

    Raises
    ------
    RuntimeLibraryError
        If no wheel is installed, or ``SURPLUS_ORT_LIBRARY`` names no file.
    """
    chosen = os.environ.get(LIBRARY_VARIABLE)
    if chosen:
        if not Path(chosen).is_file():
            raise RuntimeLibraryError(f"{LIBRARY_VARIABLE}={chosen}: no such file")
        return Path(chosen)
    spec = importlib.util.find_spec("onnxruntime")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        found = sorted(Path(place, "capi").glob("libonnxruntime.so.*"))
        if found:
            return found[-1]
    raise RuntimeLibraryError(
        "ONNX Runtime is not installed: pip install onnxruntime (or onnxruntime-gpu),"
        f" or set {LIBRARY_VARIABLE} to libonnxruntime.so"
    )


@cache
def load_runtime() -> str:
    """Open ONNX Runtime once in this process, telemetry off.

    Returns
    -------
    str
        Its version.

    Raises
    ------
    RuntimeLibraryError
        If it is missing, too old or cannot be loaded.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    library = find_library()
    try:
        _core.open_runtime(str(library))
    except RuntimeError as error:
        raise RuntimeLibraryError(f"{library}: {error}") from error
    return _core.runtime_version()


def runtime_version() -> str:
    """ONNX Runtime's version; opens it if need be."""
    return load_runtime()


def open_session(
    model: str | bytes,
    *,
    width: int = 1,
    level: str = "all",
    weights_folder: Path | None = None,
    config: dict[str, str] | None = None,
    optimized_path: str = "",
) -> _core.Session:
    """A session outside any plan.

    Parameters
    ----------
    model : str or bytes
        A path, or a serialised model whose external weights lie in ``weights_folder``.
    width : int
        Intra-op threads, >= 1.
    level : str
        Graph optimisation: ``disable_all``, ``basic``, ``extended`` or ``all``.

    Raises
    ------
    RuntimeError
        If ONNX Runtime refuses the model; the message is its own.
    """
    load_runtime()
    options = dict(config or {})
    if weights_folder is not None and isinstance(model, bytes):
        options[_WEIGHTS_FOLDER_KEY] = str(weights_folder)
    return _core.Session(
        model, width=width, level=level, config=options, optimized_path=optimized_path
    )


def value_of(array: np.ndarray[Any, Any], elem_type: int) -> _core.Value:
    """A tensor value of ``elem_type`` from an array as ``onnx.numpy_helper`` makes it."""
    array = np.asarray(array, order="C")
    if elem_type == onnx.TensorProto.STRING:
        return _core.Value.from_numpy(array.astype(object), elem_type)
    if elem_type in _FOUR_BIT:
        return _core.Value.from_packed(_packed(array), elem_type, array.shape)
    if array.dtype.kind == "V" or array.dtype in _NARROW_FLOATS:
        array = array.view({1: np.uint8, 2: np.uint16}[array.dtype.itemsize])
    return _core.Value.from_numpy(array, elem_type)


_FOUR_BIT = {onnx.TensorProto.INT4, onnx.TensorProto.UINT4}

_NARROW_FLOATS = {
    np.dtype(kind)
    for kind in (
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
    )
}


def _packed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Two elements a byte, the first one in the low half, as ONNX stores them."""
    nibbles = array.astype(np.int8).view(np.uint8).ravel() & 0x0F
    if nibbles.size % 2:
        nibbles = np.append(nibbles, np.uint8(0))
    return np.asarray(nibbles[0::2] | (nibbles[1::2] << 4), dtype=np.uint8)
