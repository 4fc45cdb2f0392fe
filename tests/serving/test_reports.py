"""What is told of single queries: spans that go on with their clients' traces, lines of the log."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tritonclient.utils import InferenceServerException

import surplus
from surplus import models
from surplus.engine.errors import RefusedError
from surplus.engine.runtime.served_alone import ServedAlone
from surplus.engine.serving.model_executor import ModelExecutor
from surplus.engine.serving.reporting.report_params import ReportParams
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from surplus.engine.serving.trouble import Trouble
from tests.serving.fakes import ServerThread, failing, identity, tensor

TRACE_ID, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
RECORDED, NOT_RECORDED = f"00-{TRACE_ID}-{PARENT}-01", f"00-{TRACE_ID}-{PARENT}-00"


class Collector:
    """An OpenTelemetry collector that keeps what it gets."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[Any] = []
        self.paths: set[str] = set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.take(self.path, ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Not to the tests' output."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def take(self, path: str, request: Any) -> None:
        self.paths.add(path)
        for resource in request.resource_spans:
            self.resources.append(resource.resource)
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.stop()


def texts(attributes: Any) -> dict[str, str]:
    return {one.key: one.value.string_value for one in attributes}


@contextmanager
def served(params: ReportParams, front_end: FrontEnd = FrontEnd.NATIVE) -> Iterator[ServerThread]:
    """At its end the server tells of what is left."""
    server = ServerThread(ServerParams(grpc_port=0, front_end=front_end, reports=params))
    try:
        server.serve("identity", identity())
        yield server
    finally:
        server.stop()


def ask(server: ServerThread, count: int, **options: Any) -> None:
    x = np.arange(4, dtype=np.float32)
    with triton.InferenceServerClient(server.url) as client:
        for _ in range(count):
            client.infer("identity", [tensor("x", x, "FP32")], **options)


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_a_query_is_a_span_of_its_clients_trace(collector: Collector, front_end: FrontEnd) -> None:
    with served(ReportParams(collector.url, every=0), front_end) as server:
        ask(server, 1)
        ask(server, 1, request_id="mine", headers={"traceparent": RECORDED})
        ask(server, 1, headers={"traceparent": NOT_RECORDED})
    (whole,) = [span for span in collector.spans if span.name == "infer identity"]
    assert whole.trace_id.hex() == TRACE_ID
    assert whole.parent_span_id.hex() == PARENT
    told = texts(whole.attributes)
    assert (told["surplus.model"], told["surplus.request_id"]) == ("identity", "mine")
    parts = {span.name: span for span in collector.spans if span.parent_span_id == whole.span_id}
    assert {"decode", "compute", "encode"} <= set(parts)
    assert parts["decode"].start_time_unix_nano == whole.start_time_unix_nano
    assert parts["encode"].end_time_unix_nano == whole.end_time_unix_nano
    assert collector.paths == {"/v1/traces"}
    assert texts(collector.resources[0].attributes)["service.name"] == "surplus"


def test_one_of_so_many_is_a_span_whoever_asks(collector: Collector) -> None:
    with served(ReportParams(collector.url, every=4)) as server:
        ask(server, 9)
    assert len([span for span in collector.spans if not span.parent_span_id]) == 3


def test_what_was_not_answered_is_an_error(collector: Collector) -> None:
    with served(ReportParams(collector.url, every=1)) as server:
        server.serve("bad", failing(RefusedError("late", 1)))
        with (
            triton.InferenceServerClient(server.url) as client,
            pytest.raises(InferenceServerException),
        ):
            client.infer("bad", [tensor("x", np.zeros(4, np.float32), "FP32")])
    (whole,) = [span for span in collector.spans if span.name == "infer bad"]
    assert (whole.status.code, whole.status.message) == (2, Trouble.REFUSED)


def test_a_collector_that_is_not_there_holds_nobody_up() -> None:
    with served(ReportParams("http://127.0.0.1:9", every=1)) as server:
        ask(server, 3)


def test_a_line_of_the_log_says_what_became_of_a_query(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with served(ReportParams(every=2, logs=True)) as server:
        ask(server, 3, request_id="mine", headers={"traceparent": RECORDED})
    lines = [one for one in caplog.records if one.name.endswith("query_log")]
    assert len(lines) == 2, "a trace that is recorded is no reason to log"
    found = vars(lines[0])
    assert (found["model"], found["id"], found["outcome"]) == ("identity", "mine", "ok")
    parts = found["decode_ms"] + found["execute_ms"] + found["encode_ms"]
    assert parts == pytest.approx(found["took_ms"], abs=1e-3)
    assert f"id=mine trace_id={TRACE_ID} outcome=ok" in lines[0].getMessage()


def test_queries_of_the_front_end_are_told_of_too(
    collector: Collector, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    path = models.save(models.build("lenet"), tmp_path / "lenet.onnx")
    model = surplus.load(path, "cpu:1", cache=tmp_path / "cache", selection_s=0)
    with served(ReportParams(collector.url, every=0, logs=True)) as server:
        server.serve("digits", server.call(_executor, model))
        inputs = [tensor(n, a, "FP32") for n, a in models.example_inputs("lenet").items()]
        with triton.InferenceServerClient(server.url) as client:
            client.infer("digits", inputs, headers={"traceparent": RECORDED})
    (whole,) = [span for span in collector.spans if span.name == "infer digits"]
    assert whole.trace_id.hex() == TRACE_ID
    assert "model=digits" in caplog.text


def _executor(model: Any) -> Any:
    return ModelExecutor(ServedAlone(model._planned, "digits"))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"otlp": "collector:4318"}, "must be http://HOST:PORT"),
        ({"otlp": "http://"}, "must be http://HOST:PORT"),
        ({"every": -1}, "every is -1, must be at least 0"),
    ],
)
def test_wrong_params_are_refused(wrong: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        ReportParams(**wrong)


def test_a_path_of_a_collector_is_kept() -> None:
    assert ReportParams("http://h:4318/").traces_url == "http://h:4318/v1/traces"
    assert ReportParams("https://h/otlp/traces").traces_url == "https://h/otlp/traces"
