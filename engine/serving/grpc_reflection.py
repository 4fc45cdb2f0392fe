"""gRPC's reflection service: which services there are, and the descriptors of what they speak."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
from google.protobuf import descriptor_pb2
from google.protobuf.message import DecodeError

from surplus.engine.serving.messages import descriptor_pool, message_type, services

VERSIONS = ("v1", "v1alpha")


def reflection_handlers() -> tuple[grpc.GenericRpcHandler, ...]:
    """Handlers to register with a ``grpc.aio`` server, one a version of the service."""
    return tuple(
        grpc.method_handlers_generic_handler(
            f"grpc.reflection.{version}.ServerReflection",
            {
                "ServerReflectionInfo": grpc.stream_stream_rpc_method_handler(
                    Reflection(version).info
                )
            },
        )
        for version in VERSIONS
    )


class Reflection:
    """The service in one version: its answers are a function of the question.

    Parameters
    ----------
    version : str
        "v1" or "v1alpha".
    """

    def __init__(self, version: str) -> None:
        package = f"grpc.reflection.{version}"
        self._request = message_type("ServerReflectionRequest", package)
        self._response = message_type("ServerReflectionResponse", package)
        self._pool = descriptor_pool()

    async def info(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        """Answer the questions of a stream, one by one."""
        async for data in requests:
            try:
                request = self._request.FromString(data)
            except DecodeError:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "malformed request")
            answer = self.answer(request)
            yield answer.SerializeToString()

    def answer(self, request: Any) -> Any:
        """The response to one question; what is not known is NOT_FOUND within it."""
        response = self._response(valid_host=request.host, original_request=request)
        kind = request.WhichOneof("message_request")
        if kind == "list_services":
            for name in services():
                response.list_services_response.service.add(name=name)
            return response
        try:
            self._describe(response, kind, request)
        except KeyError:
            _refuse(response, grpc.StatusCode.NOT_FOUND, f"not found: {getattr(request, kind)}")
        return response

    def _describe(self, response: Any, kind: str | None, request: Any) -> None:
        """Fill in descriptors; KeyError if there is none such."""
        if kind == "file_by_filename":
            file = self._pool.FindFileByName(request.file_by_filename)
        elif kind == "file_containing_symbol":
            file = self._pool.FindFileContainingSymbol(request.file_containing_symbol)
        elif kind == "all_extension_numbers_of_type":  # our messages have no extensions
            self._pool.FindMessageTypeByName(request.all_extension_numbers_of_type)
            response.all_extension_numbers_response.base_type_name = (
                request.all_extension_numbers_of_type
            )
            return
        elif kind == "file_containing_extension":
            raise KeyError(request.file_containing_extension.containing_type)
        else:
            _refuse(response, grpc.StatusCode.INVALID_ARGUMENT, "the request asks for nothing")
            return
        described = response.file_descriptor_response.file_descriptor_proto
        for needed in (*file.dependencies, file):  # none of ours imports one that imports another
            found = descriptor_pb2.FileDescriptorProto()
            needed.CopyToProto(found)
            described.append(found.SerializeToString())


def _refuse(response: Any, code: grpc.StatusCode, message: str) -> None:
    response.error_response.error_code = code.value[0]
    response.error_response.error_message = message
