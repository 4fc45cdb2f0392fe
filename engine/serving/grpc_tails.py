"""Our own gRPC service beside the protocol's: why queries came late (tails.proto)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from surplus.engine.serving import tails
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.grpc_face import guarded
from surplus.engine.serving.messages import TAILS, message_type

_PACKAGE = "surplus"


def tails_handler(plane: DataPlane) -> grpc.GenericRpcHandler:
    """Handler to register with a ``grpc.aio`` server.

    Parameters
    ----------
    plane : DataPlane
        Whose policies are told of.
    """
    rpcs = {
        "Top": _answering("TopRequest", lambda asked: tails.top(asked.window_s, plane.policies())),
        "Late": _answering(
            "LateRequest",
            lambda asked: tails.late(asked.model, asked.window_s, perfetto=asked.perfetto),
        ),
    }
    return grpc.method_handlers_generic_handler(TAILS, rpcs)


def _answering(
    request: str, method: Callable[[Any], Awaitable[tails.Document]]
) -> grpc.RpcMethodHandler:
    request_type = message_type(request, _PACKAGE)
    answer_type = message_type("TailsDocument", _PACKAGE)

    async def handle(data: bytes, context: Any) -> bytes:
        document = await method(request_type.FromString(data))
        answer: bytes = answer_type(json=json.dumps(document)).SerializeToString()
        return answer

    return grpc.unary_unary_rpc_method_handler(guarded(handle))
