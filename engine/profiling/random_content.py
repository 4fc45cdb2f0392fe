"""Content of inputs that nobody gave: of one tensor, without the ``onnx`` package."""

from __future__ import annotations

from typing import Any

import numpy as np

from surplus.engine.element_type import ElementType
from surplus.engine.values import dtype_of

Array = np.ndarray[Any, Any]


def random_content(elem_type: int, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Floats uniform in [0, 1), integers 0 or 1, truth, and the text "a".

    Raises
    ------
    ValueError
        If there is no such element type.
    """
    if elem_type == ElementType.STRING:
        return np.full(shape, "a", dtype=object)
    dtype = dtype_of(elem_type)
    if dtype.kind == "b":
        return np.ones(shape, dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 2, shape).astype(dtype)
    return np.asarray(rng.random(shape), dtype)
