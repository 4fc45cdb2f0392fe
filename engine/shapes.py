"""Shapes as users and clients write them: bounded before anything is computed of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from surplus.engine.errors import InputError

MAX_RANK = 32
"""Most dimensions of an input; numpy 1 has no more, and no ONNX operator needs as many."""


_LONGEST_NAME = 32
"""Of a size: exporters name some by expressions of thousands of characters."""


def dim_text(dim: int | str | None) -> str:
    """A dimension as tables and messages show it: a size, its name, cut if long, or ``?``."""
    text = "?" if dim is None else str(dim)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."


def check_rank(name: str, shape: Sequence[int]) -> None:
    """Look at a shape's length alone.

    Raises
    ------
    InputError
        If it is above ``MAX_RANK``.
    """
    if len(shape) > MAX_RANK:
        raise InputError(
            f"input {name!r}: shape of rank {len(shape)}, at most {MAX_RANK} dimensions are taken"
        )


def element_count(name: str, shape: Sequence[int]) -> int:
    """How many elements an input of that shape has.

    The product of n sizes takes time in n squared, seconds for the 80,000 that a request of
    720 kB holds: the rank comes first.

    Raises
    ------
    InputError
        If the rank is above ``MAX_RANK``, or a size is negative.
    """
    check_rank(name, shape)
    if any(size < 0 for size in shape):
        raise InputError(f"input {name!r}: negative size in shape {list(shape)}")
    return math.prod(shape)
