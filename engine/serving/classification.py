"""The classification extension: the largest values of an output with their places, as text."""

from __future__ import annotations

import numpy as np

from surplus.engine.errors import InputError
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.servable import Array

_NUMBERS = frozenset(
    f"{kind}{bits}"
    for kind, sizes in (("UINT", (8, 16, 32, 64)), ("INT", (8, 16, 32, 64)), ("FP", (32, 64)))
    for bits in sizes
)


def classified(output: str, array: Array, count: int) -> Array:
    """The largest values of all of an output, each as ``value:index``, largest first.

    Of equal values the earlier comes first, and NaNs come last. As the model configuration says
    that models have no batch dimension, an output is taken as a whole, as Triton takes it then.

    Parameters
    ----------
    count : int
        How many, at least 1; all if there are fewer.

    Returns
    -------
    array of bytes, shape (count,)
        Fractions have six digits, as C++'s ``std::to_string`` writes them.

    Raises
    ------
    InputError
        If the output holds no numbers that Triton orders: FP16, BF16, BOOL, BYTES.
    """
    datatype = datatype_of(array)
    if datatype not in _NUMBERS:
        raise InputError(
            f"output {output!r}: class result not available for output due to unsupported type "
            f"{datatype!r}"
        )
    values = array.reshape(-1)
    form = "%.6f:%d" if values.dtype.kind == "f" else "%d:%d"
    found = [form % (values[index], index) for index in _largest(values, count)]
    texts = np.empty(len(found), np.object_)
    texts[:] = [text.encode() for text in found]
    return texts


def _largest(values: Array, count: int) -> list[int]:
    """Indices of the largest values, largest first; equal ones in their order, NaNs last."""
    keys = -values if values.dtype.kind == "f" else np.invert(values)  # turns the order around
    if count < values.size:
        # Whatever ties with the last that is wanted takes part in the sorting.
        last = np.partition(keys, count - 1)[count - 1]
        candidates = np.flatnonzero(~(keys > last)) if last == last else np.arange(values.size)
    else:
        candidates = np.arange(values.size)
    order = np.argsort(keys[candidates], kind="stable")
    indices: list[int] = candidates[order[:count]].tolist()
    return indices
