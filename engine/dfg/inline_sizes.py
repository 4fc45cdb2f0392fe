"""Constants that may say sizes, kept within a model's file: shape inference reads no other one.

ONNX's rule for Split and SplitToSequence insists on the sizes of the parts, as an error that ends
the opening of a session.
"""

from __future__ import annotations

from pathlib import Path

import onnx

from surplus.engine.dfg.constants import external_place, tensors_of_model

_MOST_BYTES = 64 << 10
_INTEGERS = (onnx.TensorProto.INT64, onnx.TensorProto.INT32)


def may_be_sizes(elem_type: int, length: int) -> bool:
    """Whether a constant of that type and so many bytes is to stay inside."""
    return elem_type in _INTEGERS and length <= _MOST_BYTES


def with_sizes_inside(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """The model, its small constants of whole numbers read into it.

    Parameters
    ----------
    folder : Path
        Where its external data lies.

    Raises
    ------
    OSError
        If that cannot be read.
    """
    for tensor in tensors_of_model(model):
        place = external_place(tensor)
        if place is None or place[2] is None or not may_be_sizes(tensor.data_type, place[2]):
            continue
        name, offset, length = place
        with (folder / name).open("rb") as stream:
            stream.seek(offset)
            put_inside(tensor, stream.read(length))
    return model


def put_inside(tensor: onnx.TensorProto, content: bytes) -> None:
    """Have a constant hold its bytes itself."""
    tensor.raw_data = content
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]
