"""The native front end: real models, asked by Triton's own client, answered without Python."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import onnx
import pytest
import tritonclient.grpc as triton
from onnx import TensorProto, helper
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException, shared_memory

import surplus
from surplus.engine.errors import ConfigError
from surplus.engine.pipeline import making, opening
from surplus.engine.serving import server as server_module
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from surplus.engine.values import elem_type_of
from tests.serving.fakes import WAIT_S, ServerThread, failing, tensor
from tests.serving.test_readiness import until

RAW_ONLY = ("FP16", "BF16", "BYTES")
VALUES = np.array([[1, 0, 1, 1, 0]])


def saved(path: Path, node: onnx.NodeProto, inputs: list, outputs: list) -> Path:
    graph = helper.make_graph([node], path.stem, inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def load(path: Path, **params: Any) -> surplus.Model:
    """Not to be judged in service, for which some queries come to Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "judge_in_service", lambda *_: None)
        patch.setattr(opening, "judge_in_service", lambda *_: None)
        return surplus.load(
            path, devices="cpu:1", placement_policy="single", selection_s=0, **params
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("native")


@pytest.fixture(scope="module")
def identities(folder: Path) -> dict[str, surplus.Model]:
    """A model of each datatype: ``y`` is ``x`` of any width."""
    made = {}
    for name, datatype in DATATYPES.items():
        code = elem_type_of(datatype.dtype)
        x, y = (helper.make_tensor_value_info(port, code, ["n", "m"]) for port in "xy")
        made[name] = load(
            saved(folder / f"{name}.onnx", helper.make_node("Identity", ["x"], ["y"]), [x], [y])
        )
    return made


@pytest.fixture(scope="module")
def parts(folder: Path) -> surplus.Model:
    """``top`` and ``bottom`` halves of ``x``."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 2])
    names = ("top", "bottom")
    halves = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in names]
    return load(
        saved(
            folder / "parts.onnx",
            helper.make_node("Split", ["x"], ["top", "bottom"], axis=0),
            [x],
            halves,
        )
    )


@pytest.fixture(scope="module")
def endless(folder: Path) -> surplus.Model:
    """Runs for ``n`` rounds of a loop, which takes as long as anybody likes."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["goes"]),
            helper.make_node("Add", ["sum_in", "sum_in"], ["sum_out"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum_in", TensorProto.FLOAT, [1]),
        ],
        [
            helper.make_tensor_value_info("goes", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum_out", TensorProto.FLOAT, [1]),
        ],
    )
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    n = helper.make_tensor_value_info("n", TensorProto.INT64, [])
    x, y = (helper.make_tensor_value_info(port, TensorProto.FLOAT, [1]) for port in "xy")
    path = saved(folder / "endless.onnx", node, [n, x], [y])
    few = {"n": np.array(3), "x": np.ones(1, np.float32)}
    return load(path, inputs=few)


@pytest.fixture
def python_queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Models of the queries that came to Python."""
    seen: list[str] = []
    infer = DataPlane.infer

    async def noted(self, model, query, encode):
        seen.append(model.name)
        return await infer(self, model, query, encode)

    monkeypatch.setattr(DataPlane, "infer", noted)
    return seen


@pytest.fixture
def server(identities, parts, endless) -> Iterator[surplus.Server]:
    models = {**identities, "parts": parts, "endless": endless}
    with surplus.Server(models, port=0, front_end=FrontEnd.NATIVE, max_in_flight=4) as server:
        yield server


@pytest.fixture
def client(server: surplus.Server) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(server.address) as client:
        yield client


@pytest.fixture
def stub(server: surplus.Server) -> Iterator[service_pb2_grpc.GRPCInferenceServiceStub]:
    with grpc.insecure_channel(server.address) as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)


def values_of(datatype: str) -> np.ndarray:
    if datatype == "BYTES":
        return np.array([[b"a", b"", b"\xff\x00"]], np.object_)
    return VALUES.astype(DATATYPES[datatype].dtype)


def rounds(count: int) -> list[triton.InferInput]:
    return [
        tensor("n", np.array(count), "INT64"),
        tensor("x", np.ones(1, np.float32), "FP32"),
    ]


def status_of(call, *arguments, **options) -> tuple[str, str]:
    with pytest.raises(InferenceServerException) as caught:
        call(*arguments, **options)
    return caught.value.status().removeprefix("StatusCode."), caught.value.message()


@pytest.mark.parametrize("datatype", DATATYPES)
def test_raw_tensors_come_back_as_they_were(client, python_queries, datatype: str) -> None:
    array = values_of(datatype)
    request = triton.InferInput("x", list(array.shape), datatype)
    request.set_data_from_numpy(array)
    answer = client.infer(datatype, [request], request_id="17").get_response()
    assert (answer.model_name, answer.model_version, answer.id) == (datatype, "1", "17")
    [output] = answer.outputs
    assert (output.name, output.datatype, list(output.shape)) == ("y", datatype, list(array.shape))
    assert answer.raw_output_contents[0] == request._get_content()
    assert python_queries == []


@pytest.mark.parametrize("datatype", [name for name in DATATYPES if name not in RAW_ONLY])
def test_typed_tensors_come_back_raw(stub, python_queries, datatype: str) -> None:
    array = values_of(datatype)
    request = service_pb2.ModelInferRequest(model_name=datatype)
    made = request.inputs.add(name="x", datatype=datatype, shape=array.shape)
    getattr(made.contents, DATATYPES[datatype].contents_field).extend(array.ravel().tolist())
    assert stub.ModelInfer(request).raw_output_contents[0] == array.tobytes()
    assert python_queries == []


@pytest.mark.parametrize(
    ("datatype", "values"),
    [
        ("INT8", [-128, 127]),
        ("UINT16", [0, 65535]),
        ("INT64", [-(2**63), 2**63 - 1]),
        ("UINT64", [0, 2**64 - 1]),
    ],
)
def test_typed_integers_reach_as_far_as_their_type(stub, datatype: str, values: list[int]) -> None:
    request = service_pb2.ModelInferRequest(model_name=datatype)
    made = request.inputs.add(name="x", datatype=datatype, shape=[1, 2])
    getattr(made.contents, DATATYPES[datatype].contents_field).extend(values)
    wanted = np.array(values, DATATYPES[datatype].dtype)
    assert stub.ModelInfer(request).raw_output_contents[0] == wanted.tobytes()


def test_a_true_may_be_any_number_but_0(server, python_queries) -> None:
    """As protobuf has it, whose own writers write a 1."""
    tensor_of = service_pb2.ModelInferRequest.InferInputTensor
    given = tensor_of(name="x", datatype="BOOL", shape=[1, 3]).SerializeToString()
    given += b"\x2a\x05\x0a\x03\x02\x00\x07"  # contents: bool_contents: 2, 0, 7
    request = service_pb2.ModelInferRequest(model_name="BOOL").SerializeToString()
    request += b"\x2a" + bytes([len(given)]) + given
    with grpc.insecure_channel(server.address) as channel:
        answer = service_pb2.ModelInferResponse.FromString(
            channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")(request)
        )
    assert answer.raw_output_contents[0] == b"\x01\x00\x01"
    assert python_queries == []


def test_what_is_wrong_is_said_by_python(client, stub) -> None:
    wrong = tensor("x", np.ones(3, np.float32), "FP32")
    assert status_of(client.infer, "FP32", [wrong])[0] == "INVALID_ARGUMENT"
    assert status_of(client.infer, "none", [wrong])[0] == "NOT_FOUND"
    request = service_pb2.ModelInferRequest(model_name="INT8")
    request.inputs.add(name="x", datatype="INT8", shape=[1, 1]).contents.int_contents.append(200)
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(request)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "INT8 holds -128 to 127" in caught.value.details()


def test_outputs_come_in_the_order_of_the_request(client, python_queries) -> None:
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    for names in itertools.chain.from_iterable(
        itertools.permutations(("top", "bottom"), count) for count in (1, 2)
    ):
        outputs = [triton.InferRequestedOutput(name) for name in names]
        answer = client.infer("parts", [tensor("x", x, "FP32")], outputs=outputs)
        assert [output.name for output in answer.get_response().outputs] == list(names)
        halves = {"top": x[:2], "bottom": x[2:]}
        for name in names:
            np.testing.assert_array_equal(answer.as_numpy(name), halves[name])
    assert python_queries == []


@pytest.fixture
def region(client) -> Iterator[Any]:
    """1 kB that the server knows as ``region``."""
    handle = shared_memory.create_shared_memory_region("region", f"/native-{os.getpid()}", 1024)
    client.register_system_shared_memory("region", f"/native-{os.getpid()}", 1024)
    yield handle
    client.unregister_system_shared_memory("region")
    shared_memory.destroy_shared_memory_region(handle)


def test_tensors_lie_in_shared_memory(client, region, python_queries) -> None:
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    shared_memory.set_shared_memory_region(region, [x], 64)
    given = triton.InferInput("x", [4, 2], "FP32")
    given.set_shared_memory("region", 32, 64)
    outputs = [triton.InferRequestedOutput("top"), triton.InferRequestedOutput("bottom")]
    outputs[0].set_shared_memory("region", 100, 512)
    answer = client.infer("parts", [given], outputs=outputs)
    written = shared_memory.get_contents_as_numpy(region, np.float32, (2, 2), 512)
    np.testing.assert_array_equal(written, x[:2])
    np.testing.assert_array_equal(answer.as_numpy("bottom"), x[2:])
    assert python_queries == []


def test_who_truncates_its_shared_memory_fails_alone(client, identities, python_queries) -> None:
    """Large enough to be mapped by the server, which SIGBUS would end."""
    key, count = f"/native-large-{os.getpid()}", 50_000
    handle = shared_memory.create_shared_memory_region("large", key, 8 * count)
    try:
        client.register_system_shared_memory("large", key, 8 * count)
        x = np.arange(count, dtype=np.float32)
        shared_memory.set_shared_memory_region(handle, [x])
        given = triton.InferInput("x", [1, count], "FP32")
        given.set_shared_memory("large", 4 * count)
        output = triton.InferRequestedOutput("y")
        output.set_shared_memory("large", 4 * count, 4 * count)
        for _ in range(3):
            client.infer("FP32", [given], outputs=[output])
        written = shared_memory.get_contents_as_numpy(handle, np.float32, (count,), 4 * count)
        np.testing.assert_array_equal(written, x)
        assert python_queries == []
        os.truncate(f"/dev/shm{key}", 4096)
        code, said = status_of(client.infer, "FP32", [given], outputs=[output])
        assert code == "INVALID_ARGUMENT"
        assert "was truncated" in said
        client.unregister_system_shared_memory("large")
    finally:
        shared_memory.destroy_shared_memory_region(handle)
    assert client.is_server_live()


def test_what_does_not_fit_shared_memory_harms_its_own_query(client, region) -> None:
    given = triton.InferInput("x", [4, 2], "FP32")
    given.set_shared_memory("region", 32, 0)
    small, beyond = triton.InferRequestedOutput("top"), triton.InferRequestedOutput("top")
    small.set_shared_memory("region", 4, 512)
    beyond.set_shared_memory("region", 16, 1020)
    code, text = status_of(client.infer, "parts", [given], outputs=[small])
    assert code == "INTERNAL"
    assert "output 'top' (4 bytes) should be at least 16 bytes" in text
    assert status_of(client.infer, "parts", [given], outputs=[beyond])[0] == "INVALID_ARGUMENT"
    given.set_shared_memory("none", 32, 0)
    assert status_of(client.infer, "parts", [given])[0] == "NOT_FOUND"
    assert client.infer("FP32", [tensor("x", np.ones((1, 1), np.float32), "FP32")])


def test_large_tensors_and_many_callers(server, client, python_queries) -> None:
    def ask(seed: int) -> bool:
        array = np.random.default_rng(seed).random((1, 1 + seed * 150_001), np.float32)
        with triton.InferenceServerClient(server.address) as own:
            return np.array_equal(
                own.infer("FP32", [tensor("x", array, "FP32")]).as_numpy("y"), array
            )

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(ask, range(12)))
    assert python_queries == []


def test_statistics_count_what_python_does_not_see(client, python_queries) -> None:
    for _ in range(130):
        client.infer("FP32", [tensor("x", np.ones((1, 3), np.float32), "FP32")])
    assert python_queries == []
    [row] = client.get_inference_statistics("FP32").model_stats
    stats = row.inference_stats
    assert row.inference_count == stats.success.count == stats.compute_infer.count == 130
    parts = stats.queue.ns + stats.compute_input.ns + stats.compute_infer.ns
    assert 0 < parts + stats.compute_output.ns <= stats.success.ns


def test_a_client_has_as_many_connections_as_it_may(parts) -> None:
    def is_taken(connection: socket.socket) -> bool:
        try:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
            return connection.recv(9) != b""
        except (BrokenPipeError, ConnectionResetError):
            return False

    def connected(port: str) -> socket.socket:
        return socket.create_connection(("127.0.0.1", int(port)), timeout=WAIT_S)

    with surplus.Server(
        {"parts": parts}, port=0, front_end=FrontEnd.NATIVE, max_connections_per_client=2
    ) as server:
        port = server.address.rpartition(":")[2]
        with connected(port) as one, connected(port) as two:
            assert is_taken(one)
            assert is_taken(two)
            with connected(port) as three:
                assert not is_taken(three)
            one.shutdown(socket.SHUT_RDWR)

            def another_is_taken() -> bool:
                with connected(port) as another:
                    return is_taken(another)

            until(another_is_taken)


def test_a_deadline_ends_the_run(client, python_queries) -> None:
    assert status_of(client.infer, "endless", rounds(2**40), client_timeout=0.2)[0] == (
        "DEADLINE_EXCEEDED"
    )
    # The protocol's own, in microseconds, of which the client knows nothing.
    assert status_of(client.infer, "endless", rounds(2**40), timeout=100_000) == (
        "DEADLINE_EXCEEDED",
        "the query's deadline passed before it finished",
    )
    assert python_queries == []
    assert client.infer("endless", rounds(2)).as_numpy("y").item() == 4


def test_a_full_model_turns_away_at_once_and_cancelled_queries_make_room(
    server, client, stub, python_queries
) -> None:
    request = service_pb2.ModelInferRequest(model_name="endless")
    request.inputs.add(name="n", datatype="INT64", shape=[]).contents.int64_contents.append(2**40)
    request.inputs.add(name="x", datatype="FP32", shape=[1]).contents.fp32_contents.append(1)
    calls = [stub.ModelInfer.future(request) for _ in range(4)]
    # Without a query of our own, which would take the place of one of them.
    while server.in_flight < 4:
        assert client.is_server_live()
    code, text = status_of(client.infer, "endless", rounds(1))
    assert (code, text) == (
        "RESOURCE_EXHAUSTED",
        "model 'endless' version 1 has 4 queries in flight, its limit",
    )
    for call in calls:
        call.cancel()
    while server.in_flight:
        assert client.is_server_live()
    assert client.infer("endless", rounds(2)).as_numpy("y").item() == 4
    assert python_queries == []


def test_a_query_that_something_cancels_is_answered() -> None:
    thread = ServerThread(ServerParams(grpc_port=0, front_end=FrontEnd.NATIVE))
    try:
        thread.serve("cancelled", failing(asyncio.CancelledError()))  # type: ignore[arg-type]
        with grpc.insecure_channel(thread.url) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            request = service_pb2.ModelInferRequest(model_name="cancelled")
            request.inputs.add(name="x", datatype="FP32", shape=[1])
            request.raw_input_contents.append(bytes(4))
            call = stub.ModelInfer.future(request, timeout=WAIT_S)
            assert call.code() is grpc.StatusCode.CANCELLED
            [answer] = stub.ModelStreamInfer(iter([request]), timeout=WAIT_S)
            assert "cancelled" in answer.error_message
    finally:
        thread.stop()


def test_a_stopped_server_cancels_what_does_not_end(endless) -> None:
    models = {"endless": endless}
    server = surplus.Server(models, port=0, front_end=FrontEnd.NATIVE, drain_timeout_s=0)
    with server, grpc.insecure_channel(server.address) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        request = service_pb2.ModelInferRequest(model_name="endless")
        made = request.inputs.add(name="n", datatype="INT64", shape=[])
        made.contents.int64_contents.append(2**40)
        request.inputs.add(name="x", datatype="FP32", shape=[1]).contents.fp32_contents.append(1)
        call = stub.ModelInfer.future(request)
        with triton.InferenceServerClient(server.address) as client:
            while not server.in_flight:
                assert client.is_server_live()
        assert not server.stop()
        assert call.exception(WAIT_S).code() is grpc.StatusCode.UNAVAILABLE


def test_streams_mix_what_is_native_and_what_is_not(stub, python_queries) -> None:
    def request(name: str, value: float, query_id: str, shape=(1, 1)):
        made = service_pb2.ModelInferRequest(model_name=name, id=query_id)
        made.inputs.add(name="x", datatype="FP32", shape=shape)
        made.raw_input_contents.append(np.float32(value).tobytes())
        return made

    asked = [
        request("FP32", 1, "a"),
        request("none", 2, "b"),
        request("FP32", 3, "c"),
        request("FP32", 4, "d", shape=(1, 2)),
        request("FP32", 5, "e"),
    ]
    answers = list(stub.ModelStreamInfer(iter(asked * 40)))
    assert [answer.infer_response.id for answer in answers] == list("abcde") * 40
    for answer in answers[:5]:
        right = answer.infer_response.id in "ace"
        assert bool(answer.error_message) is not right
    assert np.frombuffer(answers[4].infer_response.raw_output_contents[0], np.float32) == 5


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_messages_are_taken(server, compression) -> None:
    array = np.zeros((1, 100_000), np.float32)
    with triton.InferenceServerClient(server.address) as client:
        answer = client.infer(
            "FP32",
            [tensor("x", array, "FP32")],
            compression_algorithm={grpc.Compression.Gzip: "gzip"}.get(compression, "deflate"),
        )
    np.testing.assert_array_equal(answer.as_numpy("y"), array)


def test_what_is_no_http2_is_turned_away(server, client) -> None:
    host, port = server.address.split(":")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as http1:
        http1.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        while http1.recv(4096):
            pass
    assert client.is_server_live()


def test_without_the_library_python_speaks_grpc(parts, monkeypatch, caplog) -> None:
    missing = "HTTP/2 needs libnghttp2: libnghttp2.so.14: cannot open shared object file"
    monkeypatch.setattr(server_module, "missing_library", lambda **_: missing)
    with (
        surplus.Server({"parts": parts}, port=0) as server,
        triton.InferenceServerClient(server.address) as client,
    ):
        assert client.is_server_live()
    assert "gRPC by Python, which is slower: HTTP/2 needs libnghttp2" in caplog.text
    with pytest.raises(ConfigError, match="native front end cannot serve: HTTP/2 needs"):
        surplus.Server({"parts": parts}, port=0, front_end=FrontEnd.NATIVE).start()
