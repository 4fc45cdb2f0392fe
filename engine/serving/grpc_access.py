"""Calls of gRPC, each asked for its caller's right before its handler is."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
from google.protobuf import message_factory
from google.protobuf.message import DecodeError

from surplus.engine.errors import ForbiddenError, UnauthenticatedError
from surplus.engine.serving.access import Access
from surplus.engine.serving.caller import caller_of_call
from surplus.engine.serving.grpc_status import status_of
from surplus.engine.serving.messages import descriptor_pool
from surplus.engine.serving.rights import ALL_MODELS, Api, api_of_call

_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")


class RightsChecked(grpc.GenericRpcHandler):  # type: ignore[misc]
    """The calls of a service, for who may make them.

    Parameters
    ----------
    service : grpc.GenericRpcHandler
        What answers them; its handlers take bytes.
    access : Access
        Who may what.
    """

    def __init__(self, service: grpc.GenericRpcHandler, access: Access) -> None:
        self._service = service
        self._access = access

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """What answers a call; None where nothing does, or nobody said who may make it."""
        handler = self._service.service(details)
        api = api_of_call(details.method)
        if handler is None or api is None:
            return None
        checked = {
            kind: self._checked(behaviour, api, details.method)
            for kind in _KINDS
            if (behaviour := getattr(handler, kind)) is not None
        }
        return handler._replace(**checked)

    def _checked(self, behaviour: Callable[..., Any], api: Api, path: str) -> Callable[..., Any]:
        async def check(request: Any, context: Any) -> None:
            model = _model_of(request, api, path)
            try:
                self._access.check(caller_of_call(context), api.right, model)
            except (UnauthenticatedError, ForbiddenError) as error:
                await context.abort(*status_of(error))

        if inspect.isasyncgenfunction(behaviour):

            async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
                await check(request, context)
                async for answer in behaviour(request, context):
                    yield answer

            return stream

        async def handle(request: Any, context: Any) -> Any:
            await check(request, context)
            return await behaviour(request, context)

        return handle


def _model_of(request: Any, api: Api, path: str) -> str | None:
    """Which a message names; a malformed one all: what answers it says what is wrong."""
    if not api.model:
        return api.model
    try:
        return str(getattr(_request_type(path).FromString(request), api.model))
    except DecodeError:
        return ALL_MODELS


def _request_type(path: str) -> Any:
    service, _, method = path.removeprefix("/").partition("/")
    described = descriptor_pool().FindServiceByName(service).methods_by_name[method]
    return message_factory.GetMessageClass(described.input_type)
