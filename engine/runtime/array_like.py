"""Arrays of what a query may give instead: other libraries' tensors and tables, lists, numbers.

What has a type of its own must be of the input's, as an array must; Python's numbers have none, and
are taken where they survive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

UNREADABLE = (TypeError, ValueError, RuntimeError, BufferError)
"""What other libraries raise where there is no array."""

_Array = np.ndarray[Any, Any]


def has_type(content: Any) -> bool:
    """Whether content, or an item of a list at any depth, has elements of a type of its own."""
    if isinstance(content, list | tuple):
        return any(map(has_type, content))
    is_number = isinstance(content, bool | int | float | complex | str | bytes)
    return not is_number or isinstance(content, np.generic)


def as_array(content: Any) -> _Array:
    """The array over a tensor's or table's memory, or of a list.

    Raises
    ------
    TypeError, ValueError, RuntimeError, BufferError
        In the library's own words.
    """
    if not hasattr(content, "__dlpack__"):
        return np.asarray(content)
    if hasattr(content, "__array__"):
        try:
            return np.asarray(content)
        except TypeError:  # of a type that numpy lacks
            pass
    from surplus.engine.dlpack import array_of  # of what few programs have

    return array_of(content)


def survives(array: _Array, wanted: np.dtype[Any]) -> bool:
    """Whether Python's numbers are the same in another type: floats but for rounding."""
    if array.size == 0 or array.dtype == wanted:
        return True
    if array.dtype.kind not in "biuf":
        return array.dtype.kind != "O" and np.can_cast(array.dtype, wanted, "same_kind")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = array.astype(wanted)
        if array.dtype.kind != "f":
            return bool(np.all(cast.astype(array.dtype) == array))
        if "int" in wanted.name or wanted.kind == "b":
            return False
        return bool(np.all(np.isfinite(cast) | ~np.isfinite(array)))
