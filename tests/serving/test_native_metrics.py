"""What is counted of queries that the native front end answers without Python."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
from prometheus_client.parser import text_string_to_metric_families
from tritonclient.utils import InferenceServerException

import surplus
from surplus import models
from tests.serving.fakes import WAIT_S, tensor

INPUTS = models.example_inputs("lenet")
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACE_PARENT = f"00-{TRACE_ID}-00f067aa0ba902b7-01"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[surplus.Server]:
    folder = tmp_path_factory.mktemp("metrics")
    path = models.save(models.build("lenet"), folder / "lenet.onnx")
    model = surplus.load(path, "cpu:1", cache=folder / "cache", selection_s=0)
    with surplus.Server({"numerals": model}, port=0, http_port=0, metrics_port=0) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: surplus.Server) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(server.address) as client:
        yield client


def ask(client: triton.InferenceServerClient, **options: Any) -> None:
    inputs = [tensor(name, array, "FP32") for name, array in INPUTS.items()]
    client.infer("numerals", inputs, **options)


def get(server: surplus.Server, path: str) -> tuple[int, bytes]:
    assert server.http_address is not None
    connection = http.client.HTTPConnection(server.http_address, timeout=WAIT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_program_is_told_the_port_of_metrics(server: surplus.Server) -> None:
    assert server.metrics_address is not None
    assert server.metrics_address != server.http_address
    connection = http.client.HTTPConnection(server.metrics_address, timeout=WAIT_S)
    connection.request("GET", "/metrics")
    assert b"surplus_model_ready" in connection.getresponse().read()
    connection.close()


def scraped(server: surplus.Server) -> dict[tuple[str, ...], float]:
    text = get(server, "/metrics")[1].decode()
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def count(found: dict[tuple[str, ...], float], name: str) -> float:
    return sum(value for key, value in found.items() if key[0] == name)


def test_each_query_is_in_each_histogram_once(
    server: surplus.Server, client: triton.InferenceServerClient
) -> None:
    before = scraped(server)
    for _ in range(100):
        ask(client)
    after = scraped(server)
    for name in (
        "surplus_request_duration_seconds_count",
        "surplus_queue_duration_seconds_count",
        "surplus_compute_duration_seconds_count",
        "nv_inference_request_success_total",
    ):
        assert count(after, name) - count(before, name) == 100
    seconds = [
        count(after, f"surplus_{part}_duration_seconds_sum")
        - count(before, f"surplus_{part}_duration_seconds_sum")
        for part in ("request", "queue", "compute")
    ]
    assert 0 <= seconds[1] + seconds[2] <= seconds[0]
    assert seconds[2] > 0
    assert count(after, "surplus_lane_busy_seconds_total") > count(
        before, "surplus_lane_busy_seconds_total"
    )


def test_a_model_that_is_offered_anew_goes_on_counting(
    server: surplus.Server, client: triton.InferenceServerClient
) -> None:
    ask(client)
    before = count(scraped(server), "surplus_request_duration_seconds_count")
    assert server._server is not None
    (served,) = server._server.plane.models
    served.on_change()  # which offers it anew, as a reload does
    ask(client)
    assert count(scraped(server), "surplus_request_duration_seconds_count") == before + 1


def test_queries_that_were_not_in_time_are_misses(
    server: surplus.Server, client: triton.InferenceServerClient
) -> None:
    before = scraped(server)
    for _ in range(5):
        with pytest.raises(InferenceServerException):
            ask(client, timeout=1)
    after = scraped(server)
    ended = ("surplus_deadline_misses_total", "numerals", "ended", "1")
    refused = ("surplus_requests_refused_total", "numerals", "refused", "1")
    told = sum(after[key] - before[key] for key in (ended, refused))
    assert told == 5


def names_of(trace: dict[str, Any]) -> list[str]:
    return [event["name"] for event in trace["traceEvents"] if event["ph"] == "X"]


def test_a_query_is_found_by_its_id(
    server: surplus.Server, client: triton.InferenceServerClient
) -> None:
    ask(client, request_id="mine")
    ask(client, request_id="other")
    status, body = get(server, "/v2/surplus/trace?id=mine")
    trace = json.loads(body)
    assert (status, trace["otherData"]["id"]) == (200, "mine")
    assert trace["otherData"]["run"] == "recorded"
    assert {"request", "decode", "execute", "encode", "service"} <= set(names_of(trace))
    whole = next(event for event in trace["traceEvents"] if event["name"] == "request")
    within = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert all(-1e-3 <= event["ts"] <= whole["dur"] for event in within)


def test_a_query_is_found_by_its_trace(
    server: surplus.Server, client: triton.InferenceServerClient
) -> None:
    ask(client, headers={"traceparent": TRACE_PARENT})
    status, body = get(server, f"/v2/surplus/trace?trace_id={TRACE_ID}")
    assert (status, json.loads(body)["otherData"]["trace_parent"]) == (200, TRACE_PARENT)


def test_rest_says_traces_and_ids_too(server: surplus.Server) -> None:
    inputs = [
        {"name": name, "shape": array.shape, "datatype": "FP32", "data": np.ravel(array).tolist()}
        for name, array in INPUTS.items()
    ]
    asked = {"id": "by rest", "inputs": inputs}
    assert server.http_address is not None
    connection = http.client.HTTPConnection(server.http_address, timeout=WAIT_S)
    headers = {"traceparent": TRACE_PARENT.replace("4bf9", "aaaa")}
    connection.request("POST", "/v2/models/numerals/infer", json.dumps(asked), headers)
    assert connection.getresponse().status == 200
    connection.close()
    found = json.loads(get(server, "/v2/surplus/trace?id=by%20rest")[1])["otherData"]
    assert found["trace_id"] == TRACE_ID.replace("4bf9", "aaaa")


def test_the_next_query_is_waited_for(
    server: surplus.Server, client: triton.InferenceServerClient
) -> None:
    assert server.http_address is not None
    ask(client, request_id="before")
    waiting = http.client.HTTPConnection(server.http_address, timeout=WAIT_S)
    waiting.request("GET", "/v2/surplus/trace?model=numerals&next_s=30")
    for _ in range(1000):  # until the server has heard of the wait, one more is not the next
        ask(client, request_id="next")
        if _has_come(waiting):
            break
    answer = waiting.getresponse()
    assert json.loads(answer.read())["otherData"]["id"] == "next"
    waiting.close()


def _has_come(connection: http.client.HTTPConnection) -> bool:
    import select

    return bool(select.select([connection.sock], [], [], 0.01)[0])


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("", 400, "say which query"),
        ("colour=red", 400, "say which query"),
        ("id=nobody", 404, "no query with id 'nobody' is among the last ones"),
        ("model=numerals&next_s=soon", 400, "next_s must be above 0, at most 60, got 'soon'"),
        ("model=numerals&next_s=61", 400, "next_s must be above 0"),
        ("model=nobody&next_s=0.05", 504, "no such query came within 0.05 s"),
    ],
)
def test_wrong_questions(server: surplus.Server, words: str, status: int, says: str) -> None:
    found, body = get(server, f"/v2/surplus/trace?{words}")
    assert (found, json.loads(body)["error"][: len(says)]) == (status, says)


def test_the_timeline_has_what_ran(
    server: surplus.Server, client: triton.InferenceServerClient
) -> None:
    for _ in range(3):
        ask(client)
    machines = json.loads(get(server, "/v2/surplus/timeline?window_s=600")[1])["machines"]
    machine = next(machine for machine in machines if "numerals" in machine["models"])
    assert machine["devices"] == [{"name": "cpu", "lanes": 1}]
    assert "numerals" in machine["models"]
    ends = [start_ns + took_ns for _, _, _, start_ns, took_ns, *_ in machine["spans"]]
    assert len(ends) >= 3
    assert 0 < max(ends) <= machine["now_ns"] - machine["since_ns"]
    assert get(server, "/v2/surplus/timeline?window_s=1e9")[0] == 400


def test_the_summary_counts_as_the_metrics_do(
    server: surplus.Server, client: triton.InferenceServerClient
) -> None:
    ask(client)
    (model,) = json.loads(get(server, "/v2/surplus/server")[1])["models"]
    found = scraped(server)
    assert model["answered"] == count(found, "nv_inference_request_success_total")
    assert 0 < model["duration_s"]["p50"] <= model["duration_s"]["p99"]


def test_memory_is_told_by_kind(server: surplus.Server) -> None:
    found = scraped(server)
    whole = sum(value for name, value in found.items() if name[0] == "surplus_memory_bytes")
    assert whole == pytest.approx(found["process_resident_memory_bytes",], rel=0.05)
    assert found["nv_cpu_memory_used_bytes",] < found["nv_cpu_memory_total_bytes",]
