"""Answers of a server, from their bytes to arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable

from google.protobuf.message import DecodeError

from surplus.loadgen.clients.protocol import ModelInferResponse
from surplus.loadgen.clients.tensors import Answer, RawTensor, to_array
from surplus.loadgen.errors import ClientError

UNREADABLE = "UNREADABLE_ANSWER"
_PREFIX_BYTES = 5
"""Of a message of gRPC."""


def grpc_answer(framed: bytes) -> Answer:
    """The outputs of a ModelInferResponse with gRPC's prefix.

    Raises
    ------
    ClientError
        If it is none, or its tensors are not raw.
    """
    return response_arrays(framed[_PREFIX_BYTES:])


def response_arrays(message: bytes) -> Answer:
    """The outputs of a ModelInferResponse; raises as ``grpc_answer``."""
    try:
        response = ModelInferResponse.FromString(message)
    except DecodeError as error:
        raise ClientError(UNREADABLE, f"the answer is no ModelInferResponse: {error}") from error
    raws = list(response.raw_output_contents)
    if len(raws) != len(response.outputs):
        raise ClientError(UNREADABLE, "outputs are read from raw_output_contents alone")
    rows = zip(response.outputs, raws, strict=True)
    return _arrays(RawTensor(t.name, t.datatype, tuple(t.shape), raw) for t, raw in rows)


def rest_answer(body: bytes) -> Answer:
    """The outputs of JSON with binary tensors behind it.

    Raises
    ------
    ClientError
        If it is not that.
    """
    try:
        # As Latin-1 a character is a byte, so that this is where the tensors begin.
        _, at = json.JSONDecoder().raw_decode(body.decode("latin-1"))
        tensors = []
        for row in json.loads(body[:at])["outputs"]:
            end = at + int(row["parameters"]["binary_data_size"])
            shape = tuple(map(int, row["shape"]))
            tensors.append(RawTensor(row["name"], row["datatype"], shape, body[at:end]))
            at = end
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        said = f"the answer is not JSON with binary tensors behind it: {error!r}"
        raise ClientError(UNREADABLE, said) from error
    return _arrays(tensors)


def _arrays(tensors: Iterable[RawTensor]) -> Answer:
    try:
        return {tensor.name: to_array(tensor) for tensor in tensors}
    except ValueError as error:  # a type that numpy has not, too few bytes
        raise ClientError(UNREADABLE, f"an output cannot be read: {error}") from error
