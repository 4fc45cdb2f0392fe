"""A query over HTTP/1.1 with binary tensors, as bytes.

References
----------
Triton Inference Server, protocol extension "Binary tensor data": the JSON, then the tensors in the
order of their names in it; ``Inference-Header-Content-Length`` says where the JSON ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.inputs import TensorMetadata
from surplus.loadgen.clients.tensors import RawTensor
from surplus.loadgen.errors import TargetError


def rest_request(
    address: HostPort,
    model: str,
    version: str,
    tensors: Sequence[RawTensor],
    parameters: Mapping[str, int] = MappingProxyType({}),
) -> bytes:
    """All that is sent for one query: head, JSON, tensors; outputs are asked for in binary, too."""
    inputs = [
        {
            "name": tensor.name,
            "shape": list(tensor.shape),
            "datatype": tensor.datatype,
            "parameters": {"binary_data_size": len(tensor.raw)},
        }
        for tensor in tensors
    ]
    said = {"inputs": inputs, "parameters": {"binary_data_output": True} | dict(parameters)}
    text = json.dumps(said, separators=(",", ":")).encode()
    body = b"".join([text, *(tensor.raw for tensor in tensors)])
    headers = {
        "Content-Type": "application/octet-stream",
        "Inference-Header-Content-Length": str(len(text)),
    }
    return infer_post(address, model, version, headers, body)


def infer_post(
    address: HostPort, model: str, version: str, headers: Mapping[str, str], body: bytes
) -> bytes:
    """A query with that body, as it is sent."""
    head = [
        f"POST {_path(model, version)}/infer HTTP/1.1",
        f"Host: {address}",
        *(f"{name}: {value}" for name, value in headers.items()),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode("ascii") + body


def rest_inputs(
    address: HostPort, model: str, version: str, timeout_s: float
) -> list[TensorMetadata]:
    """Ask the server for the model's inputs.

    Raises
    ------
    TargetError
        If it cannot be reached in time, or does not know the model.
    """
    connection = HTTPConnection(address.host, address.port, timeout=timeout_s)
    try:
        connection.request("GET", _path(model, version))
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, HTTPException) as error:
        raise TargetError(f"cannot reach a server at {address}: {error}") from error
    finally:
        connection.close()
    if answer.status != 200:
        said = f"HTTP {answer.status}: {body[:200].decode(errors='replace')}"
        raise TargetError(f"the server at {address} refused model {model!r}: {said}")
    return _inputs_of(body, address)


def _inputs_of(body: bytes, address: HostPort) -> list[TensorMetadata]:
    try:
        rows: list[dict[str, Any]] = json.loads(body)["inputs"]
        return [TensorMetadata(r["name"], r["datatype"], tuple(map(int, r["shape"]))) for r in rows]
    except (ValueError, KeyError, TypeError) as error:
        said = body[:100].decode(errors="replace")
        raise TargetError(f"the server at {address} says no inputs: {said}") from error


def _path(model: str, version: str) -> str:
    path = f"/v2/models/{quote(model, safe='')}"
    return f"{path}/versions/{quote(version, safe='')}" if version else path
