"""A cheap gRPC client: requests are serialised once, answers are not decoded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc
import grpc.aio

from surplus.loadgen.clients.grpc_request import infer_request
from surplus.loadgen.clients.inputs import TensorMetadata
from surplus.loadgen.clients.protocol import (
    SERVICE,
    ModelMetadataRequest,
    ModelMetadataResponse,
)
from surplus.loadgen.clients.tensors import RawTensor
from surplus.loadgen.errors import ClientError, TargetError
from surplus.loadgen.transport import TlsParams

_OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
_CONNECT_S = 10.0


class GrpcClient:
    """A client of one model of an Open Inference Protocol server.

    Use it as an asynchronous context manager, on one event loop.

    Parameters
    ----------
    url : str
        ``host:port``.
    model, version : str
        An empty version leaves the choice to the server.
    timeout_s : float
        Deadline of each query, > 0; past it a query fails as ``DEADLINE_EXCEEDED``.
    tls : TlsParams or None
        What everything is encrypted with.

    Raises
    ------
    OSError
        If a file of TLS cannot be read.
    """

    def __init__(
        self,
        url: str,
        model: str,
        version: str = "",
        timeout_s: float = 60.0,
        tls: TlsParams | None = None,
    ) -> None:
        if timeout_s <= 0:
            raise ValueError(f"timeout_s must be > 0, got {timeout_s}")
        self._url = url
        self._model = model
        self._version = version
        self._timeout_s = timeout_s
        self._requests: list[bytes] = []
        self._credentials = None if tls is None else _credentials(tls)

    async def __aenter__(self) -> GrpcClient:
        if self._credentials is None:
            self._channel = grpc.aio.insecure_channel(self._url, options=_OPTIONS)
        else:
            self._channel = grpc.aio.secure_channel(self._url, self._credentials, options=_OPTIONS)
        self._infer = self._channel.unary_unary(f"{SERVICE}ModelInfer")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._channel.close()

    async def inputs(self) -> list[TensorMetadata]:
        """Ask the server for the model's inputs.

        Raises
        ------
        TargetError
            If it cannot be reached in time, or does not know the model.
        """
        call = self._channel.unary_unary(
            f"{SERVICE}ModelMetadata",
            request_serializer=ModelMetadataRequest.SerializeToString,
            response_deserializer=ModelMetadataResponse.FromString,
        )
        request = ModelMetadataRequest(name=self._model, version=self._version)
        try:
            answer = await call(request, timeout=_CONNECT_S)
        except grpc.aio.AioRpcError as error:
            raise self._target_error(error) from error
        return [TensorMetadata(t.name, t.datatype, tuple(t.shape)) for t in answer.inputs]

    def prepare(self, queries: Sequence[Sequence[RawTensor]]) -> None:
        """Serialise the inputs of one or more queries; ``send`` takes turns through them.

        Raises
        ------
        PayloadError
            If they are too large for the protocol.
        """
        self._requests = [infer_request(self._model, self._version, row) for row in queries]

    async def send(self, query: int) -> None:
        """Send a prepared request and wait for its answer."""
        request = self._requests[query % len(self._requests)]
        try:
            await self._infer(request, timeout=self._timeout_s)
        except grpc.aio.AioRpcError as error:
            raise ClientError(error.code().name, error.details() or "") from error

    def _target_error(self, error: Any) -> TargetError:
        code, details = error.code(), error.details() or error.code().name
        if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            return TargetError(f"cannot reach a server at {self._url}: {details}")
        return TargetError(f"the server at {self._url} refused model {self._model!r}: {details}")


def _credentials(tls: TlsParams) -> grpc.ChannelCredentials:
    own = [Path(path).read_bytes() for path in (tls.key, tls.certificate) if path]
    return grpc.ssl_channel_credentials(Path(tls.ca).read_bytes(), *own)
