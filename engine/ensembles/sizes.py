"""What is known of tensors where one step's output is another's input: their types and sizes."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

Size = int | str
"""A fixed size, or the name of an open one; names are of one step alone."""


class Mismatch(ValueError):
    """Two descriptions of a tensor contradict each other; the message says how."""


class EqualSizes:
    """Which open sizes are the same, or are known after all, since tensors are one."""

    def __init__(self) -> None:
        self._same: dict[str, Size] = {}

    def find(self, size: Size) -> Size:
        """What a size is called, or is."""
        while isinstance(size, str) and size in self._same:
            size = self._same[size]
        return size

    def join(self, one: Sequence[Size], other: Sequence[Size]) -> None:
        """The sizes of one tensor as two steps know it.

        Raises
        ------
        Mismatch
            If they cannot both hold.
        """
        if len(one) != len(other):
            raise Mismatch(f"{_text(one)} has other dimensions than {_text(other)}")
        for left, right in zip(map(self.find, one), map(self.find, other), strict=True):
            if left == right:
                continue
            if isinstance(left, str):
                self._same[left] = right
            elif isinstance(right, str):
                self._same[right] = left
            else:
                raise Mismatch(f"{_text(one)} is not {_text(other)}")

    def apply(self, graph: onnx.GraphProto) -> None:
        """Write what was found into a graph's descriptions of its values."""
        for value in (*graph.input, *graph.output, *graph.value_info):
            if value.type.HasField("tensor_type"):
                for size in value.type.tensor_type.shape.dim:
                    self._write(size)

    def _write(self, size: onnx.TensorShapeProto.Dimension) -> None:
        if size.HasField("dim_param"):
            found = self.find(size.dim_param)
            if isinstance(found, int):
                size.dim_value = found
            else:
                size.dim_param = found


def sizes_of(value: onnx.ValueInfoProto, unnamed: str) -> list[Size] | None:
    """Its sizes; None if not even the rank is known. Open ones get a name, of ``unnamed``."""
    if not value.type.tensor_type.HasField("shape"):
        return None
    sizes: list[Size] = []
    for place, size in enumerate(value.type.tensor_type.shape.dim):
        if not size.HasField("dim_value") or size.dim_value < 0:
            size.dim_param = size.dim_param or f"{unnamed}{place}"
        sizes.append(size.dim_param if size.HasField("dim_param") else size.dim_value)
    return sizes


def join_types(sizes: EqualSizes, one: onnx.ValueInfoProto, other: onnx.ValueInfoProto) -> None:
    """Have two descriptions be of one tensor.

    Raises
    ------
    Mismatch
        If they contradict each other, or one is of no tensor.
    """
    for value in (one, other):
        if value.type.WhichOneof("value") != "tensor_type":
            raise Mismatch(f"a {value.type.WhichOneof('value')} cannot pass between steps")
    left, right = one.type.tensor_type.elem_type, other.type.tensor_type.elem_type
    if left != right:
        raise Mismatch(f"{type_name(left)} is not {type_name(right)}")
    ours, theirs = sizes_of(one, f"{one.name}?"), sizes_of(other, f"{other.name}?")
    if ours is not None and theirs is not None:
        sizes.join(ours, theirs)


def type_name(elem_type: int) -> str:
    """As ONNX calls it."""
    return str(onnx.TensorProto.DataType.Name(elem_type))


def _text(shape: Sequence[Size]) -> str:
    return f"[{', '.join(size if isinstance(size, str) else str(size) for size in shape)}]"
