"""gRPC's health service (health.proto): whether the server, or its service, is ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.grpc_face import guarded
from surplus.engine.serving.messages import HEALTH, SERVICE, message_type

_PACKAGE = "grpc.health.v1"
_LOOK_S = 0.2
"""How soon who watches hears of a change."""

_Request = message_type("HealthCheckRequest", _PACKAGE)
_Response = message_type("HealthCheckResponse", _PACKAGE)


def health_handler(plane: DataPlane) -> grpc.GenericRpcHandler:
    """Handler to register with a ``grpc.aio`` server."""
    calls = HealthCalls(plane)
    return grpc.method_handlers_generic_handler(
        HEALTH,
        {
            "Check": grpc.unary_unary_rpc_method_handler(guarded(calls.check)),
            "Watch": grpc.unary_stream_rpc_method_handler(calls.watch),
        },
    )


class HealthCalls:
    """Methods of the service; they take and return bytes.

    Parameters
    ----------
    plane : DataPlane
        Whose readiness they tell.
    """

    def __init__(self, plane: DataPlane) -> None:
        self._plane = plane

    async def check(self, data: bytes, context: Any) -> bytes:
        """What it is now; NOT_FOUND for a service that is not there."""
        service = _Request.FromString(data).service
        status = self._status(service)
        if status == _Response.SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"unknown service {service!r}")
        return _answer(status)

    async def watch(self, data: bytes, context: Any) -> AsyncIterator[bytes]:
        """What it is now, and again whenever it changes, until the client goes away."""
        try:
            service = _Request.FromString(data).service
        except DecodeError:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "malformed request")
        told = None
        while True:
            status = self._status(service)
            if status != told:
                told = status
                yield _answer(status)
            await asyncio.sleep(_LOOK_S)

    def _status(self, service: str) -> int:
        if service not in ("", SERVICE):
            unknown: int = _Response.SERVICE_UNKNOWN
            return unknown
        status: int = _Response.SERVING if self._plane.ready else _Response.NOT_SERVING
        return status


def _answer(status: int) -> bytes:
    data: bytes = _Response(status=status).SerializeToString()
    return data
