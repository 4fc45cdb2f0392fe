"""The classification extension: the largest values of an output with their places, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surplus.engine.errors import InputError
from surplus.engine.serving.datatypes import datatype_of
from surplus.engine.serving.servable import Array

_NUMBERS = frozenset(
    f"{kind}{bits}"
    for kind, sizes in (("UINT", (8, 16, 32, 64)), ("INT", (8, 16, 32, 64)), ("FP", (32, 64)))
    for bits in sizes
)


@dataclass(frozen=True)
class Classes:
    """What a model's configuration says of the classes of an output.

    Parameters
    ----------
    labels : sequence of str
        By class; there may be fewer, or none.
    has_batch : bool
        Whether the first dimension is a batch, whose rows are classified each by itself.
    """

    labels: Sequence[str] = ()
    has_batch: bool = False


_NOTHING = Classes()


def classified(output: str, array: Array, count: int, classes: Classes = _NOTHING) -> Array:
    """The largest values of an output, each as ``value:index:label``, largest first.

    Of equal values the earlier comes first, and NaNs come last. Without a batch dimension an output
    is taken as a whole, and without a label nothing follows the index, as Triton has it.

    Parameters
    ----------
    count : int
        How many, at least 1; all if there are fewer.

    Returns
    -------
    array of bytes, shape (count,) or (batch, count)
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
    if not classes.has_batch or not array.ndim:
        return _texts(array.reshape(-1), count, classes.labels)
    if not array.shape[0]:
        return np.empty((0, 0), np.object_)
    rows = array.reshape(array.shape[0], -1)
    return np.stack([_texts(row, count, classes.labels) for row in rows])


def _texts(values: Array, count: int, labels: Sequence[str]) -> Array:
    form = "%.6f:%d" if values.dtype.kind == "f" else "%d:%d"
    found = [
        form % (values[index], index) + _behind(labels, index) for index in _largest(values, count)
    ]
    texts = np.empty(len(found), np.object_)
    texts[:] = [text.encode() for text in found]
    return texts


def _behind(labels: Sequence[str], index: int) -> str:
    label = labels[index] if index < len(labels) else ""
    return f":{label}" if label else ""


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
