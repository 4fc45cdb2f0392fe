"""Element types that the ONNX Runtime which is tested knows."""

from __future__ import annotations

from onnx import TensorProto

from surplus.engine.native import load_runtime


def runtime_version() -> tuple[int, ...]:
    """Of ONNX Runtime."""
    return tuple(map(int, load_runtime().split(".")))


KNOWN = range(1, 27 if runtime_version() >= (1, 31) else 24)  # FLOAT8E8M0, INT2, UINT2
COMPLEX = {TensorProto.COMPLEX64, TensorProto.COMPLEX128}  # ONNX Runtime has no such tensors
NUMERIC = [code for code in KNOWN if code != TensorProto.STRING and code not in COMPLEX]
