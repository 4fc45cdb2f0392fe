"""A function of a shared library that computes a segment in a session's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from surplus.engine import _core


@dataclass(frozen=True)
class CompiledKernel:
    """What ``engine/include/surplus_segment.h`` describes, for one segment.

    Parameters
    ----------
    library : Path
    symbol : str
    inputs, outputs : tuple of str
        Tensors in the function's order.
    width : int
        Lanes that it may keep busy.
    constants : sequence of Value
        What it reads behind the inputs.
    """

    library: Path
    symbol: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    width: int
    constants: Sequence[_core.Value]
