"""The datatypes of the Open Inference Protocol and what they are in numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from surplus.engine.errors import InputError


@dataclass(frozen=True)
class Datatype:
    """One datatype.

    Parameters
    ----------
    name : str
        Its name in the protocol.
    dtype : numpy.dtype
        Element type in memory; object for BYTES.
    contents_field : str or None
        The field of ``InferTensorContents`` that carries its values; None: raw only.
    contents_dtype : numpy.dtype
        Element type of that field; wider than ``dtype`` for small integers.
    """

    name: str
    dtype: np.dtype[Any]
    contents_field: str | None
    contents_dtype: np.dtype[Any]

    @property
    def config_name(self) -> str:
        """Its name in Triton's model configuration."""
        return "TYPE_STRING" if self.name == "BYTES" else f"TYPE_{self.name}"


def _datatype(name: str, dtype: Any, field: str | None, contents_dtype: Any = None) -> Datatype:
    return Datatype(name, np.dtype(dtype), field, np.dtype(contents_dtype or dtype))


DATATYPES: dict[str, Datatype] = {
    datatype.name: datatype
    for datatype in (
        _datatype("BOOL", np.bool_, "bool_contents"),
        _datatype("UINT8", np.uint8, "uint_contents", np.uint32),
        _datatype("UINT16", np.uint16, "uint_contents", np.uint32),
        _datatype("UINT32", np.uint32, "uint_contents"),
        _datatype("UINT64", np.uint64, "uint64_contents"),
        _datatype("INT8", np.int8, "int_contents", np.int32),
        _datatype("INT16", np.int16, "int_contents", np.int32),
        _datatype("INT32", np.int32, "int_contents"),
        _datatype("INT64", np.int64, "int64_contents"),
        _datatype("FP16", np.float16, None),
        _datatype("FP32", np.float32, "fp32_contents"),
        _datatype("FP64", np.float64, "fp64_contents"),
        _datatype("BF16", ml_dtypes.bfloat16, None),
        _datatype("BYTES", np.object_, "bytes_contents"),
    )
}
_NAME_OF_DTYPE = {datatype.dtype: datatype.name for datatype in DATATYPES.values()}


def datatype_named(name: str, tensor: str) -> Datatype:
    """Look a datatype up.

    Raises
    ------
    InputError
        If there is none of that name; the message says which tensor asked for it.
    """
    try:
        return DATATYPES[name]
    except KeyError:
        known = ", ".join(DATATYPES)
        raise InputError(
            f"input {tensor!r}: unknown datatype {name!r}; expected one of {known}"
        ) from None


def datatype_of(array: np.ndarray[Any, Any]) -> str:
    """Name of the datatype that an array travels as; strings of any width are BYTES.

    Raises
    ------
    ValueError
        If the protocol has no such datatype.
    """
    name = _NAME_OF_DTYPE.get(array.dtype)
    if name is None and array.dtype.kind in "SU":
        name = "BYTES"
    if name is None:
        raise ValueError(f"the Open Inference Protocol has no datatype for {array.dtype}")
    return name
