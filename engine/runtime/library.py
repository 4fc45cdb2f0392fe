"""Finds the ONNX Runtime library that the user's wheel brought, and opens it in the core."""

import importlib.util
import os
from pathlib import Path

from engine import _core
from engine.errors import RuntimeLibraryError

LIBRARY_VARIABLE = "SURPLUS_ORT_LIBRARY"
_PATTERN = "libonnxruntime.so*"
_INSTALL_HINT = (
    "install it with `pip install onnxruntime` (or onnxruntime-gpu), "
    f"or name a libonnxruntime.so in {LIBRARY_VARIABLE}"
)


def find_library() -> Path:
    """
    Path of ``libonnxruntime.so.*``, without importing onnxruntime.

    Importing it would load a second copy of ONNX Runtime into the process.

    Returns
    -------
    Path
        The file named by SURPLUS_ORT_LIBRARY if that is set, else the one in the installed
        onnxruntime or onnxruntime-gpu wheel.

    Raises
    ------
    RuntimeLibraryError
        There is none; the message says what to install.
    """
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        return _existing(Path(named))
    spec = importlib.util.find_spec("onnxruntime")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeLibraryError(f"ONNX Runtime is not installed: {_INSTALL_HINT}")
    return _newest_in(Path(spec.submodule_search_locations[0]) / "capi")


def load_runtime() -> str:
    """
    Open ONNX Runtime in the core, once per process; further calls do nothing.

    Returns
    -------
    str
        Its version, such as "1.31.1".

    Raises
    ------
    RuntimeLibraryError
        The library is missing or too old.
    """
    try:
        return _core.runtime_version()
    except RuntimeError:
        return _open(find_library())


def _open(path: Path) -> str:
    try:
        _core.open_runtime(str(path))
        return _core.runtime_version()
    except RuntimeError as error:
        raise RuntimeLibraryError(f"{error}; {_INSTALL_HINT}") from error


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise RuntimeLibraryError(f"{LIBRARY_VARIABLE} names {path}, which is not a file")
    return path.resolve()


def _newest_in(folder: Path) -> Path:
    found = sorted(folder.glob(_PATTERN))
    if not found:
        raise RuntimeLibraryError(f"no {_PATTERN} in {folder}: {_INSTALL_HINT}")
    return found[-1].resolve()
