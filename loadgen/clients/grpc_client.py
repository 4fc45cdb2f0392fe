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
        self._requests: Sequence[tuple[bytes, float]] = ()
        self._turns: Sequence[int] = ()
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
        """Ask the server for the model's inputs; raises as ``inputs_of``."""
        return await self.inputs_of(self._model, self._version)

    async def inputs_of(self, model: str, version: str) -> list[TensorMetadata]:
        """Ask the server for the inputs of any model.

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
        request = ModelMetadataRequest(name=model, version=version)
        try:
            answer = await call(request, timeout=_CONNECT_S)
        except grpc.aio.AioRpcError as error:
            raise self._target_error(error, model) from error
        return [TensorMetadata(t.name, t.datatype, tuple(t.shape)) for t in answer.inputs]

    def prepare(self, queries: Sequence[Sequence[RawTensor]]) -> None:
        """Serialise the inputs of one or more queries; ``send`` takes turns through them.

        Raises
        ------
        PayloadError
            If they are too large for the protocol.
        """
        requests = [infer_request(self._model, self._version, row) for row in queries]
        self.take_turns([(request, self._timeout_s) for request in requests], range(len(queries)))

    def take_turns(self, requests: Sequence[tuple[bytes, float]], turns: Sequence[int]) -> None:
        """Set what ``send`` sends.

        Parameters
        ----------
        requests : sequence of (bytes, float)
            A ModelInferRequest and its deadline in seconds each.
        turns : sequence of int
            Which of them each query sends, over and over.
        """
        self._requests, self._turns = requests, turns

    async def send(self, query: int) -> None:
        """Send a prepared request and wait for its answer."""
        request, timeout_s = self._requests[self._turns[query % len(self._turns)]]
        try:
            await self._infer(request, timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            raise ClientError(error.code().name, error.details() or "") from error

    def _target_error(self, error: Any, model: str) -> TargetError:
        code, details = error.code(), error.details() or error.code().name
        if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            return TargetError(f"cannot reach a server at {self._url}: {details}")
        return TargetError(f"the server at {self._url} refused model {model!r}: {details}")


def _credentials(tls: TlsParams) -> grpc.ChannelCredentials:
    own = [Path(path).read_bytes() for path in (tls.key, tls.certificate) if path]
    return grpc.ssl_channel_credentials(Path(tls.ca).read_bytes(), *own)
