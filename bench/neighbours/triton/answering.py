"""What Triton's Python backend runs in a process of each instance: a session of one thread.

It is imported there, with the packages of Triton's environment, and nowhere else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Answer = Callable[[Mapping[str, Any]], Sequence[Any]]


def onnxruntime_session(file: str, operators: str = "") -> Answer:
    """Outputs in the file's order; the operators are of a library's file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if operators:
        options.register_custom_ops_library(operators)
    session = onnxruntime.InferenceSession(file, options, ["CPUExecutionProvider"])
    return lambda inputs: session.run(None, dict(inputs))


def openvino_request(file: str) -> Answer:
    """Outputs in the file's order."""
    import openvino

    core = openvino.Core()
    config = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,
    }
    request = core.compile_model(core.read_model(file), "CPU", config).create_infer_request()

    def answer(inputs: Mapping[str, Any]) -> Sequence[Any]:
        found = request.infer(dict(inputs), share_inputs=True, share_outputs=True)
        return list(found.values())

    return answer


LIBRARIES: Mapping[str, Callable[..., Answer]] = {
    "onnxruntime": onnxruntime_session,
    "openvino": openvino_request,
}


def _operators(said: Mapping[str, str]) -> dict[str, str]:
    return {"operators": said["operators"]} if "operators" in said else {}


class TritonPythonModel:
    """The class that the backend looks for."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Open the session that the configuration names."""
        import triton_python_backend_utils as backend

        self._backend = backend
        config = json.loads(args["model_config"])
        said = {key: value["string_value"] for key, value in config["parameters"].items()}
        os.nice(int(said["nice"]))
        self._answer = LIBRARIES[said["library"]](said["file"], **_operators(said))
        self._outputs = [output["name"] for output in config["output"]]
        self._joins = config["max_batch_size"] > 0

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer those that have come; the server's batcher gives those that go together."""
        given = [_inputs(request) for request in requests]
        if not self._joins or len(given) == 1:
            return [self._response(self._answer(inputs)) for inputs in given]
        import numpy as np

        joined = {name: np.concatenate([inputs[name] for inputs in given]) for name in given[0]}
        ends = np.cumsum([len(next(iter(inputs.values()))) for inputs in given])[:-1]
        parts = [np.split(array, ends) for array in self._answer(joined)]
        return [self._response(arrays) for arrays in zip(*parts, strict=True)]

    def _response(self, arrays: Sequence[Any]) -> Any:
        pairs = zip(self._outputs, arrays, strict=True)
        return self._backend.InferenceResponse(
            output_tensors=[self._backend.Tensor(name, array) for name, array in pairs]
        )


def _inputs(request: Any) -> dict[str, Any]:
    return {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
