"""Which cases ONNX Runtime itself passes: ``python -m tests.conformance.oracle CASES OUT``.

A process of its own, because importing onnxruntime beside the engine would load a second copy
of the library.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

from tests.conformance.cases import Case, load

_NUMPY_LACKS = {"bfloat16", "float8", "int4", "uint4", "int2", "uint2", "float4"}


def failure(case: Case) -> str:
    """Why a plain session fails a case; empty if it passes."""

    def run(inputs: dict[str, Any]) -> list[Any]:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        session = ort.InferenceSession(case.model, options, providers=["CPUExecutionProvider"])
        kinds = [value.type for value in (*session.get_inputs(), *session.get_outputs())]
        if any(name in kind for name in _NUMPY_LACKS for kind in kinds):
            values = {name: _to_ort(array) for name, array in inputs.items()}
            return [_from_ort(value) for value in session.run_with_ort_values(None, values)]
        return session.run(None, inputs)

    return case.fails(run)


def _to_ort(array: np.ndarray) -> ort.OrtValue:
    """Through the raw memory: the binding lacks the types that numpy lacks."""
    if array.dtype.kind in "OU":
        return ort.OrtValue.ortvalue_from_numpy(array)
    tensor = numpy_helper.from_array(array)
    value = ort.OrtValue.ortvalue_from_shape_and_type(list(array.shape), tensor.data_type)
    ctypes.memmove(value.data_ptr(), tensor.raw_data, len(tensor.raw_data))
    return value


def _from_ort(value: ort.OrtValue) -> Any:
    if not value.is_tensor() or "string" in value.data_type():
        return value.numpy()
    data = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    tensor = onnx.TensorProto(data_type=value.element_type(), dims=value.shape(), raw_data=data)
    return numpy_helper.to_array(tensor)


def main(cases: Path, out: Path) -> None:
    """Write case name -> failure."""
    out.write_text(json.dumps({case.name: failure(case) for case in load(cases)}, indent=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
