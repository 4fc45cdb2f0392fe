"""Streams of queries, asked by Triton's own client."""

import queue

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2

from surplus.engine.serving.grpc_stream import _MOST_AHEAD
from surplus.engine.serving.messages import SERVICE
from tests.serving.fakes import WAIT_S, identity, tensor


def _vector(value=1.0):
    return [tensor("x", np.array([value], np.float32), "FP32")]


@pytest.fixture
def stream(own_server):
    """A client with an open stream, and its (answer, error) as they come."""
    answers = queue.SimpleQueue()
    with triton.InferenceServerClient(own_server.url) as client:
        client.start_stream(callback=lambda result, error: answers.put((result, error)))
        yield client, answers
        client.stop_stream(cancel_requests=True)


def _value(answers):
    result, error = answers.get(timeout=WAIT_S)
    assert error is None
    return result.get_response().id, result.as_numpy("y").item()


def test_queries_run_side_by_side_and_are_answered_in_order(own_server, stream):
    gate = own_server.gate("gate")
    own_server.serve("identity", identity())
    client, answers = stream
    client.async_stream_infer("gate", _vector(1), request_id="a")
    client.async_stream_infer("identity", _vector(2), request_id="b")
    client.async_stream_infer("gate", _vector(3), request_id="c")
    for _ in range(2):
        assert gate.entered.acquire(timeout=WAIT_S)
    assert answers.empty()
    own_server.call(gate.open.set)
    assert [_value(answers) for _ in range(3)] == [("a", 1), ("b", 2), ("c", 3)]


def test_an_answer_is_the_last_to_its_query(own_server, stream):
    own_server.serve("identity", identity())
    client, answers = stream
    client.async_stream_infer("identity", _vector(), enable_empty_final_response=True)
    result, error = answers.get(timeout=WAIT_S)
    assert error is None
    assert result.get_response().parameters["triton_final_response"].bool_param


def test_more_queries_than_run_at_a_time(own_server, stream):
    own_server.serve("identity", identity())
    client, answers = stream
    count = 3 * _MOST_AHEAD
    for value in range(count):
        client.async_stream_infer("identity", _vector(value))
    assert [_value(answers)[1] for _ in range(count)] == list(range(count))


def test_a_failed_query_leaves_the_stream_open(own_server, stream):
    own_server.serve("identity", identity())
    client, answers = stream
    client.async_stream_infer("nobody", _vector(), request_id="a")
    client.async_stream_infer("identity", _vector(2), request_id="b")
    result, error = answers.get(timeout=WAIT_S)
    assert result is None
    assert "unknown model 'nobody'" in error.message()
    assert _value(answers) == ("b", 2)


def test_a_client_that_goes_away_cancels_its_queries(own_server, stream):
    gate = own_server.gate("gate")
    client, _ = stream
    client.async_stream_infer("gate", _vector())
    assert gate.entered.acquire(timeout=WAIT_S)
    client.stop_stream(cancel_requests=True)
    assert gate.cancelled.acquire(timeout=WAIT_S)


def test_failures_carry_the_id_of_their_query_where_it_can_be_read(own_server):
    unknown = service_pb2.ModelInferRequest(model_name="nobody", id="7").SerializeToString()
    with grpc.insecure_channel(own_server.url) as channel:
        call = channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")
        answers = [
            service_pb2.ModelStreamInferResponse.FromString(data)
            for data in call(iter([unknown, b"\xff\xff"]), timeout=WAIT_S)
        ]
    assert [a.infer_response.id for a in answers] == ["7", ""]
    assert "unknown model" in answers[0].error_message
    assert "malformed request" in answers[1].error_message
