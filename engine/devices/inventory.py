"""The devices of this machine, as the user may name them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from surplus.engine.devices.cuda_parts import cuda_parts
from surplus.engine.devices.registry import KINDS
from surplus.engine.devices.spec import kind_named


def inventory() -> dict[str, list[dict[str, Any]]]:
    """All devices, GPUs that cannot be driven and emulated ones included.

    Returns
    -------
    dict
        ``devices``: rows of name, what it is, its memory, and whether it can be used or why not;
        ``cuda``: rows of what a CUDA device needs (``cuda_parts.Part``).
    """
    return {
        "devices": [row for kind in KINDS for row in kind_named(kind).inventory()],
        "cuda": [asdict(part) for part in cuda_parts()],
    }
