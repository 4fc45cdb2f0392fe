"""The inputs of an ONNX file, for models that no server describes."""

from __future__ import annotations

from typing import Any

from surplus.loadgen.clients.inputs import TensorMetadata
from surplus.loadgen.errors import TargetError

_DATATYPES = {
    1: "FP32",
    2: "UINT8",
    3: "INT8",
    4: "UINT16",
    5: "INT16",
    6: "INT32",
    7: "INT64",
    8: "BYTES",
    9: "BOOL",
    10: "FP16",
    11: "FP64",
    12: "UINT32",
    13: "UINT64",
    16: "BF16",
}
"""By ``TensorProto.DataType``."""


def onnx_inputs(path: str) -> list[TensorMetadata]:
    """Read them; open dimensions are -1.

    Raises
    ------
    TargetError
        If the file is no model, or has an input that is no tensor.
    """
    import onnx

    try:
        graph = onnx.load(path, load_external_data=False).graph
    except Exception as error:  # of protobuf, the file system, or onnx
        raise TargetError(f"cannot read {path} as an ONNX model: {error}") from error
    stored = {tensor.name for tensor in graph.initializer}
    return [_metadata(path, value) for value in graph.input if value.name not in stored]


def _metadata(path: str, value: Any) -> TensorMetadata:
    if not value.type.HasField("tensor_type"):
        raise TargetError(f"{path}: input {value.name!r} is no tensor")
    tensor = value.type.tensor_type
    shape = tuple(dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim)
    return TensorMetadata(value.name, _DATATYPES.get(tensor.elem_type, "unknown"), shape)
