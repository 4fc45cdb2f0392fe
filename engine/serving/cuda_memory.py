"""Regions of GPUs' memory that clients registered: their names among those of the host's."""

from __future__ import annotations

from typing import Any

from surplus.engine import _core
from surplus.engine.errors import InputError, RuntimeLibraryError, UnknownRegionError
from surplus.engine.native import find_cuda_library
from surplus.engine.serving.shared_memory import SharedRegions

HANDLE_BYTES = 64
"""Of what ``cudaIpcGetMemHandle`` gives."""

_LARGEST_GPU = 2**31 - 1


def cuda_status(regions: SharedRegions, name: str = "") -> list[dict[str, Any]]:
    """Name, device_id and byte_size of one region of a GPU's memory, or of all.

    Raises
    ------
    UnknownRegionError
        If there is none of that name.
    """
    rows = regions.table.rows(of_gpu=True)
    if not name:
        return rows
    found = [row for row in rows if row["name"] == name]
    if not found:
        raise UnknownRegionError(f"Unable to find cuda shared memory region: {name!r}")
    return found


def cuda_register(
    regions: SharedRegions, name: str, handle: bytes, gpu: int, size_bytes: int
) -> None:
    """Let queries name memory that a client has on a GPU; waits for that GPU.

    Parameters
    ----------
    handle : bytes
        What ``cudaIpcGetMemHandle`` gave the client.

    Raises
    ------
    InputError
        If this machine has no such GPU, or the memory cannot be opened or is smaller.
    RegionExistsError, TooManyRegionsError, UnsupportedError
        As of other regions.
    """
    if not 0 <= gpu <= _LARGEST_GPU:
        raise InputError(f"failed to register CUDA shared memory region: {name!r}, no GPU {gpu}")
    try:
        _core.use_cuda_of(find_cuda_library())
    except RuntimeLibraryError as error:
        raise _no_gpu(name, str(error)) from None
    with regions.registering():
        regions.table.register_of_gpu(name, handle, gpu, size_bytes)


def cuda_unregister(regions: SharedRegions, name: str = "") -> None:
    """Forget a region, or all; queries under way finish."""
    if name:
        regions.table.unregister(name, of_gpu=True)
    else:
        regions.table.clear(of_gpu=True)


def _no_gpu(name: str, why: str) -> InputError:
    """As a Triton without GPUs says it, and why there is none."""
    return InputError(
        f"failed to register CUDA shared memory region: {name!r}, GPUs not supported; "
        f"register system shared memory ({why})"
    )
