"""``OrtValue``: a tensor or a sequence that a program holds between queries."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from surplus.engine.dlpack import array_of, capsule_of
from surplus.engine.dropin.ort_device import require_host
from surplus.engine.dropin.statuses import NotImplemented, status
from surplus.engine.runtime.inputs import Array
from surplus.engine.runtime.type_text import tensor_type
from surplus.engine.values import dtype_of, elem_type_of

_ONLY_NUMBERS = "Creation of OrtValues is currently only supported from non-string numpy arrays"
_NO_TENSOR = "Only OrtValues that are Tensors are currently supported"


class OrtValue:
    """Content in the host's memory.

    Parameters
    ----------
    content : array, list of arrays, dict, OrtValue or None
        Shared, not copied: an array that is C-contiguous is the value's memory.
    """

    def __init__(self, content: Array) -> None:
        self._content: Array = content._content if isinstance(content, OrtValue) else content

    @property
    def _ortvalue(self) -> OrtValue:
        """ONNX Runtime's own handle of it: itself."""
        return self

    def _get_c_value(self) -> OrtValue:
        return self

    @classmethod
    def ortvalue_from_numpy(
        cls,
        numpy_obj: np.ndarray[Any, Any],
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """A tensor over an array's memory.

        Raises
        ------
        RuntimeError
            If it is no array of numbers, or is to lie on another device.
        """
        require_host(device_type, device_id)
        if not isinstance(numpy_obj, np.ndarray) or numpy_obj.dtype.kind in "OUST":
            raise RuntimeError(_ONLY_NUMBERS)
        elem_type_of(numpy_obj.dtype)
        return cls(np.ascontiguousarray(numpy_obj).reshape(numpy_obj.shape))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(
        cls, data: np.ndarray[Any, Any], /, onnx_element_type: int
    ) -> OrtValue:
        """A tensor of a type that numpy lacks, over the bits of an array of the same width.

        Raises
        ------
        ValueError
            If the widths differ, or there is no such type.
        """
        wanted = dtype_of(onnx_element_type)
        if wanted.itemsize != data.dtype.itemsize:
            raise ValueError(f"{tensor_type(onnx_element_type)} is not as wide as {data.dtype}")
        return cls(np.ascontiguousarray(data).reshape(data.shape).view(wanted))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: Any,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """A tensor of zeros; ``element_type`` is a numpy type or a number of ONNX's."""
        require_host(device_type, device_id)
        kind = numpy_type(element_type)
        elem_type_of(kind)
        return cls(np.zeros(tuple(shape), kind))

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """A tensor over another library's memory; raises as ``array_of``."""
        return cls(array_of(data))

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: Any) -> NoReturn:
        """Refused.

        Raises
        ------
        NotImplemented
        """
        raise status(NotImplemented, "queries take no sparse tensors")

    def as_sparse_tensor(self) -> NoReturn:
        """Refused: it never is one.

        Raises
        ------
        RuntimeError
        """
        raise RuntimeError("This OrtValue does not contain SparseTensor. Check data_type() value.")

    def numpy(self) -> Array:
        """The array over its memory; of other than tensors, what ``run`` returns of the like.

        Raises
        ------
        RuntimeError
            If it is no tensor.
        """
        return self._array()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self._array()
        changed = dtype is not None and array.dtype != np.dtype(dtype)
        if changed and copy is False:
            raise ValueError("another type takes a copy")
        return array.astype(dtype) if changed else array.copy() if copy else array

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return capsule_of(self._array())

    def __getattr__(self, name: str) -> Any:
        if name == "to_dlpack":  # of the extension module's alone
            return self.__dlpack__
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array().__dlpack_device__()

    def data_ptr(self) -> int:
        """Address of its first element."""
        return self._array().ctypes.data

    def data_type(self) -> str:
        """ONNX Runtime's text for its type: ``tensor(float)``."""
        if self.is_tensor_sequence():
            first = self._content[0] if self._content else np.zeros(0, np.float32)
            return f"seq({tensor_type(elem_type_of(first.dtype))})"
        return tensor_type(self.element_type())

    def element_type(self) -> int:
        """ONNX's number of the type of its elements."""
        return int(elem_type_of(self._array().dtype))

    def shape(self) -> list[int]:
        """Sizes."""
        return list(self._array().shape)

    def tensor_size_in_bytes(self) -> int:
        """Bytes of its elements."""
        return self._array().nbytes

    def device_name(self) -> str:
        """Where it lies."""
        return "cpu"

    def has_value(self) -> bool:
        """Whether it is not an optional that is absent."""
        return self._content is not None

    def is_tensor(self) -> bool:
        """Whether it is one tensor."""
        return isinstance(self._content, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        """Never: sparse tensors are not there."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Whether it is a sequence of tensors."""
        return isinstance(self._content, list) and all(
            isinstance(item, np.ndarray) for item in self._content
        )

    def update_inplace(self, data: Any) -> None:
        """Replace the content of its memory by an array's or another value's.

        Raises
        ------
        TypeError, RuntimeError
            If ``data`` is neither, or not of the same type and number of elements.
        """
        source = data._array() if isinstance(data, OrtValue) else data
        if not isinstance(source, np.ndarray):
            raise TypeError("data must be a numpy.ndarray or an OrtValue.")
        target = self._array()
        if source.size != target.size:
            raise RuntimeError(
                "The input size of numpy arrays does not match the size of the OrtValue."
            )
        if source.dtype != target.dtype:
            raise RuntimeError(f"the OrtValue is of {target.dtype}, the data of {source.dtype}")
        np.copyto(target, source.reshape(target.shape))

    def _array(self) -> np.ndarray[Any, Any]:
        if not isinstance(self._content, np.ndarray):
            raise RuntimeError(_NO_TENSOR)
        return self._content


class OrtValueVector(list[OrtValue]):
    """Values one after another, as ONNX Runtime's extension module hands them over."""

    def push_back(self, value: OrtValue) -> None:
        """Append a value."""
        self.append(value)

    def push_back_batch(
        self,
        tensors: Iterable[Any],
        data_ptrs: Sequence[int],
        element_types: Sequence[Any],
        shapes: Sequence[Sequence[int]],
        devices: Sequence[Any],
    ) -> None:
        """Append values over memory that ``tensors`` keep."""
        for address, kind, shape in zip(data_ptrs, element_types, shapes, strict=True):
            self.append(OrtValue(array_at(address, shape, numpy_type(kind))))

    def reserve(self, count: int) -> None:
        """There is nothing to reserve."""

    def shrink_to_fit(self) -> None:
        """There is nothing to give back."""

    def element_type_at(self, index: int) -> int:
        """ONNX's number of the type of a value's elements."""
        return self[index].element_type()

    def dlpack_at(self, index: int) -> Any:
        """A value as a DLPack capsule."""
        return self[index].__dlpack__()

    def to_dlpacks(self, to_tensor: Callable[[Any], Any] | None) -> list[Any]:
        """All of them, each as what ``to_tensor`` makes of its capsule."""
        capsules = [value.__dlpack__() for value in self]
        return capsules if to_tensor is None else [to_tensor(each) for each in capsules]


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: Any = None) -> None:
    """Replace the content of some values by that of others."""
    for source, target in zip(src, dst, strict=True):
        target.update_inplace(source)


def array_at(address: int, shape: Sequence[int], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The array over a program's own memory, which must outlive it."""
    memory = (ctypes.c_uint8 * (math.prod(shape) * kind.itemsize)).from_address(address)
    array: np.ndarray[Any, Any] = np.ctypeslib.as_array(memory).view(kind).reshape(tuple(shape))
    return array


def numpy_type(element_type: Any) -> np.dtype[Any]:
    """What a program writes for a type of elements: numpy's, or a number of ONNX's."""
    if isinstance(element_type, int):
        return dtype_of(element_type)
    kind: np.dtype[Any] = np.dtype(element_type)
    return kind


def content_of(value: Any) -> Array:
    """What a query takes of an ``OrtValue``, ours or the module's; of other things, themselves."""
    if isinstance(value, OrtValue):
        return value._content
    if type(value).__name__ == "OrtValue" and hasattr(value, "numpy"):
        return value.numpy()
    return value
