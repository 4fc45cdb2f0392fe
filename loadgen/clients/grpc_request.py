"""A query of the gRPC protocol as bytes."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from google.protobuf.message import EncodeError

from surplus.loadgen.clients.protocol import SERVICE, ModelInferRequest
from surplus.loadgen.clients.tensors import RawTensor
from surplus.loadgen.errors import PayloadError

_DIGITS = 10**8
_TIMEOUT = "grpc-timeout"
_UNITS_NS = {"n": 1, "u": 10**3, "m": 10**6, "S": 10**9, "M": 60 * 10**9, "H": 3600 * 10**9}


def infer_request(
    model: str,
    version: str,
    tensors: Sequence[RawTensor],
    parameters: Mapping[str, int] = MappingProxyType({}),
    outputs: Sequence[str] = (),
) -> bytes:
    """Serialise a ModelInferRequest, with parameters of the protocol's extensions.

    Outputs that are not named are all wanted.

    Raises
    ------
    PayloadError
        If the tensors are too large for the protocol.
    """
    request = ModelInferRequest(model_name=model, model_version=version)
    add_parameters(request, parameters)
    for name in outputs:
        request.outputs.add(name=name)
    for tensor in tensors:
        request.inputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
        request.raw_input_contents.append(tensor.raw)
    try:
        data: bytes = request.SerializeToString()
    except (EncodeError, ValueError) as error:
        raise PayloadError(f"the inputs do not fit a message: {error}") from error
    return data


def add_parameters(request: Any, parameters: Mapping[str, int]) -> None:
    """Put them into a ModelInferRequest."""
    for key, value in parameters.items():
        added = request.parameters.add(key=key).value
        setattr(added, "bool_param" if isinstance(value, bool) else "int64_param", value)


def framed(message: bytes) -> bytes:
    """A message as gRPC sends it: not compressed, its length before it."""
    return struct.pack(">BI", 0, len(message)) + message


def call_headers(authority: str, timeout_ns: int) -> list[tuple[str, str]]:
    """Headers of a call of ModelInfer (gRPC, PROTOCOL-HTTP2.md)."""
    return [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", f"{SERVICE}ModelInfer"),
        (":authority", authority),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("user-agent", "surplus-loadgen"),
        (_TIMEOUT, timeout_text(timeout_ns)),
    ]


def with_timeout(headers: Sequence[tuple[str, str]], timeout_ns: int) -> list[tuple[str, str]]:
    """The headers of a call with another timeout, if they say one."""
    return [
        (name, timeout_text(timeout_ns) if name == _TIMEOUT else value) for name, value in headers
    ]


def timeout_text(timeout_ns: int) -> str:
    """A deadline as gRPC writes it: eight digits at most, so rounded up to what they can say."""
    for unit, unit_ns in _UNITS_NS.items():
        value = math.ceil(timeout_ns / unit_ns)
        if value < _DIGITS:
            return f"{value}{unit}"
    return f"{_DIGITS - 1}H"
