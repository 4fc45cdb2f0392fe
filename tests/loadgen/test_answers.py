"""Answers from bytes to arrays, and those that a native feed keeps."""

from __future__ import annotations

import json

import numpy as np
import pytest

from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.answers import grpc_answer, rest_answer
from surplus.loadgen.clients.grpc_request import call_headers, framed
from surplus.loadgen.clients.protocol import ModelInferResponse
from surplus.loadgen.clients.tensors import from_array
from surplus.loadgen.errors import ClientError
from surplus.loadgen.native import http2_missing
from surplus.loadgen.native_load import NativeTarget
from surplus.loadgen.targets.native_run import feed_natively
from surplus.loadgen.transport import TransportParams
from tests.loadgen.echo_server import EchoServer

ARRAYS = {
    "scores": np.float32([[0.5, -1.0]]),
    "n": np.array([7], np.int64),
    "said": np.array(["one", "zwei"], object),
}


def _message(arrays):
    response = ModelInferResponse(model_name="m")
    for name, array in arrays.items():
        tensor = from_array(name, array)
        response.outputs.add(name=name, datatype=tensor.datatype, shape=tensor.shape)
        response.raw_output_contents.append(tensor.raw)
    return response


def _body(arrays):
    rows, raws = [], []
    for name, array in arrays.items():
        tensor = from_array(name, array)
        size = {"binary_data_size": len(tensor.raw)}
        rows.append(
            {
                "name": name,
                "datatype": tensor.datatype,
                "shape": tensor.shape,
                "parameters": size,
            }
        )
        raws.append(tensor.raw)
    said = json.dumps({"model_name": "größe", "outputs": rows}, ensure_ascii=False)
    return said.encode() + b"".join(raws)


@pytest.mark.parametrize(
    "read",
    [
        lambda arrays: grpc_answer(framed(_message(arrays).SerializeToString())),
        lambda arrays: rest_answer(_body(arrays)),
    ],
    ids=["gRPC", "HTTP"],
)
def test_outputs_are_read_by_name_and_in_order(read):
    found = read(ARRAYS)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert np.array_equal(found[name], array)


def _without_raw():
    message = _message(ARRAYS)
    del message.raw_output_contents[:]
    return framed(message.SerializeToString())


def _too_short():
    message = _message(ARRAYS)
    message.raw_output_contents[0] = b"123"
    return framed(message.SerializeToString())


@pytest.mark.parametrize(
    ("read", "data", "message"),
    [
        (grpc_answer, framed(b"\xff"), "is no ModelInferResponse"),
        (grpc_answer, _without_raw(), "from raw_output_contents alone"),
        (grpc_answer, _too_short(), "an output cannot be read"),
        (rest_answer, b"hello", "is not JSON with binary tensors"),
        (rest_answer, b'{"outputs": [{"name": "y"}]}', "is not JSON with binary tensors"),
        (rest_answer, _body({"n": ARRAYS["n"]})[:-1], "an output cannot be read"),
        (rest_answer, _body(ARRAYS).replace(b"FP32", b"BF16"), "numpy has no BF16"),
    ],
)
def test_what_is_no_answer_is_an_error_of_that_query(read, data, message):
    with pytest.raises(ClientError, match=message) as error:
        read(data)
    assert error.value.kind == "UNREADABLE_ANSWER"


@pytest.mark.skipif(http2_missing() is not None, reason=str(http2_missing()))
def test_a_feed_keeps_the_first_answer_to_each_request_and_takes_others():
    """Which may differ from it: a batch rounds otherwise."""
    echo = EchoServer()

    async def count(request, context):
        return request + bytes([len(echo.requests)])

    echo.answer = count
    place = HostPort(*echo.address)
    target = NativeTarget(place, [framed(b"a"), framed(b"b")], call_headers(str(place), 10**10))
    try:
        with feed_natively(target, TransportParams(), bytes, keeps=True) as feed:
            ended = []
            for request in (1, 0, 1):
                feed.ask(request)
                ended += feed.take()
            kept = [feed.answer(request) for request in (0, 1)]
    finally:
        echo.end()
    assert ended == [(0, True), (1, True), (2, True)]
    assert kept == [framed(b"a\2"), framed(b"b\1")]
