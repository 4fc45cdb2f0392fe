"""REST by the native front end: real models, answered without Python, and as Python answers."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
import tritonclient.http as triton
from onnx import helper

import surplus
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.server_params import FrontEnd
from surplus.engine.values import elem_type_of
from tests.serving.fakes import WAIT_S
from tests.serving.test_native_front import load, saved

DOCUMENTS = {
    "FP32": [1, -2.5, 0.1, 3e38, 1e-45, -0.0, 16777217, 123456789.123],
    "FP64": [1, -2.5, 0.1, 1e300, 5e-324, -0.0, 9007199254740993, 1e22],
    "INT8": [-128, 127, 0, 1, 2, 3, 4, 5],
    "INT64": [-(2**63), 2**63 - 1, 0, 1, 2, 3, 4, 5],
    "UINT8": [0, 255, 1, 2, 3, 4, 5, 6],
    "UINT64": [0, 2**63 - 1, 1, 2, 3, 4, 5, 6],
}
IN_DOCUMENTS = sorted(DATATYPES.keys() - {"FP16", "BF16"})


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, surplus.Model]:
    """A model of each datatype: ``y`` is ``x`` of any width."""
    folder = tmp_path_factory.mktemp("rest")
    made = {}
    for name, datatype in DATATYPES.items():
        code = elem_type_of(datatype.dtype)
        x, y = (helper.make_tensor_value_info(port, code, ["n", "m"]) for port in "xy")
        node = helper.make_node("Identity", ["x"], ["y"])
        made[name] = load(saved(folder / f"{name}.onnx", node, [x], [y]))
    return made


@pytest.fixture(scope="module")
def servers(models: dict[str, surplus.Model]) -> Iterator[dict[str, surplus.Server]]:
    """One of each front end."""
    with (
        surplus.Server(models, port=0, http_port=0, front_end=FrontEnd.NATIVE) as native,
        surplus.Server(models, port=0, http_port=0, front_end=FrontEnd.PYTHON) as python,
    ):
        yield {"native": native, "python": python}


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


def _post(server: surplus.Server, model: str, body: bytes, **headers: str) -> tuple[Any, ...]:
    """Status, the headers that say something, and body."""
    assert server.http_address is not None
    with closing(http.client.HTTPConnection(server.http_address, timeout=WAIT_S)) as connection:
        connection.request("POST", f"/v2/models/{model}/infer", body, headers)
        answer = connection.getresponse()
        kept = ("Content-Type", "Content-Length", "Inference-Header-Content-Length", "Retry-After")
        return answer.status, [answer.headers[name] for name in kept], answer.read()


def _both(servers: dict[str, surplus.Server], *arguments: Any, **headers: str) -> tuple[Any, ...]:
    native = _post(servers["native"], *arguments, **headers)
    assert native == _post(servers["python"], *arguments, **headers)
    return native


def _document(datatype: str, values: list, shape: list[int], **members: Any) -> bytes:
    row = {"name": "x", "datatype": datatype, "shape": shape, "data": values}
    return json.dumps({"inputs": [row], **members}).encode()


@pytest.mark.parametrize("repeats", [1, 8])  # few numbers are read otherwise than many in Python
@pytest.mark.parametrize("datatype", DOCUMENTS)
def test_numbers_in_documents(
    datatype: str, repeats: int, servers: dict[str, surplus.Server], python_queries: list[str]
) -> None:
    values = DOCUMENTS[datatype] * repeats
    body = _document(datatype, values, [2, 4 * repeats], id="a-1")
    status, _, answered = _both(servers, datatype, body)
    assert (status, json.loads(answered)["id"]) == (200, "a-1")
    assert python_queries == [datatype]  # the other server's


@pytest.mark.parametrize("datatype", DATATYPES)
@pytest.mark.parametrize("as_bytes", [True, False])
def test_bytes(
    datatype: str, as_bytes: bool, servers: dict[str, surplus.Server], python_queries: list[str]
) -> None:
    values = np.array([[1, 0, 1, 1, 0]])
    raw = values.astype(DATATYPES[datatype].dtype).tobytes()
    if datatype == "BYTES":
        texts = ["", "plain", "größe €", '\U0001f600 "\\\n', "\x01\x7f"]
        raw = b"".join(len(t.encode()).to_bytes(4, "little") + t.encode() for t in texts)
    row = {"name": "x", "datatype": datatype, "shape": [1, 5]}
    head = json.dumps(
        {
            "inputs": [{**row, "parameters": {"binary_data_size": len(raw)}}],
            "outputs": [{"name": "y", "parameters": {"binary_data": as_bytes}}],
        }
    ).encode()
    length = {"Inference-Header-Content-Length": str(len(head))}
    status, _, answered = _both(servers, datatype, head + raw, **length)
    assert status == 200
    assert not as_bytes or answered.endswith(raw)
    if as_bytes or datatype in IN_DOCUMENTS:
        assert python_queries == [datatype]


def test_large_tensors(servers: dict[str, surplus.Server], python_queries: list[str]) -> None:
    sent = np.random.default_rng(0).standard_normal((3, 100_000)).astype(np.float32)
    with triton.InferenceServerClient(servers["native"].http_address) as client:
        given = triton.InferInput("x", [3, 100_000], "FP32")
        for binary in (True, False):
            given.set_data_from_numpy(sent, binary_data=True)
            wanted = [triton.InferRequestedOutput("y", binary_data=binary)]
            answer = client.infer("FP32", [given], outputs=wanted)
            np.testing.assert_array_equal(answer.as_numpy("y"), sent)
    assert python_queries == []


WRONG = {
    "too few": ("FP32", _document("FP32", [1], [1, 2])),
    "out of range": ("INT8", _document("INT8", [128], [1, 1])),
    "not whole": ("INT8", _document("INT8", [1.5], [1, 1])),
    "negative": ("UINT64", _document("UINT64", [-1], [1, 1])),
    "too large": ("FP32", _document("FP32", [1e39], [1, 1])),
    "another type": ("FP32", _document("FP64", [1], [1, 1])),
    "of another rank": ("FP32", _document("FP32", [1], [1])),
    "an unknown output": ("FP32", _document("FP32", [1], [1, 1], outputs=[{"name": "z"}])),
    "an unknown model": ("nobody", _document("FP32", [1], [1, 1])),
    "no document": ("FP32", b"\xff"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_said_in_the_same_words(
    kind: str, servers: dict[str, surplus.Server]
) -> None:
    status, _, body = _both(servers, *WRONG[kind])
    assert status in (400, 404)
    assert json.loads(body)["error"]


def test_what_json_cannot_carry(servers: dict[str, surplus.Server]) -> None:
    raw = np.array([[np.nan]], np.float32).tobytes()
    row = {"name": "x", "datatype": "FP32", "shape": [1, 1]}
    head = json.dumps({"inputs": [{**row, "parameters": {"binary_data_size": 4}}]}).encode()
    length = {"Inference-Header-Content-Length": str(len(head))}
    status, _, body = _both(servers, "FP32", head + raw, **length)
    assert (status, b"ask for binary_data" in body) == (400, True)


@pytest.mark.parametrize(
    "target", ["/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/FP32", "/v2/%20", "/"]
)
def test_all_else_is_pythons_answer(target: str, servers: dict[str, surplus.Server]) -> None:
    found = {}
    for name, server in servers.items():
        assert server.http_address is not None
        with closing(http.client.HTTPConnection(server.http_address, timeout=WAIT_S)) as connection:
            connection.request("GET", target)
            answer = connection.getresponse()
            found[name] = answer.status, answer.headers["Content-Type"], answer.read()
    assert found["native"] == found["python"]


def test_one_port_for_all(models: dict[str, surplus.Model], python_queries: list[str]) -> None:
    sent = np.ones((1, 3), np.float32)
    with surplus.Server({"FP32": models["FP32"]}, port=0, one_port=True) as server:
        assert server.http_address == server.address
        for module in (tritonclient.http, tritonclient.grpc):
            given = module.InferInput("x", [1, 3], "FP32")
            given.set_data_from_numpy(sent)
            with module.InferenceServerClient(server.address) as client:
                assert client.is_server_live()
                assert client.is_server_ready()
                np.testing.assert_array_equal(client.infer("FP32", [given]).as_numpy("y"), sent)
    assert python_queries == []


def test_requests_in_a_row_over_one_connection(servers: dict[str, surplus.Server]) -> None:
    """Of queries that take their turn here and in Python."""
    address = servers["native"].http_address
    assert address is not None
    host, port = address.split(":")
    plain = _document("FP32", [1.5], [1, 1], id="plain")
    odd = _document("FP32", [1.5], [1, 1], id="ödd")
    with socket.create_connection((host, int(port)), timeout=WAIT_S) as connection:
        for body in (plain, odd) * 20:
            head = f"POST /v2/models/FP32/infer HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
        stream = connection.makefile("rb")
        ids = []
        while len(ids) < 40:
            length = 0
            while (line := stream.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            ids.append(json.loads(stream.read(length))["id"])
    assert ids == ["plain", "ödd"] * 20
