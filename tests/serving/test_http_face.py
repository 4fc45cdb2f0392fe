"""The HTTP face, asked by Triton's own client and by plain requests."""

import gzip
import http.client
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

from surplus.engine.errors import CancelledError, ExecutionError, InputError
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.descriptions import EXTENSIONS
from surplus.engine.serving.json_values import encode_json
from tests.serving.fakes import WAIT_S, Function, failing, identity

VECTOR = np.array([1.5, -2.0, 3.25], np.float32)
X = {"name": "x", "datatype": "FP32", "shape": [3], "data": [1.5, -2, 3.25]}


@pytest.fixture(scope="module")
def client(served):
    with triton.InferenceServerClient(served.http_url) as client:
        yield client


def _tensor(name, array, datatype, binary=True):
    made = triton.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array, binary_data=binary)
    return made


def _vector(array=VECTOR, binary=True):
    return [_tensor("x", array, "FP32", binary)]


def _refused(call, *arguments, **options):
    with pytest.raises(InferenceServerException) as caught:
        call(*arguments, **options)
    return caught.value.status(), caught.value.message()


def _ask(url, method, path, body=None, headers=None):
    """A plain request: status, document or None, and headers."""
    connection = http.client.HTTPConnection(url, timeout=WAIT_S)
    try:
        if isinstance(body, dict | list):
            body = json.dumps(body)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None, answer.headers
    finally:
        connection.close()


def _infer(served, document, model="identity", **options):
    return _ask(served.http_url, "POST", f"/v2/models/{model}/infer", document, **options)


def test_health_and_server_metadata(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    metadata = client.get_server_metadata()
    assert metadata["name"] == "surplus"
    assert metadata["extensions"] == [*EXTENSIONS, "binary_tensor_data"]


def test_model_ready(client, fresh_name):
    assert client.is_model_ready("identity")
    assert client.is_model_ready("identity", "1")
    assert not client.is_model_ready("identity", "2")
    assert not client.is_model_ready(fresh_name)


def test_health_is_told_in_documents_too(served, fresh_name):
    """Which KServe's client reads."""
    at = served.http_url
    assert _ask(at, "GET", "/v2/health/live")[:2] == (200, {"live": True})
    assert _ask(at, "GET", "/v2/health/ready")[:2] == (200, {"ready": True})
    known, unknown = (f"/v2/models/{name}/ready" for name in ("identity", fresh_name))
    assert _ask(at, "GET", known)[:2] == (200, {"name": "identity", "ready": True})
    assert _ask(at, "GET", unknown)[:2] == (400, {"name": fresh_name, "ready": False})


def test_model_metadata_and_config(client):
    metadata = client.get_model_metadata("arithmetic")
    assert (metadata["name"], metadata["versions"]) == ("arithmetic", ["1"])
    assert [spec["name"] for spec in metadata["inputs"]] == ["a", "b", "bias"]
    assert metadata["outputs"][1] == {"name": "difference", "datatype": "FP32", "shape": [-1, 4]}
    config = client.get_model_config("arithmetic", "1")
    assert [spec["optional"] for spec in config["input"]] == [False, False, True]
    assert config["output"][0] == {
        "name": "sum",
        "data_type": "TYPE_FP32",
        "dims": [-1, 4],
        "label_filename": "",
        "is_shape_tensor": False,
        "is_non_linear_format_io": False,
    }
    assert config["version_policy"] == {"latest": {"num_versions": 1}}
    assert "dynamic_batching" not in config


def test_repository_index(own_server):
    own_server.serve("good", identity())
    bad = own_server.call(own_server.server.plane.models.add, "bad")
    own_server.call(bad.set_unavailable, "no such operator")
    with triton.InferenceServerClient(own_server.http_url) as client:
        index = client.get_model_repository_index()
        assert index == [
            {"name": "good", "version": "1", "state": "READY", "reason": ""},
            {"name": "bad", "version": "1", "state": "UNAVAILABLE", "reason": "no such operator"},
        ]
        assert not client.is_server_ready()
        assert _refused(client.infer, "bad", _vector())[0] == "503"
        assert _refused(client.get_model_metadata, "bad")[0] == "503"
    path = "/v2/repository/index"
    status, ready, _ = _ask(own_server.http_url, "POST", path, {"ready": True})
    assert (status, [row["name"] for row in ready]) == (200, ["good"])
    assert _ask(own_server.http_url, "POST", path, "[]")[0] == 400


def test_statistics(served, client, fresh_name):
    served.serve(fresh_name, identity())
    client.infer(fresh_name, _vector())
    _refused(client.infer, fresh_name, _vector()[:0])
    (row,) = client.get_inference_statistics(fresh_name)["model_stats"]
    assert (row["name"], row["version"], row["inference_count"]) == (fresh_name, "1", 1)
    parts = row["inference_stats"]
    assert (parts["success"]["count"], parts["fail"]["count"]) == (1, 1)
    assert parts["success"]["ns"] == sum(
        parts[part]["ns"] for part in ("compute_input", "queue", "compute_infer", "compute_output")
    )
    assert len(client.get_inference_statistics()["model_stats"]) > 1


@pytest.mark.parametrize("version", ["", "1", "2"])
def test_versions(served, client, fresh_name, version):
    for number in ("1", "2"):
        served.serve(fresh_name, identity(), number)
    answer = client.infer(fresh_name, _vector(), model_version=version, request_id="q-7")
    response = answer.get_response()
    assert (response["model_version"], response["id"]) == (version or "2", "q-7")


def _sample(datatype):
    if datatype == "BYTES":
        return np.array(["", "abc", "größe", "zero\0"], dtype=object)
    return np.array([0, 1, 1, 0]).astype(DATATYPES[datatype].dtype)


@pytest.mark.parametrize("datatype", DATATYPES)
def test_round_trip_of_every_datatype_as_bytes(served, client, fresh_name, datatype):
    served.serve(fresh_name, identity(datatype))
    sent = _sample(datatype)
    answer = client.infer(fresh_name, [_tensor("x", sent, datatype)])
    assert answer.get_output("y")["datatype"] == datatype
    expected = [text.encode() for text in sent] if datatype == "BYTES" else sent.tolist()
    assert answer.as_numpy("y").tolist() == expected


@pytest.mark.parametrize("datatype", DATATYPES)
def test_round_trip_of_every_datatype_in_json(served, fresh_name, datatype):
    served.serve(fresh_name, identity(datatype))
    values = _sample(datatype).tolist() if datatype != "BF16" else [0.0, 1.0, 1.0, 0.0]
    row = {"name": "x", "datatype": datatype, "shape": [4], "data": values}
    status, answer, headers = _infer(served, {"inputs": [row]}, fresh_name)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert answer["outputs"] == [row | {"name": "y"}]


LIMITS = {"INT8": [-128, 127], "UINT64": [0, 2**64 - 1], "INT64": [-(2**63), 2**63 - 1]}


@pytest.mark.parametrize("datatype", LIMITS)
def test_the_largest_numbers_in_json(served, fresh_name, datatype):
    served.serve(fresh_name, identity(datatype))
    row = {"name": "x", "datatype": datatype, "shape": [2], "data": LIMITS[datatype]}
    assert _infer(served, {"inputs": [row]}, fresh_name)[1]["outputs"][0]["data"] == row["data"]


def test_nested_data_and_several_outputs(served):
    rows = [
        {"name": name, "datatype": "FP32", "shape": [2, 4], "data": [[value] * 4] * 2}
        for name, value in (("a", 3), ("b", 1.5))
    ]
    outputs = [
        {"name": "difference", "parameters": {"binary_data": False}},
        {"name": "sum"},
    ]
    status, answer, _ = _infer(served, {"inputs": rows, "outputs": outputs}, "arithmetic")
    assert (status, "id" in answer) == (200, False)
    assert [(o["name"], o["shape"], o["data"]) for o in answer["outputs"]] == [
        ("difference", [2, 4], [1.5] * 8),
        ("sum", [2, 4], [4.5] * 8),
    ]


def test_bytes_and_json_in_one_request_and_answer(client):
    a, b = np.full((1, 4), 5, np.float32), np.ones((1, 4), np.float32)
    bias = np.array([2], np.float32)
    inputs = [
        _tensor("a", a, "FP32"),
        _tensor("b", b, "FP32", binary=False),
        _tensor("bias", bias, "FP32"),
    ]
    outputs = [
        triton.InferRequestedOutput("sum", binary_data=False),
        triton.InferRequestedOutput("difference", binary_data=True),
    ]
    answer = client.infer("arithmetic", inputs, outputs=outputs)
    np.testing.assert_array_equal(answer.as_numpy("sum"), a + b + bias)
    np.testing.assert_array_equal(answer.as_numpy("difference"), a - b)
    assert "data" in answer.get_output("sum")
    assert answer.get_output("difference")["parameters"] == {"binary_data_size": 16}


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compressed_requests(client, algorithm):
    sent = np.zeros(10_000, np.float32)
    answer = client.infer("identity", _vector(sent), request_compression_algorithm=algorithm)
    np.testing.assert_array_equal(answer.as_numpy("y"), sent)


@pytest.mark.parametrize("shape", [(0,), (1 << 20,)])
def test_empty_and_large_tensors(client, shape):
    sent = np.ones(shape, np.float32)
    for binary in (True, False) if sent.size < 10 else (True,):
        answer = client.infer("identity", _vector(sent, binary))
        np.testing.assert_array_equal(answer.as_numpy("y"), sent)


def _part(region):
    return {"shared_memory_region": region, "shared_memory_byte_size": 12}


Y = {"name": "y"}
BINARY = {**X, "parameters": {"binary_data_size": 12}}
del BINARY["data"]

WRONG = {
    "no inputs": ({}, "'inputs' must be a list"),
    "no object": ([], "the request: expected an object"),
    "an input that is none": ({"inputs": [1]}, "inputs: expected an object"),
    "no name": ({"inputs": [{"shape": [1]}]}, "'name' must be a string"),
    "no data": ({"inputs": [BINARY | {"parameters": {}}]}, "data must be a list"),
    "bytes that are not there": ({"inputs": [BINARY]}, "binary_data_size is 12, 0 bytes are left"),
    "data and bytes": ({"inputs": [X | {"parameters": {"binary_data_size": 0}}]}, "both data"),
    "too few": ({"inputs": [X | {"data": [1]}]}, "takes 3 values, got 1"),
    "ragged": ({"inputs": [X | {"data": [[1], [2, 3]]}]}, "no list of FP32 values"),
    "strings": ({"inputs": [X | {"data": ["1", "2", "3"]}]}, "not all of FP32"),
    "a long string among many": (
        {"inputs": [X | {"data": ["a" * 500_000] + [0] * 50_000}]},  # 93 GiB as an array of text
        "takes 3 values, got 50001",
    ),
    "null": ({"inputs": [X | {"data": [1, None, 3]}]}, "not all of FP32"),
    "objects": ({"inputs": [X | {"data": [{}, {}, {}]}]}, "not all of FP32"),
    "too large": ({"inputs": [X | {"data": [1e300, 1, 2]}]}, "too large for FP32"),
    "a shape of strings": ({"inputs": [X | {"shape": ["3"]}]}, "shape must be a list of integers"),
    "a negative shape": ({"inputs": [X | {"shape": [-3]}]}, "negative size"),
    "a huge shape": ({"inputs": [X | {"shape": [2**70]}]}, "shape must be a list of integers"),
    "a shape of high rank": ({"inputs": [X | {"shape": [1] * 99 + [3]}]}, "shape of rank 100"),
    "another type": ({"inputs": [X | {"datatype": "FP128"}]}, "unknown datatype"),
    "twice": ({"inputs": [X, X]}, "given twice"),
    "an unknown output": ({"inputs": [X], "outputs": [{"name": "z"}]}, "unknown output 'z'"),
    "classification": (
        {"inputs": [X], "outputs": [{"name": "y", "parameters": {"classification": -2}}]},
        "output 'y': 'classification': expected 0 to",
    ),
    "classes of text": (
        {"inputs": [X], "outputs": [{"name": "y", "parameters": {"classification": "2"}}]},
        "output 'y': 'classification' must be an integer",
    ),
    "shared memory without a size": (
        {"inputs": [BINARY | {"parameters": {"shared_memory_region": "r"}}]},
        "'shared_memory_byte_size' must be specified along with 'shared_memory_region'",
    ),
    "a size without shared memory": (
        {"inputs": [X | {"parameters": {"shared_memory_byte_size": 12}}]},
        "'shared_memory_byte_size' can not be specified without 'shared_memory_region'",
    ),
    "a region that is no text": (
        {"inputs": [BINARY | {"parameters": {"shared_memory_region": 5}}]},
        "input 'x': 'shared_memory_region' must be a string",
    ),
    "half of a surrogate pair": (
        {"inputs": [BINARY | {"parameters": _part("\ud800")}]},
        "cannot name shared memory",
    ),
    "data and shared memory": (
        {"inputs": [X | {"parameters": _part("r")}]},
        "both data and shared_memory_region are given",
    ),
    "classes in shared memory": (
        {
            "inputs": [X],
            "outputs": [{"name": "y", "parameters": _part("r") | {"classification": 1}}],
        },
        "can't set both 'shared_memory_region' and 'classification'",
    ),
    "bytes in shared memory": (
        {
            "inputs": [X],
            "outputs": [{"name": "y", "parameters": _part("r") | {"binary_data": True}}],
        },
        "can't set both 'shared_memory_region' and 'binary_data'",
    ),
    "a timeout": ({"inputs": [X], "parameters": {"timeout": "5"}}, "'timeout' must be an integer"),
    "a priority": ({"inputs": [X], "parameters": {"priority": -1}}, "expected 0 or more"),
    "an id": ({"inputs": [X], "id": 5}, "'id' must be a string"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_requests_are_bad_requests(served, kind):
    document, message = WRONG[kind]
    status, answer, _ = _infer(served, document)
    assert status == 400
    assert message in answer["error"]


@pytest.mark.parametrize(
    ("datatype", "values"),
    [
        ("INT8", [1, 2, 128]),
        ("INT32", [1, 2, 1.5]),
        ("UINT8", [1, 2, -1]),
        ("UINT64", [1, 2, -1]),
        ("UINT64", [1, 2, True]),
        ("INT64", [1, 2, 2**63]),
        ("INT64", [1, 2, 2**70]),
        ("BOOL", [1, 0, 1]),
        ("BYTES", ["a", "b", 3]),
        ("BYTES", ["a", "b", "\ud800"]),
        ("FP64", [1, 2, 10**400]),
    ],
)
def test_values_that_a_datatype_does_not_take(served, fresh_name, datatype, values):
    served.serve(fresh_name, identity(datatype))
    row = {"name": "x", "datatype": datatype, "shape": [3], "data": values}
    status, answer, _ = _infer(served, {"inputs": [row]}, fresh_name)
    assert (status, "input 'x'" in answer["error"]) == (400, True)


@pytest.mark.parametrize(
    ("body", "length"),
    [
        (b"no JSON", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
        (json.dumps({"inputs": [X]}).encode() + b"more", None),
        (json.dumps({"inputs": [X]}).encode(), "5"),
        (json.dumps({"inputs": [X]}).encode(), "1000000"),
        (json.dumps({"inputs": [X]}).encode(), "-1"),
        (json.dumps({"inputs": [X]}).encode() + b"more", str(len(json.dumps({"inputs": [X]})))),
    ],
)
def test_bodies_that_are_no_requests(served, body, length):
    headers = {} if length is None else {"Inference-Header-Content-Length": length}
    status, answer, _ = _infer(served, body, headers=headers)
    assert status == 400
    assert answer["error"]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_json_cannot_carry_must_be_asked_for_as_bytes(served, client, value):
    sent = np.array([1, value], np.float32)
    json_only = [triton.InferRequestedOutput("y", binary_data=False)]
    status, message = _refused(client.infer, "identity", _vector(sent), outputs=json_only)
    assert (status, "ask for binary_data" in message) == ("400", True)
    np.testing.assert_array_equal(client.infer("identity", _vector(sent)).as_numpy("y"), sent)


@pytest.mark.filterwarnings("error")
def test_a_signalling_nan_is_refused_as_json_without_a_warning():
    signalling = np.array([0x7F800001], np.uint32).view(np.float32)
    with pytest.raises(InputError, match="ask for binary_data"):
        encode_json("y", signalling)


def test_a_models_strings_that_are_no_text_are_refused_as_json():
    with pytest.raises(InputError, match="not UTF-8"):
        encode_json("y", np.array(["a", "\udcff"], object))


def test_strings_that_are_no_text_must_be_asked_for_as_bytes(served, client, fresh_name):
    served.serve(fresh_name, identity("BYTES"))
    sent = [_tensor("x", np.array([b"\xff"], object), "BYTES")]
    json_only = [triton.InferRequestedOutput("y", binary_data=False)]
    assert "not UTF-8" in _refused(client.infer, fresh_name, sent, outputs=json_only)[1]
    assert client.infer(fresh_name, sent).as_numpy("y").tolist() == [b"\xff"]


def test_unknown_models_paths_and_methods(served, client, fresh_name):
    assert _refused(client.infer, fresh_name, _vector())[0] == "404"
    assert _refused(client.infer, "identity", _vector(), model_version="7")[0] == "404"
    assert _refused(client.get_model_metadata, fresh_name)[0] == "404"
    status, answer, _ = _ask(served.http_url, "GET", "/v2/nothing")
    assert (status, "Not Found" in answer["error"]) == (404, True)
    status, answer, headers = _ask(served.http_url, "GET", "/v2/models/identity/infer")
    assert (status, headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ExecutionError("segment 3: division by zero"), "500", "segment 3"),
        (KeyError("weights"), "500", "KeyError: 'weights'"),
        (CancelledError("the machine closed"), "499", "machine closed"),
    ],
)
def test_failures(served, client, fresh_name, error, status, message):
    served.serve(fresh_name, failing(error))
    got, details = _refused(client.infer, fresh_name, _vector())
    assert got == status
    assert message in details


def test_output_that_the_protocol_cannot_carry(served, client, fresh_name):
    like = identity()
    served.serve(
        fresh_name, Function(lambda _: {"y": np.ones(1, complex)}, like.inputs, like.outputs)
    )
    status, details = _refused(client.infer, fresh_name, _vector())
    assert (status, "output 'y'" in details) == ("500", True)


def test_body_over_the_limit(client, served):
    status, _ = _refused(client.infer, "identity", _vector(np.zeros(3 << 20, np.float32)))
    assert status == "413"
    client.infer("identity", _vector())


def test_a_small_body_that_unpacks_to_a_large_one(served):
    body = gzip.compress(bytes(64 << 20))  # 64 KB
    status, answer, _ = _infer(served, body, headers={"Content-Encoding": "gzip"})
    assert status == 413
    assert answer["error"]


def test_priority_and_timeout_reach_the_executor(served, client, fresh_name):
    executor = served.serve(fresh_name, identity())
    client.infer(fresh_name, _vector(), priority=2)
    client.infer(fresh_name, _vector(), timeout=60_000_000)
    (_, no_deadline, priority), (_, deadline_ns, _) = executor.calls
    assert (no_deadline, priority) == (None, 2)
    assert 0 < deadline_ns - served.server.plane.clock_ns() <= 60 * 10**9


def test_timeout(served, client, fresh_name):
    gate = served.gate(fresh_name)
    status, details = _refused(client.infer, fresh_name, _vector(), timeout=500_000)
    assert (status, "deadline" in details) == ("504", True)
    assert gate.cancelled.acquire(timeout=WAIT_S)


def test_dropped_connection_cancels_the_run(served, fresh_name):
    gate = served.gate(fresh_name)
    connection = http.client.HTTPConnection(served.http_url, timeout=WAIT_S)
    connection.request("POST", f"/v2/models/{fresh_name}/infer", json.dumps({"inputs": [X]}))
    assert gate.entered.acquire(timeout=WAIT_S)
    connection.close()
    assert gate.cancelled.acquire(timeout=WAIT_S)


def _turn_away(plane):
    """As it drains, without waiting for what is in flight."""
    plane._draining = True
    if plane.front is not None:
        plane.front.drain()


def test_full_queue_and_drain(own_server):
    gate = own_server.gate("gate")
    url, path, query = own_server.http_url, "/v2/models/gate/infer", {"inputs": [X]}
    with ThreadPoolExecutor(2) as pool:
        answers = [pool.submit(_ask, url, "POST", path, query) for _ in range(2)]
        for _ in answers:
            assert gate.entered.acquire(timeout=WAIT_S)
        status, answer, _ = _ask(url, "POST", path, query)
        assert (status, "2 queries in flight" in answer["error"]) == (429, True)
        own_server.call(_turn_away, own_server.server.plane)
        assert _ask(url, "GET", "/v2/health/live")[0] == 200
        assert _ask(url, "GET", "/v2/health/ready")[0] == 400
        assert _ask(url, "POST", path, query)[0] == 503
        own_server.call(gate.open.set)
        assert [answer.result()[0] for answer in answers] == [200, 200]


def test_both_faces_answer_from_one_plane(served, client, fresh_name):
    import tritonclient.grpc

    served.serve(fresh_name, identity())
    client.infer(fresh_name, _vector())
    with tritonclient.grpc.InferenceServerClient(served.url) as other:
        (row,) = other.get_inference_statistics(fresh_name).model_stats
    assert row.inference_count == 1
