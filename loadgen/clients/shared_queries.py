"""Queries whose tensors lie in system shared memory, so that none of them is sent.

References
----------
Triton Inference Server, protocol extension "Shared memory": regions are registered by name; a
tensor's parameters say its region, offset and bytes.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import grpc

from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.grpc_request import add_parameters, infer_request
from surplus.loadgen.clients.protocol import (
    SERVICE,
    ModelInferRequest,
    ModelInferResponse,
    SharedMemoryRegisterRequest,
    SharedMemoryUnregisterRequest,
)
from surplus.loadgen.clients.tensors import RawTensor
from surplus.loadgen.errors import TargetError

_SHARED = Path("/dev/shm")
_TIMEOUT_S = 30.0
_OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class SharedQueries:
    """Registers regions with a server while it is entered; a context manager.

    Parameters
    ----------
    address : HostPort
        Of a gRPC server on this machine.
    model, version : str
    tensors : sequence of RawTensor
        Inputs, which all queries share.
    copies : int
        Regions for outputs, >= 1: as many queries may be in flight without writing over each
        other's answer.
    parameters : mapping of str to int
        Of every request, as the protocol's extensions have them.

    Raises
    ------
    TargetError
        When entered: if the server does not answer one query as usual, whose outputs' sizes are
        needed, or takes no regions.
    """

    def __init__(
        self,
        address: HostPort,
        model: str,
        version: str,
        tensors: Sequence[RawTensor],
        copies: int,
        parameters: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        if copies < 1:
            raise ValueError(f"copies must be >= 1, got {copies}")
        self._address, self._asked = address, (model, version)
        self._tensors, self._copies = tensors, copies
        self._parameters = parameters
        self._name = f"loadgen-{os.getpid()}-{secrets.token_hex(4)}"
        self._stack = ExitStack()

    def __enter__(self) -> list[bytes]:
        """Messages, a ModelInferRequest each."""
        with self._stack:
            self._channel = grpc.insecure_channel(str(self._address), options=_OPTIONS)
            self._stack.callback(self._channel.close)
            sizes = self._output_bytes()
            given = self._region("in", b"".join(tensor.raw for tensor in self._tensors))
            requests = []
            for copy in range(self._copies):
                taken = self._region(f"out{copy}", bytes(sum(sizes.values())))
                requests.append(self._request(given, taken, sizes))
            self._stack = self._stack.pop_all()
        return requests

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _region(self, suffix: str, data: bytes) -> str:
        name = f"{self._name}-{suffix}"
        file = _SHARED / name
        with file.open("xb") as made:
            self._stack.callback(file.unlink)
            made.write(data)
        request = SharedMemoryRegisterRequest(name=name, key=f"/{name}", byte_size=len(data))
        self._call("SystemSharedMemoryRegister", request)
        gone = SharedMemoryUnregisterRequest(name=name)
        self._stack.callback(self._unregister, gone)
        return name

    def _unregister(self, request: Any) -> None:
        try:
            self._call("SystemSharedMemoryUnregister", request)
        except TargetError:  # the server went away: so did what it knew
            return

    def _output_bytes(self) -> dict[str, int]:
        """By name, of one query that is sent as usual."""
        request = ModelInferRequest.FromString(infer_request(*self._asked, self._tensors))
        answer = self._call("ModelInfer", request, ModelInferResponse.FromString)
        raws = answer.raw_output_contents
        if len(raws) != len(answer.outputs):
            raise TargetError(f"the server at {self._address} does not answer in raw bytes")
        return {row.name: len(raw) for row, raw in zip(answer.outputs, raws, strict=True)}

    def _request(self, given: str, taken: str, sizes: Mapping[str, int]) -> bytes:
        model, version = self._asked
        request = ModelInferRequest(model_name=model, model_version=version)
        add_parameters(request, self._parameters)
        offset = 0
        for tensor in self._tensors:
            row = request.inputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
            _place(row, given, offset, len(tensor.raw))
            offset += len(tensor.raw)
        offset = 0
        for name, size in sizes.items():
            _place(request.outputs.add(name=name), taken, offset, size)
            offset += size
        data: bytes = request.SerializeToString()
        return data

    def _call(
        self, method: str, request: Any, read: Callable[[bytes], Any] = lambda data: data
    ) -> Any:
        call = self._channel.unary_unary(
            f"{SERVICE}{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=read,
        )
        try:
            return call(request, timeout=_TIMEOUT_S)
        except grpc.RpcError as error:
            said = f"{error.code().name}: {error.details()}"
            raise TargetError(f"the server at {self._address} refused {method}: {said}") from error


def _place(row: Any, region: str, offset: int, size: int) -> None:
    """Say where a tensor lies."""
    row.parameters.add(key="shared_memory_region").value.string_param = region
    row.parameters.add(key="shared_memory_byte_size").value.int64_param = size
    if offset:
        row.parameters.add(key="shared_memory_offset").value.int64_param = offset
