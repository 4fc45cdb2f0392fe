"""What both faces say of rates and late queries, which the protocol has no words for."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2

import surplus
from surplus.engine.serving.messages import TAILS, message_type
from tests.late_server import late_server
from tests.serving.fakes import WAIT_S

LATE = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[surplus.Server]:
    with late_server(tmp_path_factory.mktemp("tails"), "tardy", LATE) as server:
        yield server


def _get(server: surplus.Server, path: str) -> tuple[int, Any]:
    assert server.http_address is not None
    connection = http.client.HTTPConnection(server.http_address, timeout=WAIT_S)
    try:
        connection.request("GET", f"/v2/surplus/{path}")
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def _call(server: surplus.Server, name: str, **fields: Any) -> Any:
    with grpc.insecure_channel(server.address) as channel:
        call = channel.unary_unary(
            f"/{TAILS}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_type("TailsDocument", "surplus").FromString,
        )
        request = message_type(f"{name}Request", "surplus")(**fields)
        return json.loads(call(request, timeout=WAIT_S).json)


def _tardy(document: Any) -> Any:
    rows = [row for machine in document["machines"] for row in machine["models"]]
    (found,) = [row for row in rows if row["model"] == "tardy"]
    return found


def test_both_faces_say_what_models_are_asked(server: surplus.Server) -> None:
    status, over_http = _get(server, "top?window_s=600")
    assert status == 200
    for document in (over_http, _call(server, "Top", window_s=600)):
        row = _tardy(document)
        assert (row["queries"], row["misses"], row["due_after_ns"]) == (LATE, LATE, 1_000)
        assert row["latency_ns"]["p50"] > 0
    assert _tardy(_get(server, "top")[1])["queries"] <= LATE


def test_both_faces_say_why_queries_were_late(server: surplus.Server) -> None:
    status, over_http = _get(server, "late?model=tardy&window_s=600")
    assert status == 200
    for document in (over_http, _call(server, "Late", model="tardy", window_s=600)):
        (row,) = document["models"]
        assert (row["model"], row["late"], row["unknown"]) == ("tardy", LATE, 0)
        assert row["sentences"] == [
            f"100 % of tardy's {LATE} misses take longer by themselves than they may"
            f" ({row['causes'][0]['waited_ns'] / LATE / 1e6:.3g} ms on the mean)"
        ]
        for query in row["queries"]:
            took_ns = query["end_ns"] - query["begun_ns"]
            assert sum(part["ns"] for part in query["parts"]) == took_ns
            assert query["stretches"][-1]["end_ns"] == took_ns


def test_both_faces_draw_late_queries(server: surplus.Server) -> None:
    traces = (
        _get(server, "late?model=tardy&window_s=600&format=perfetto")[1],
        _call(server, "Late", model="tardy", window_s=600, perfetto=True),
    )
    for trace in traces:
        names = [event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"
                 and event["name"] == "thread_name"]  # fmt: skip
        assert names.count("why it was late") == LATE
        assert [event["name"] for event in trace["traceEvents"]].count("due") == LATE


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("top?window_s=soon", 400, "window_s must be a number above 0, got 'soon'"),
        ("top?window_s=0", 400, "window_s must be a number above 0, got '0'"),
        ("top?window_s=nan", 400, "window_s must be a number above 0, got 'nan'"),
        ("top?window_s=1e9", 400, "the window must be above 0, at most 3600 s, got 1000000000.0"),
        ("late?model=nobody", 404, "no model is called 'nobody'; there are"),
        ("late?format=svg", 400, "format must be json or perfetto, got 'svg'"),
    ],
)
def test_wrong_questions_over_http(
    server: surplus.Server, path: str, status: int, says: str
) -> None:
    found, document = _get(server, path)
    assert (found, document["error"][: len(says)]) == (status, says)


def test_wrong_questions_over_grpc(server: surplus.Server) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        _call(server, "Late", model="nobody")
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    with pytest.raises(grpc.RpcError) as caught:
        _call(server, "Top", window_s=-1)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_checked_in_descriptors_of_tails_are_current(tmp_path: Path) -> None:
    protoc = pytest.importorskip("grpc_tools.protoc")
    from importlib.resources import files

    folder = files("surplus.engine.serving")
    target = tmp_path / "current.binpb"
    command = ["protoc", f"-I{folder}", f"--descriptor_set_out={target}", "tails.proto"]
    assert protoc.main(command) == 0
    current, checked_in = (
        descriptor_pb2.FileDescriptorSet.FromString(data)
        for data in (target.read_bytes(), folder.joinpath("tails.binpb").read_bytes())
    )
    assert checked_in == current, "compile tails.proto again, its first lines say how"
