"""Bare grpc.aio before ONNX Runtime: what one would write oneself in an afternoon.

``python -m bench.serving.grpc_aio_server PORT NAME=FILE ...`` serves until it is ended; over TLS
with the files of a certificate and its key in SERVED_CERTIFICATE and SERVED_KEY.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import numpy as np

from bench.serving.peers.session import OneThreadSession, files_of
from surplus.loadgen.clients.protocol import SERVICE, ModelInferRequest, ModelInferResponse

_OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


async def answered(session: OneThreadSession, request: Any) -> Any:
    """ModelInferRequest to ModelInferResponse, float32 alone."""
    inputs = {
        tensor.name: np.frombuffer(raw, np.float32).reshape(tuple(tensor.shape))
        for tensor, raw in zip(request.inputs, request.raw_input_contents, strict=True)
    }
    answer = ModelInferResponse(model_name=request.model_name, model_version="1")
    for name, array in zip(session.names, await session.run_aside(inputs), strict=True):
        answer.outputs.add(name=name, datatype="FP32", shape=array.shape)
        answer.raw_output_contents.append(array.tobytes())
    return answer


async def _serve(port: int, files: Mapping[str, str]) -> None:
    served = {name: OneThreadSession(file) for name, file in files.items()}

    async def infer(request: Any, context: Any) -> Any:
        return await answered(served[request.model_name], request)

    handler = grpc.unary_unary_rpc_method_handler(
        infer, ModelInferRequest.FromString, ModelInferResponse.SerializeToString
    )
    server = grpc.aio.server(options=_OPTIONS)
    methods = {"ModelInfer": handler}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE.strip("/"), methods),)
    )
    if certificate := os.environ.get("SERVED_CERTIFICATE"):
        pair = Path(os.environ["SERVED_KEY"]).read_bytes(), Path(certificate).read_bytes()
        server.add_secure_port(f"127.0.0.1:{port}", grpc.ssl_server_credentials([pair]))
    else:
        server.add_insecure_port(f"127.0.0.1:{port}")
    await served_until_ended(server)


async def served_until_ended(server: grpc.aio.Server) -> None:
    """From its start to SIGTERM."""
    ends = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.set)
    await server.start()
    await ends.wait()
    await server.stop(grace=None)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), files_of(sys.argv[2:])))
