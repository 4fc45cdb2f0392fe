"""A server of the protocol that does as it is told, on the event loop of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from surplus.loadgen.clients.protocol import SERVICE, ModelInferRequest, ModelInferResponse

Answering = Callable[[Any, grpc.aio.ServicerContext], Awaitable[None]]


async def well(request: Any, context: grpc.aio.ServicerContext) -> None:
    """As a server does."""


def ending(code: grpc.StatusCode) -> Answering:
    """Ends every query with that status."""

    async def end(request: Any, context: grpc.aio.ServicerContext) -> None:
        await context.abort(code, "as it was told")

    return end


class FakeServer:
    """Answers a query with its first input, unless it is told otherwise."""

    def __init__(self) -> None:
        self.answering: Answering = well
        self.requests: list[Any] = []
        self.metadata: list[dict[str, str]] = []
        self.address = ""
        self.load = ""

    async def infer(self, message: bytes, context: grpc.aio.ServicerContext) -> bytes:
        request = ModelInferRequest.FromString(message)
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        if self.load:
            context.set_trailing_metadata((("endpoint-load-metrics", self.load),))
        await self.answering(request, context)
        answer = ModelInferResponse(model_name=request.model_name)
        given = request.inputs[0]
        answer.outputs.add(name="y", datatype=given.datatype, shape=given.shape)
        answer.raw_output_contents.append(request.raw_input_contents[0])
        return answer.SerializeToString()


@asynccontextmanager
async def fake_server() -> AsyncIterator[FakeServer]:
    fake = FakeServer()
    handler = grpc.unary_unary_rpc_method_handler(fake.infer)
    server = grpc.aio.server()
    name = SERVICE.strip("/")
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(name, {"ModelInfer": handler})]
    )
    fake.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield fake
    finally:
        await server.stop(None)
