"""Answers that are kept: which, how many, and what clients see of it."""

from __future__ import annotations

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http

from surplus.engine.errors import ConfigError
from surplus.engine.repository.model_config import parse_config
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.response_cache import ResponseCache, key_of
from surplus.engine.serving.servable import TensorSpec
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from tests.serving.fakes import WAIT_S, Function, Gate, ServerThread, ask_async, tensor

ONES = np.ones(2, np.float32)
CONFIG = "response_cache { enable: true }"


def kilobytes(count=1):
    return {"y": np.zeros(count << 8, np.float32)}


def query(number):
    return key_of(1, {"x": np.array([number])}, ["y"])


def cache_of(most_bytes):
    """With a model whose answers may be kept, the first."""
    cache = ResponseCache(most_bytes)
    cache.begin(1)
    return cache


def test_those_go_first_that_were_not_asked_for_longest():
    cache = cache_of(9 << 10)  # each takes more than one beside its values, and less than two
    for number in range(3):
        cache.keep(query(number), kilobytes())
    assert cache.find(query(0)) is not None
    cache.keep(query(3), kilobytes(2))
    assert [number for number in range(4) if cache.find(query(number))] == [0, 2, 3]
    assert len(cache) == 3
    assert 7 << 10 < cache.held_bytes < 9 << 10


def test_what_is_too_large_costs_no_other_its_place():
    cache = cache_of(4 << 10)
    cache.keep(query(0), kilobytes())
    cache.keep(query(1), kilobytes(4))
    assert cache.find(query(0)) is not None
    assert cache.find(query(1)) is None


def test_an_answer_is_a_copy_that_nobody_changes():
    cache, answer = cache_of(1 << 20), {"y": np.ones(2)}
    cache.keep(query(0), answer)
    answer["y"][:] = 5
    found = cache.find(query(0))["y"]
    assert found.tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 2


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 1)])
@pytest.mark.parametrize("datatype", DATATYPES)
def test_answers_of_all_datatypes_come_back_as_they_were(datatype, shape):
    array = np.full(shape, b"\xff\0" if datatype == "BYTES" else 1, DATATYPES[datatype].dtype)
    cache = cache_of(1 << 20)
    cache.keep(query(0), {"y": array})
    found = cache.find(query(0))["y"]
    assert (found.dtype, found.shape) == (array.dtype, shape)
    assert found.tolist() == array.tolist()


def test_texts_and_inputs_count_as_what_they_take():
    cache = cache_of(1 << 20)
    cache.keep(query(0), {"y": np.array([b"x" * 1000], np.object_)})
    before = cache.held_bytes
    assert before > 2000
    cache.keep(key_of(1, {"x": np.zeros(1000, np.uint8)}, ["y"]), {"y": ONES})
    assert cache.held_bytes > before + 2000


def test_queries_are_the_same_if_tensors_outputs_and_model_are():
    """What is kept is found under the same key alone."""
    cache = cache_of(1 << 20)
    cache.begin(2)
    cache.keep(key_of(1, {"a": ONES, "b": 2 * ONES}, ["y", "z"]), {"y": ONES, "z": ONES})
    assert cache.find(key_of(1, {"b": 2 * ONES, "a": ONES}, ["z", "y"])) is not None
    others = [
        key_of(2, {"a": ONES, "b": 2 * ONES}, ["y", "z"]),
        key_of(1, {"a": 2 * ONES, "b": ONES}, ["y", "z"]),
        key_of(1, {"a": ONES, "b": 2 * ONES}, ["y"]),
        key_of(1, {"a": ONES.reshape(1, 2), "b": 2 * ONES}, ["y", "z"]),
        key_of(1, {"a": ONES.view(np.int32), "b": 2 * ONES}, ["y", "z"]),
        key_of(1, {"a": np.ones(4, np.float32), "b": np.zeros(0, np.float32)}, ["y", "z"]),
    ]
    assert all(cache.find(other) is None for other in others)


def test_a_load_that_has_ended_keeps_nothing():
    cache = cache_of(1 << 20)
    cache.keep(query(0), {"y": ONES})
    cache.end(1)
    cache.keep(query(1), {"y": ONES})
    assert (len(cache), cache.held_bytes) == (0, 0)


def counting(text=CONFIG, tmp_path=None):
    """A model that answers each query otherwise, with a configuration."""
    answers = iter(range(1, 1000))
    specs = [TensorSpec("x", "FP32", (-1,))], [TensorSpec("y", "FP32", (-1,))]
    model = Function(lambda inputs: {"y": inputs["x"] * next(answers)}, *specs)
    model.config = parse_config(text, tmp_path / "config.pbtxt", "net").completed(*specs)
    return model


@pytest.fixture(params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def thread(request):
    size = 1 << 20
    params = ServerParams(
        grpc_port=0, http_port=0, front_end=request.param, response_cache_bytes=size
    )
    started = ServerThread(params)
    yield started
    started.stop()


def asked(client, array=ONES, **options):
    return client.infer("net", [tensor("x", array, "FP32")], **options).as_numpy("y").tolist()


def test_clients_get_the_answer_of_before_and_statistics_tell(thread, tmp_path):
    model = thread.serve("net", counting(CONFIG, tmp_path))
    client = triton.InferenceServerClient(thread.url)
    assert asked(client) == [1, 1]
    assert asked(client) == [1, 1]
    assert asked(client, 3 * ONES) == [6, 6]
    with triton_http.InferenceServerClient(thread.http_url) as rest:
        given = triton_http.InferInput("x", [2], "FP32")
        given.set_data_from_numpy(ONES)
        assert rest.infer("net", [given]).as_numpy("y").tolist() == [1, 1]
    assert len(model.calls) == 2
    told = client.get_inference_statistics("net").model_stats[0]
    assert (told.inference_count, told.execution_count) == (2, 2)
    assert told.inference_stats.success.count == 4
    assert told.inference_stats.cache_hit.count == 2
    assert told.inference_stats.cache_miss.count == 2
    assert told.inference_stats.cache_miss.ns > 0


def test_a_model_that_is_loaded_anew_answers_anew(thread, tmp_path):
    client = triton.InferenceServerClient(thread.url)
    thread.serve("net", counting(CONFIG, tmp_path))
    assert (asked(client), asked(client)) == ([1, 1], [1, 1])
    served = thread.server.plane.models.find("net")
    other = counting(CONFIG, tmp_path)
    other._function = lambda inputs: {"y": -inputs["x"]}
    thread.call(lambda: served.set_ready(other))
    assert len(served.answers) == 0
    assert asked(client) == [-1, -1]


def test_a_model_that_is_unloaded_takes_no_room(thread, tmp_path):
    client = triton.InferenceServerClient(thread.url)
    thread.serve("net", counting(CONFIG, tmp_path))
    asked(client)
    served = thread.server.plane.models.find("net")
    assert len(served.answers) == 1
    thread.call(served.unload)
    assert (len(served.answers), served.answers.held_bytes) == (0, 0)
    thread.call(served.reload)
    assert (asked(client), asked(client)) == ([2, 2], [2, 2])
    thread.call(served.release)
    assert len(served.answers) == 0


def test_an_answer_that_is_computed_after_its_model_has_gone_is_not_kept(thread, tmp_path):
    gate = thread.call(Gate)
    gate.config = counting(CONFIG, tmp_path).config
    thread.serve("net", gate)
    client = triton.InferenceServerClient(thread.url)
    answers = ask_async(client, "net", [tensor("x", ONES, "FP32")])
    assert gate.entered.acquire(timeout=WAIT_S)
    served = thread.server.plane.models.find("net")
    cache = served.answers
    thread.call(served.release)
    thread.call(gate.open.set)
    result, error = answers.get(timeout=WAIT_S)
    assert error is None
    assert result.as_numpy("y").tolist() == [1, 1]
    assert len(cache) == 0


def test_what_is_of_a_sequence_or_not_asked_for_is_computed(thread, tmp_path):
    client = triton.InferenceServerClient(thread.url)
    thread.serve("net", counting(CONFIG, tmp_path))
    assert [asked(client, sequence_id=3)[0] for _ in range(3)] == [1, 2, 3]
    thread.serve("net", counting("", tmp_path), version="2")
    assert [asked(client, model_version="2")[0] for _ in range(3)] == [1, 2, 3]


def test_without_room_for_answers_none_is_kept(tmp_path):
    started = ServerThread(ServerParams(grpc_port=0))
    try:
        started.serve("net", counting(CONFIG, tmp_path))
        client = triton.InferenceServerClient(started.url)
        assert [asked(client)[0] for _ in range(3)] == [1, 2, 3]
    finally:
        started.stop()


def test_answers_that_depend_on_a_sequence_are_not_to_be_kept(tmp_path):
    text = f"sequence_batching {{ }}\n{CONFIG}"
    with pytest.raises(ConfigError, match=r"config.pbtxt:2: response_cache.enable: is true, but"):
        parse_config(text, tmp_path / "config.pbtxt", "net")
