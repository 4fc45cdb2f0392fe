"""The gRPC face, asked by Triton's own client."""

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException

from surplus.engine.errors import CancelledError, ExecutionError
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.descriptions import EXTENSIONS
from surplus.engine.serving.messages import SERVICE
from tests.serving.fakes import WAIT_S, Function, ask_async, failing, identity, tensor

VECTOR = np.array([1.5, -2.0, 3.25], np.float32)


def _vector(array=VECTOR):
    return [tensor("x", array, "FP32")]


def _matrices():
    one = np.ones((2, 4), np.float32)
    return [tensor("a", 3 * one, "FP32"), tensor("b", one, "FP32")]


def _status(call, *arguments, **options):
    with pytest.raises(InferenceServerException) as caught:
        call(*arguments, **options)
    return caught.value.status().removeprefix("StatusCode."), caught.value.message()


def test_health_and_server_metadata(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    metadata = client.get_server_metadata()
    assert metadata.name == "surplus"
    assert list(metadata.extensions) == list(EXTENSIONS)


def test_model_ready(served, client, fresh_name):
    assert client.is_model_ready("identity")
    assert client.is_model_ready("identity", "1")
    assert not client.is_model_ready("identity", "2")
    assert not client.is_model_ready(fresh_name)


def test_model_metadata(client):
    metadata = client.get_model_metadata("arithmetic", as_json=True)
    assert metadata["name"] == "arithmetic"
    assert metadata["versions"] == ["1"]
    assert [spec["name"] for spec in metadata["inputs"]] == ["a", "b", "bias"]
    assert metadata["outputs"][1] == {
        "name": "difference",
        "datatype": "FP32",
        "shape": ["-1", "4"],
    }


def test_model_config(client):
    config = client.get_model_config("arithmetic").config
    assert (config.name, config.max_batch_size) == ("arithmetic", 0)
    assert [(spec.name, spec.optional) for spec in config.input] == [
        ("a", False),
        ("b", False),
        ("bias", True),
    ]
    assert config.output[0].data_type == triton.model_config_pb2.TYPE_FP32
    assert list(config.output[0].dims) == [-1, 4]
    assert {n: p.string_value for n, p in config.parameters.items()} == {"kernels": "of a test"}


def test_repository_index_and_reasons(own_server):
    own_server.serve("good", identity())
    own_server.call(own_server.server.plane.models.add, "slow")
    bad = own_server.call(own_server.server.plane.models.add, "bad")
    own_server.call(bad.set_unavailable, "no such operator")
    with triton.InferenceServerClient(own_server.url) as client:
        index = client.get_model_repository_index().models
        assert [(model.name, model.version, model.state, model.reason) for model in index] == [
            ("good", "1", "READY", ""),
            ("slow", "1", "LOADING", ""),
            ("bad", "1", "UNAVAILABLE", "no such operator"),
        ]
        assert not client.is_server_ready()
        for name in ("slow", "bad"):
            assert _status(client.infer, name, _vector())[0] == "UNAVAILABLE"
            assert _status(client.get_model_metadata, name)[0] == "UNAVAILABLE"


def test_statistics(served, client, fresh_name):
    executor = served.serve(fresh_name, identity())
    executor.queued_ns = 3
    client.infer(fresh_name, _vector())
    _status(client.infer, fresh_name, [])
    (statistics,) = client.get_inference_statistics(fresh_name).model_stats
    assert (statistics.inference_count, statistics.execution_count) == (1, 1)
    assert statistics.inference_stats.success.count == 1
    assert statistics.inference_stats.fail.count == 1
    parts = statistics.inference_stats
    assert (parts.queue.count, parts.queue.ns) == (1, 3)
    assert min(parts.compute_input.ns, parts.compute_infer.ns, parts.compute_output.ns) > 0
    assert parts.success.ns == (
        parts.compute_input.ns + parts.queue.ns + parts.compute_infer.ns + parts.compute_output.ns
    )
    assert len(client.get_inference_statistics().model_stats) > 1


@pytest.mark.parametrize("version", ["", "1", "2"])
def test_versions(served, client, fresh_name, version):
    for number in ("1", "2"):
        served.serve(fresh_name, identity(), number)
    answer = client.infer(fresh_name, _vector(), model_version=version, request_id="q-7")
    assert answer.get_response().model_version == (version or "2")
    assert answer.get_response().id == "q-7"


def _sample(datatype):
    if datatype == "BYTES":
        return np.array([b"", b"abc", b"\0\xff", "größe".encode()], dtype=object)
    return np.array([0, 1, 1, 0]).astype(DATATYPES[datatype].dtype)


@pytest.mark.parametrize("datatype", DATATYPES)
def test_raw_round_trip_of_every_datatype(served, client, fresh_name, datatype):
    served.serve(fresh_name, identity(datatype))
    sent = _sample(datatype)
    answer = client.infer(fresh_name, [tensor("x", sent, datatype)])
    assert answer.get_output("y").datatype == datatype
    np.testing.assert_array_equal(answer.as_numpy("y"), sent)


@pytest.fixture(scope="module")
def stub(served):
    """Triton's generated stub, for requests that its client does not make."""
    with grpc.insecure_channel(served.url) as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)


def _request(model, datatype="FP32", shape=(3,), contents=None, raw=()):
    request = service_pb2.ModelInferRequest(model_name=model, raw_input_contents=raw)
    added = request.inputs.add(name="x", datatype=datatype, shape=shape)
    if contents is not None:
        added.contents.CopyFrom(service_pb2.InferTensorContents(**contents))
    return request


def _refused(stub, request):
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(request)
    return caught.value.code().name, caught.value.details()


@pytest.mark.parametrize("datatype", [n for n, d in DATATYPES.items() if d.contents_field])
def test_typed_contents_of_every_datatype(served, stub, fresh_name, datatype):
    served.serve(fresh_name, identity(datatype))
    sample = _sample(datatype)
    contents = {DATATYPES[datatype].contents_field: sample.tolist()}
    answer = stub.ModelInfer(_request(fresh_name, datatype, sample.shape, contents))
    assert answer.outputs[0].datatype == datatype
    assert not answer.outputs[0].HasField("contents")  # answers are raw
    if datatype != "BYTES":
        assert answer.raw_output_contents[0] == sample.tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"raw": [b"", b""]}, "2 raw_input_contents for 1 inputs"),
        ({"raw": [bytes(12)], "contents": {"fp32_contents": [1]}}, "both contents and raw"),
        ({"raw": [bytes(11)]}, "takes 12 bytes, got 11"),
        ({}, "takes 3 values in fp32_contents, got 0"),
        ({"contents": {"int_contents": [1]}}, "takes fp32_contents, got int_contents"),
        ({"raw": [bytes(24)], "datatype": "FP64"}, "expected FP32, got FP64"),
        ({"raw": [bytes(12)], "shape": (1, 3)}, "expected shape"),
        ({"raw": [bytes(12)], "shape": (-3,)}, "negative size"),
        ({"raw": [bytes(12)], "datatype": "x" * 100_000}, "unknown datatype"),  # a long message
        ({"raw": [bytes(12)], "datatype": "\U0001f600" * 9_999}, "unknown datatype"),
    ],
)
def test_wrong_contents_are_invalid_arguments(stub, options, message):
    code, details = _refused(stub, _request("identity", **options))
    assert code == "INVALID_ARGUMENT"
    assert "input" in details
    assert message in details


@pytest.mark.parametrize("name", ["timeout", "priority"])
@pytest.mark.parametrize("value", [{"string_param": "5"}, {"int64_param": -1}, {}])
def test_wrong_parameters_are_invalid_arguments(stub, name, value):
    request = _request("identity", raw=[bytes(12)])
    request.parameters[name].CopyFrom(service_pb2.InferParameter(**value))
    code, details = _refused(stub, request)
    assert code == "INVALID_ARGUMENT"
    assert f"parameter {name!r}: expected" in details


def test_endless_timeout_is_none(stub):
    request = _request("identity", raw=[bytes(12)])
    request.parameters["timeout"].uint64_param = 2**64 - 1
    assert stub.ModelInfer(request).raw_output_contents[0] == bytes(12)


def test_several_and_requested_outputs(client):
    answer = client.infer("arithmetic", _matrices())
    assert [output.name for output in answer.get_response().outputs] == ["sum", "difference"]
    requested = [triton.InferRequestedOutput("difference")]
    answer = client.infer("arithmetic", _matrices(), outputs=requested)
    assert [output.name for output in answer.get_response().outputs] == ["difference"]
    np.testing.assert_array_equal(answer.as_numpy("difference"), np.full((2, 4), 2))
    assert answer.as_numpy("sum") is None


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (_matrices()[:1], None, "input 'b' is missing"),
        (_matrices() + _vector(), None, "unknown input 'x'"),
        (_matrices() * 2, None, "input 'a' is given twice"),
        (_matrices(), [triton.InferRequestedOutput("z")], "unknown output 'z'"),
        (_matrices(), [triton.InferRequestedOutput("sum", class_count=-2)], "classification"),
    ],
)
def test_wrong_queries_are_invalid_arguments(client, inputs, outputs, message):
    code, details = _status(client.infer, "arithmetic", inputs, outputs=outputs)
    assert code == "INVALID_ARGUMENT"
    assert message in details


def test_unknown_models_are_not_found(client, fresh_name):
    assert _status(client.infer, fresh_name, _vector())[0] == "NOT_FOUND"
    assert _status(client.infer, "identity", _vector(), model_version="7")[0] == "NOT_FOUND"
    for call in (
        client.get_model_metadata,
        client.get_model_config,
        client.get_inference_statistics,
    ):
        code, details = _status(call, fresh_name)
        assert code == "NOT_FOUND"
        assert fresh_name in details


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ExecutionError("segment 3: division by zero"), "INTERNAL", "segment 3"),
        (KeyError("weights"), "INTERNAL", "KeyError: 'weights'"),
        (CancelledError("the machine closed"), "CANCELLED", "machine closed"),
    ],
)
def test_failures(served, client, fresh_name, error, code, message):
    served.serve(fresh_name, failing(error))
    got, details = _status(client.infer, fresh_name, _vector())
    assert got == code
    assert message in details


def test_output_that_the_protocol_cannot_carry(served, client, fresh_name):
    like = identity()
    served.serve(
        fresh_name, Function(lambda _: {"y": np.ones(1, complex)}, like.inputs, like.outputs)
    )
    code, details = _status(client.infer, fresh_name, _vector())
    assert code == "INTERNAL"
    assert "output 'y'" in details


def test_a_server_that_keeps_its_models_loads_none(client):
    assert _status(client.load_model, "identity")[0] == "UNAVAILABLE"
    assert _status(client.load_model, "identity", config="{}")[0] == "UNAVAILABLE"


def test_other_calls_are_unimplemented(served):
    with grpc.insecure_channel(served.url) as channel:
        call = channel.unary_unary(f"/{SERVICE}/ModelDream")
        with pytest.raises(grpc.RpcError) as caught:
            call(b"", timeout=WAIT_S)
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_message_over_the_limit(client, served):
    code, details = _status(client.infer, "identity", _vector(np.zeros(3 << 20, np.float32)))
    assert code == "RESOURCE_EXHAUSTED"
    assert "larger than max" in details
    client.infer("identity", _vector())


def test_largetensor(client):
    sent = np.arange(1 << 20, dtype=np.float32)  # 4 MiB, over gRPC's usual limit
    np.testing.assert_array_equal(client.infer("identity", _vector(sent)).as_numpy("y"), sent)


def test_priority_and_timeout_reach_the_executor(served, client, fresh_name):
    executor = served.serve(fresh_name, identity())
    client.infer(fresh_name, _vector(), priority=2)
    client.infer(fresh_name, _vector(), timeout=60_000_000)
    (_, no_deadline, priority), (_, deadline_ns, _) = executor.calls
    assert (no_deadline, priority) == (None, 2)
    assert 0 < deadline_ns - served.server.plane.clock_ns() <= 60 * 10**9


def test_timeout_parameter(served, client, fresh_name):
    gate = served.gate(fresh_name)
    code, details = _status(client.infer, fresh_name, _vector(), timeout=500_000)
    assert (code, "deadline" in details) == ("DEADLINE_EXCEEDED", True)
    assert gate.cancelled.acquire(timeout=WAIT_S)


def test_deadline_of_the_client(served, client, fresh_name):
    gate = served.gate(fresh_name)
    code, _ = _status(client.infer, fresh_name, _vector(), client_timeout=2.0)
    assert code == "DEADLINE_EXCEEDED"
    assert gate.entered.acquire(timeout=WAIT_S)
    assert gate.cancelled.acquire(timeout=WAIT_S)


def test_cancelling_client_cancels_the_run(served, client, fresh_name):
    gate = served.gate(fresh_name)
    call = client.async_infer(fresh_name, _vector(), callback=lambda result, error: None)
    assert gate.entered.acquire(timeout=WAIT_S)
    call.cancel()
    assert gate.cancelled.acquire(timeout=WAIT_S)
    (statistics,) = client.get_inference_statistics(fresh_name).model_stats
    assert statistics.inference_stats.fail.count == 1


def test_dropped_connection_cancels_the_run(served, fresh_name):
    gate = served.gate(fresh_name)
    client = triton.InferenceServerClient(served.url)
    client.async_infer(fresh_name, _vector(), callback=lambda result, error: None)
    assert gate.entered.acquire(timeout=WAIT_S)
    client.close()
    assert gate.cancelled.acquire(timeout=WAIT_S)


def test_full_queue(own_server):
    gate = own_server.gate("gate")
    with triton.InferenceServerClient(own_server.url) as client:
        queries = [ask_async(client, "gate", _vector()) for _ in range(2)]
        for _ in queries:
            assert gate.entered.acquire(timeout=WAIT_S)
        code, details = _status(client.infer, "gate", _vector())
        assert (code, "2 queries in flight" in details) == ("RESOURCE_EXHAUSTED", True)
        own_server.call(gate.open.set)
        assert [query.get(timeout=WAIT_S)[1] for query in queries] == [None, None]
        client.infer("gate", _vector())
