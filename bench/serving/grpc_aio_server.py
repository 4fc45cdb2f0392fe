"""Bare grpc.aio before ONNX Runtime: what one would write oneself in an afternoon.

``python -m bench.serving.grpc_aio_server PORT NAME=FILE ...`` serves until it is ended.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import grpc.aio
import numpy as np
import onnxruntime

from surplus.loadgen.clients.protocol import SERVICE, ModelInferRequest, ModelInferResponse

_CORES = len(os.sched_getaffinity(0))
_SHORT_S = 0.001
_OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class BareModel:
    """A session of one thread; models that take long are run by as many threads as cores."""

    def __init__(self, file: str, pool: ThreadPoolExecutor) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(file, options, ["CPUExecutionProvider"])
        self._names = [output.name for output in self._session.get_outputs()]
        self._pool = pool
        self._is_short = True

    async def answer(self, request: Any) -> Any:
        """ModelInferRequest to ModelInferResponse, float32 alone."""
        inputs = {
            tensor.name: np.frombuffer(raw, np.float32).reshape(tuple(tensor.shape))
            for tensor, raw in zip(request.inputs, request.raw_input_contents, strict=True)
        }
        if self._is_short:
            began = time.perf_counter()
            arrays = self._session.run(None, inputs)
            self._is_short = time.perf_counter() - began < _SHORT_S
        else:
            loop = asyncio.get_running_loop()
            arrays = await loop.run_in_executor(self._pool, self._session.run, None, inputs)
        answer = ModelInferResponse(model_name=request.model_name, model_version="1")
        for name, array in zip(self._names, arrays, strict=True):
            answer.outputs.add(name=name, datatype="FP32", shape=array.shape)
            answer.raw_output_contents.append(array.tobytes())
        return answer


async def _serve(port: int, files: Mapping[str, str]) -> None:
    pool = ThreadPoolExecutor(_CORES)
    served = {name: BareModel(file, pool) for name, file in files.items()}

    async def infer(request: Any, context: Any) -> Any:
        return await served[request.model_name].answer(request)

    handler = grpc.unary_unary_rpc_method_handler(
        infer, ModelInferRequest.FromString, ModelInferResponse.SerializeToString
    )
    server = grpc.aio.server(options=_OPTIONS)
    methods = {"ModelInfer": handler}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE.strip("/"), methods),)
    )
    server.add_insecure_port(f"127.0.0.1:{port}")
    ends = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.set)
    await server.start()
    await ends.wait()
    await server.stop(grace=None)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), dict(word.split("=", 1) for word in sys.argv[2:])))
