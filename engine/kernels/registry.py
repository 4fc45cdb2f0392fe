"""Every library of kernels there is, and those that are open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surplus.engine import _core
from surplus.engine.errors import RuntimeLibraryError, one_line
from surplus.engine.kernels import openvino, tensorrt
from surplus.engine.kernels.library import KernelLibrary
from surplus.engine.native import load_runtime

if TYPE_CHECKING:
    from surplus.engine.kernels.conformance.table import ConformanceTable

LIBRARIES: dict[str, KernelLibrary] = {
    library.name: library for library in (openvino.LIBRARY, tensorrt.LIBRARY)
}


def installed() -> dict[str, str]:
    """Versions of the libraries that are here, by name."""
    found = {name: library.find() for name, library in LIBRARIES.items()}
    return {name: here.version for name, here in found.items() if here is not None}


def version_of(name: str) -> str:
    """Version of a library that is here, else empty; it is not loaded."""
    here = LIBRARIES[name].find() if name in LIBRARIES else None
    return here.version if here else ""


def table_of(name: str) -> ConformanceTable | None:
    """The conformance table of a library that is here, on this processor; None without one."""
    version = version_of(name)
    if not version:
        return None
    from surplus.engine.kernels.conformance.table import find_table  # few machines have a library

    return find_table(name, version)


def open_library(name: str) -> str:
    """Load a library, once in a process; returns its version, as it says itself if it can.

    Raises
    ------
    RuntimeLibraryError
        If it is not installed or cannot be loaded.
    """
    library = LIBRARIES.get(name)
    here = None if library is None else library.find()
    if library is None or here is None:
        hint = "" if library is None else f": {library.install}"
        raise RuntimeLibraryError(f"the library of kernels {name!r} is not installed{hint}")
    load_runtime()
    if library.is_provider:
        from surplus.engine.cuda_libraries import preload_tensorrt

        if not preload_tensorrt():
            raise RuntimeLibraryError(f"{library.title}: {here.path} cannot be loaded")
        return here.version
    try:
        return _core.open_kernel_library(name, str(here.path))
    except RuntimeError as error:
        raise RuntimeLibraryError(f"{library.title}: {one_line(error)}") from error


def failure_of(name: str) -> str:
    """Why an open library is not used any more in this process; empty while it is, or not open."""
    try:
        said = _core.kernel_library_failure(name)
    except RuntimeError:
        return ""
    return f"{LIBRARIES[name].title} is not used any more: {said.splitlines()[-1]}" if said else ""
