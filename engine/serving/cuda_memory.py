"""Shared memory of GPUs: there is none yet, which is said in Triton's words."""

from __future__ import annotations

from typing import Any

from surplus.engine.errors import InputError, UnknownRegionError


def cuda_status(name: str = "") -> list[dict[str, Any]]:
    """The regions of GPUs' memory: none.

    Raises
    ------
    UnknownRegionError
        If one is asked for by name.
    """
    if name:
        raise UnknownRegionError(f"Unable to find cuda shared memory region: {name!r}")
    return []


def refuse_cuda(name: str) -> InputError:
    """Why none can be registered, as a Triton without GPUs says it."""
    return InputError(
        f"failed to register CUDA shared memory region: {name!r}, GPUs not supported; "
        "register system shared memory"
    )
