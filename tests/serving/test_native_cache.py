"""Kept answers of real models: by the native front end without Python, and the same by Python."""

from __future__ import annotations

import json
import os
import queue
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from onnx import TensorProto, helper
from tritonclient.utils import InferenceServerException, shared_memory

import surplus
from surplus.engine.repository.model_config import parse_config
from surplus.engine.runtime.served_alone import ServedAlone
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.model_executor import ModelExecutor
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from surplus.engine.values import elem_type_of
from tests.serving.fakes import WAIT_S, ServerThread, tensor
from tests.serving.test_native_front import load, saved, values_of

X = np.arange(8, dtype=np.float32).reshape(4, 2)
HALVES = {"top": X[:2], "bottom": X[2:]}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, surplus.Model]:
    """``parts`` has halves of ``x``, ``top`` and ``bottom``; those named as datatypes have it."""
    folder = tmp_path_factory.mktemp("kept")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 2])
    halves = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in HALVES]
    split = helper.make_node("Split", ["x"], list(HALVES), axis=0)
    made = {"parts": load(saved(folder / "parts.onnx", split, [x], halves))}
    for name in ("FP32", "FP16", "BOOL", "INT64", "BYTES"):
        code = elem_type_of(DATATYPES[name].dtype)
        x, y = (helper.make_tensor_value_info(port, code, ["n", "m"]) for port in "xy")
        node = helper.make_node("Identity", ["x"], ["y"])
        made[name] = load(saved(folder / f"{name}.onnx", node, [x], [y]))
    return made


class OfAllTests(ModelExecutor):
    """Its model goes on with the next server."""

    def close(self) -> None:
        pass


def served_model(model: surplus.Model) -> ModelExecutor:
    config = parse_config("response_cache { enable: true }", Path("config.pbtxt"), "net")
    return OfAllTests(ServedAlone(model._planned, "net"), config)


@pytest.fixture(params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def thread(request: pytest.FixtureRequest, models) -> Iterator[ServerThread]:
    params = ServerParams(
        grpc_port=0, http_port=0, front_end=request.param, response_cache_bytes=1 << 20
    )
    started = ServerThread(params)
    for name, model in models.items():
        started.serve(name, served_model(model))
    yield started
    started.stop()


@pytest.fixture
def client(thread: ServerThread) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(thread.url) as client:
        yield client


@pytest.fixture
def rest(thread: ServerThread) -> Iterator[triton_http.InferenceServerClient]:
    with triton_http.InferenceServerClient(thread.http_url) as client:
        yield client


@pytest.fixture
def seen_by_python(thread: ServerThread, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Models of the queries that came to Python though the front end is native."""
    seen: list[str] = []
    infer = DataPlane.infer

    async def noted(self, model, query, encode):
        seen.append(model.name)
        return await infer(self, model, query, encode)

    if thread.server.plane.front is not None:
        monkeypatch.setattr(DataPlane, "infer", noted)
    return seen


def asked(client, array=X, model="parts", datatype="FP32", outputs=("top", "bottom"), **options):
    wanted = [triton.InferRequestedOutput(name) for name in outputs]
    answer = client.infer(model, [tensor("x", array, datatype)], outputs=wanted, **options)
    return {name: answer.as_numpy(name) for name in outputs}


def asked_over_rest(rest, *, binary: bool):
    given = triton_http.InferInput("x", [4, 2], "FP32")
    given.set_data_from_numpy(X, binary_data=binary)
    wanted = [triton_http.InferRequestedOutput(name, binary_data=binary) for name in HALVES]
    answer = rest.infer("parts", [given], outputs=wanted)
    return {name: answer.as_numpy(name) for name in HALVES}


def counted(client, model: str = "parts") -> tuple[int, int, int]:
    """Queries that were answered, answers that were there, and that were not."""
    stats = client.get_inference_statistics(model).model_stats[0].inference_stats
    return stats.success.count, stats.cache_hit.count, stats.cache_miss.count


def test_a_query_is_computed_once_for_whoever_asks(client, rest, seen_by_python):
    for answer in (
        asked(client),
        asked(client, outputs=("bottom", "top")),
        asked_over_rest(rest, binary=True),
        asked_over_rest(rest, binary=False),
    ):
        assert answer.keys() == HALVES.keys()
        for name, half in HALVES.items():
            np.testing.assert_array_equal(answer[name], half)
    assert counted(client) == (4, 3, 1)
    stats = client.get_inference_statistics("parts").model_stats[0]
    assert (stats.inference_count, stats.execution_count) == (1, 1)
    parts = stats.inference_stats
    assert [parts.compute_input.count, parts.queue.count, parts.compute_output.count] == [1, 1, 1]
    assert min(parts.cache_hit.ns, parts.cache_miss.ns) > 0
    assert seen_by_python == []


def test_other_values_shapes_or_outputs_are_computed(client, seen_by_python):
    for array in (X, X + 1):
        for outputs in (("top",), ("bottom",), ("top", "bottom")):
            halves = {"top": array[:2], "bottom": array[2:]}
            for _ in range(2):
                answer = asked(client, array, outputs=outputs)
                for name in outputs:
                    np.testing.assert_array_equal(answer[name], halves[name])
    assert counted(client) == (12, 6, 6)
    for array in (X, X.reshape(2, 4), X.reshape(1, 8)):
        answer = asked(client, array, "FP32", outputs=("y",))["y"]
        np.testing.assert_array_equal(answer, array)
    assert counted(client, "FP32") == (3, 0, 3)
    assert seen_by_python == []


@pytest.mark.parametrize("datatype", ["FP32", "FP16", "BOOL", "INT64", "BYTES"])
def test_answers_are_as_they_were(client, rest, seen_by_python, datatype):
    array = values_of(datatype)
    for _ in range(2):
        answer = asked(client, array, datatype, datatype, ("y",))["y"]
        assert (answer.dtype, answer.tolist()) == (array.dtype, array.tolist())
    given = triton_http.InferInput("x", list(array.shape), datatype)
    given.set_data_from_numpy(array)
    assert rest.infer(datatype, [given]).as_numpy("y").tolist() == array.tolist()
    assert counted(client, datatype) == (3, 2, 1)
    assert seen_by_python == []


def test_a_document_is_the_same_whether_its_answer_was_there(thread, seen_by_python):
    given = {"name": "x", "datatype": "FP32", "shape": [4, 2], "data": X.ravel().tolist()}
    body = json.dumps({"id": "7", "inputs": [given]})
    documents = []
    with closing(HTTPConnection(thread.http_url, timeout=WAIT_S)) as connection:
        for _ in range(3):
            connection.request("POST", "/v2/models/parts/infer", body)
            documents.append(connection.getresponse().read())
    assert documents[0] == documents[1] == documents[2]
    assert json.loads(documents[0])["id"] == "7"
    assert seen_by_python == []


def test_answers_of_a_stream_are_kept_and_in_their_order(client, seen_by_python):
    answers: queue.SimpleQueue = queue.SimpleQueue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    # One of each is answered before the others are asked: who comes meanwhile finds no answer.
    for numbers in (range(3), range(3, 30)):
        for number in numbers:
            given = tensor("x", X + number % 3, "FP32")
            client.async_stream_infer("parts", [given], request_id=str(number))
        for number in numbers:
            result, error = answers.get(timeout=WAIT_S)
            assert error is None
            assert result.get_response().id == str(number)
            np.testing.assert_array_equal(result.as_numpy("top"), X[:2] + number % 3)
    client.stop_stream()
    assert counted(client) == (30, 27, 3)
    assert seen_by_python == []


def test_an_answer_that_was_there_goes_to_shared_memory(client, seen_by_python):
    key = f"/kept-{os.getpid()}"
    region = shared_memory.create_shared_memory_region("kept", key, 1024)
    try:
        client.register_system_shared_memory("kept", key, 1024)
        shared_memory.set_shared_memory_region(region, [X])
        given, wanted = triton.InferInput("x", [4, 2], "FP32"), triton.InferRequestedOutput("top")
        given.set_shared_memory("kept", 32)
        for offset in (256, 512):
            wanted.set_shared_memory("kept", 16, offset)
            client.infer("parts", [given], outputs=[wanted])
            written = shared_memory.get_contents_as_numpy(region, np.float32, (2, 2), offset)
            np.testing.assert_array_equal(written, X[:2])
        assert counted(client) == (2, 1, 1)
        wanted.set_shared_memory("kept", 8, 512)
        with pytest.raises(InferenceServerException, match="should be at least 16 bytes"):
            client.infer("parts", [given], outputs=[wanted])
        stats = client.get_inference_statistics("parts").model_stats[0].inference_stats
        assert (stats.success.count, stats.fail.count) == (2, 1)
        client.unregister_system_shared_memory("kept")
    finally:
        shared_memory.destroy_shared_memory_region(region)
    assert seen_by_python == []


def test_python_finds_what_the_front_end_kept_and_the_other_way_round(client, thread):
    for array, first, second in ((X, None, "gzip"), (X + 1, "gzip", None)):
        for compression in (first, second):
            answer = asked(client, array, compression_algorithm=compression)
            np.testing.assert_array_equal(answer["bottom"], array[2:])
    assert counted(client) == (4, 2, 2)
    assert len(thread.server.plane.models.find("parts").answers) == 2


def test_a_model_that_is_loaded_anew_answers_anew(client, thread, models, seen_by_python):
    served = thread.server.plane.models.find("parts")
    for misses in (1, 2):
        asked(client)
        asked(client)
        assert counted(client) == (2 * misses, misses, misses)
        assert len(served.answers) == 1
        thread.call(served.set_ready, served_model(models["parts"]))
        assert len(served.answers) == 0
    assert seen_by_python == []


def test_what_there_is_no_room_for_is_computed(client, thread, seen_by_python):
    """A megabyte is less than what one of these takes; of others the last ones stay."""
    large = np.zeros((1, 200_000), np.float32)
    for _ in range(2):
        asked(client, large, "FP32", outputs=("y",))
    assert counted(client, "FP32") == (2, 0, 2)
    middling = np.zeros((1, 50_000), np.float32)  # 400 kB with its input
    for number in (0, 1, 2, 2, 1, 0):
        asked(client, middling + number, "FP32", outputs=("y",))
    assert counted(client, "FP32") == (8, 2, 6)
    assert thread.server.plane.models.find("FP32").answers.held_bytes <= 1 << 20
    assert seen_by_python == []
