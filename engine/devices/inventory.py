"""The devices of this machine, as the user may name them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from surplus.engine.devices.cuda_parts import cuda_parts
from surplus.engine.devices.registry import KINDS
from surplus.engine.devices.spec import kind_named
from surplus.engine.errors import RuntimeLibraryError, one_line
from surplus.engine.kernels.library import KernelLibrary
from surplus.engine.kernels.registry import LIBRARIES, open_library


def inventory() -> dict[str, list[dict[str, Any]]]:
    """All devices, GPUs that cannot be driven and emulated ones included.

    Returns
    -------
    dict
        ``devices``: rows of name, what it is, its memory, and whether it can be used or why not;
        ``kernels``: rows of the libraries of kernels, for which kinds of devices, and how to get
        those that are not there; ``cuda``: rows of what a CUDA device needs (``cuda_parts.Part``).
    """
    return {
        "devices": [row for kind in KINDS for row in kind_named(kind).inventory()],
        "kernels": [_library(library) for library in LIBRARIES.values()],
        "cuda": [asdict(part) for part in cuda_parts()],
    }


def _library(library: KernelLibrary) -> dict[str, Any]:
    here = library.find()
    row = {
        "name": library.name,
        "for": ", ".join(sorted(library.kinds)),
        "version": here.version if here else "",
        "usable": "yes",
    }
    if here is None:
        return {**row, "usable": f"no: not installed: {library.install}"}
    try:
        open_library(library.name)
    except RuntimeLibraryError as error:
        row["usable"] = f"no: {one_line(error)}"
    return row
