"""What Prometheus reads: of each front end the same, and the same as statistics say."""

from __future__ import annotations

import asyncio
import http.client
import shutil
import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
from prometheus_client.parser import text_string_to_metric_families
from tritonclient.utils import InferenceServerException

from surplus.engine.errors import ConfigError, QueueFullError, RefusedError
from surplus.engine.serving.metrics.catalogue import CATALOGUE, PROCESS
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from tests.serving.fakes import WAIT_S, ServerThread, failing, identity, tensor

ONE = {"model": "identity", "version": "1"}


@pytest.fixture(params=[FrontEnd.NATIVE, FrontEnd.PYTHON])
def server(request: pytest.FixtureRequest) -> Iterator[ServerThread]:
    """Its models are in Python: whoever answers HTTP, the data plane runs their queries."""
    thread = ServerThread(
        ServerParams(grpc_port=0, http_port=0, metrics_port=0, front_end=request.param)
    )
    thread.serve("identity", identity())
    yield thread
    thread.stop()


@pytest.fixture
def client(server: ServerThread) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(server.url) as client:
        yield client


def got(port: int | None, path: str) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port or 0, timeout=WAIT_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read()
    finally:
        connection.close()


def scraped(server: ServerThread, path: str = "/metrics") -> dict[str, list[Any]]:
    """Samples by name."""
    status, content_type, text = got(server.server.metrics_port, path)
    assert (status, content_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    found: dict[str, list[Any]] = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            # The parser adds to counters what Triton's have not.
            triton_name = sample.name.removesuffix("_total")
            name = triton_name if triton_name.startswith("nv_") else sample.name
            found.setdefault(name, []).append(sample)
    return found


def value(found: dict[str, list[Any]], name: str, **labels: str) -> float:
    (sample,) = [one for one in found[name] if labels.items() <= one.labels.items()]
    return float(sample.value)


def ask(client: triton.InferenceServerClient, model: str = "identity", **options: Any) -> None:
    x = np.arange(4, dtype=np.float32)
    client.infer(model, [tensor("x", x, "FP32")], **options)


def test_counts_are_those_of_the_statistics(
    server: ServerThread, client: triton.InferenceServerClient
) -> None:
    for _ in range(3):
        ask(client)
    found = scraped(server)
    (row,) = client.get_inference_statistics("identity").model_stats
    stats = row.inference_stats
    for name, wanted in {
        "nv_inference_request_success": 3,
        "nv_inference_count": 3,
        "nv_inference_exec_count": row.execution_count,
        "nv_inference_request_duration_us": stats.success.ns // 1000,
        "nv_inference_queue_duration_us": stats.queue.ns // 1000,
        "nv_inference_compute_input_duration_us": stats.compute_input.ns // 1000,
        "nv_inference_compute_infer_duration_us": stats.compute_infer.ns // 1000,
        "nv_inference_compute_output_duration_us": stats.compute_output.ns // 1000,
        "nv_inference_pending_request_count": 0,
        "surplus_model_ready": 1,
        "surplus_request_duration_seconds_count": 3,
        "surplus_batch_size_sum": 3,
    }.items():
        assert value(found, name, **ONE) == wanted, name
    assert value(found, "surplus_request_duration_seconds_sum", **ONE) == pytest.approx(
        stats.success.ns / 1e9
    )


def test_histograms_rise_to_their_counts(
    server: ServerThread, client: triton.InferenceServerClient
) -> None:
    ask(client)
    found = scraped(server)
    for name in ("request_duration", "queue_duration", "compute_duration"):
        buckets = found[f"surplus_{name}_seconds_bucket"]
        counts = [bucket.value for bucket in buckets]
        bounds = [float(bucket.labels["le"]) for bucket in buckets]
        assert (bounds, counts) == (sorted(bounds), sorted(counts))
        assert bounds[0] == 16e-6
        assert bounds[-1] == float("inf")
        assert counts[-1] == value(found, f"surplus_{name}_seconds_count", **ONE) == 1


@pytest.mark.parametrize(
    ("executor", "reason", "ours"),
    [
        (failing(RefusedError("late", 1)), "REJECTED", "refused"),
        (failing(QueueFullError("full")), "REJECTED", "queue_full"),
        (failing(RuntimeError("broken")), "BACKEND", ""),
    ],
)
def test_failures_have_reasons(
    server: ServerThread,
    client: triton.InferenceServerClient,
    executor: Any,
    reason: str,
    ours: str,
) -> None:
    server.serve("bad", executor)
    with pytest.raises(InferenceServerException):
        ask(client, "bad")
    found = scraped(server)
    for one in ("REJECTED", "CANCELED", "BACKEND", "OTHER"):
        failed = value(found, "nv_inference_request_failure", model="bad", reason=one)
        assert failed == (one == reason)
    refused = {
        sample.labels["reason"]: sample.value
        for sample in found["surplus_requests_refused_total"]
        if sample.labels["model"] == "bad"
    }
    assert {name for name, count in refused.items() if count} == ({ours} if ours else set())


def test_what_was_not_in_time_is_a_miss(
    server: ServerThread, client: triton.InferenceServerClient
) -> None:
    server.gate("slow")
    with pytest.raises(InferenceServerException):
        ask(client, "slow", timeout=1000)
    found = scraped(server)
    assert value(found, "surplus_deadline_misses_total", model="slow", outcome="ended") == 1


def test_every_metric_is_in_the_catalogue_and_the_other_way_round(
    server: ServerThread, client: triton.InferenceServerClient
) -> None:
    ask(client)
    text = got(server.server.metrics_port, "/metrics")[2].decode()
    kinds = {
        line.split()[2]: line.split()[3] for line in text.splitlines() if line.startswith("# TYPE")
    }
    known = {one.name: one.kind for one in CATALOGUE} | dict(PROCESS)
    assert kinds == known


def test_a_model_that_was_unloaded_goes_on_counting_and_is_not_missed(
    server: ServerThread, client: triton.InferenceServerClient
) -> None:
    ask(client)
    served = server.server.plane.models.find("identity")
    server.call(served.release)
    found = scraped(server)
    assert "surplus_model_ready" not in found
    assert value(found, "surplus_request_duration_seconds_count", **ONE) == 1
    server.call(served.set_ready, identity())
    ask(client)
    found = scraped(server)
    assert value(found, "surplus_model_ready", **ONE) == 1
    for name in ("surplus_request_duration_seconds_count", "nv_inference_request_success"):
        assert value(found, name, **ONE) == 2


def test_both_ports_answer_and_only_rest_is_asked_queries(server: ServerThread) -> None:
    for port in (server.server.metrics_port, server.server.http_port):
        assert got(port, "/metrics")[0] == 200
        assert got(port, "/v2/surplus/top")[0] == 200
        assert got(port, "/status")[1] == "text/html; charset=utf-8"
    assert got(server.server.metrics_port, "/v2/models/identity")[0] == 404
    assert got(server.server.http_port, "/v2/models/identity")[0] == 200


def test_a_prefix_leaves_the_others_out(server: ServerThread) -> None:
    found = scraped(server, "/metrics?prefix=surplus_,process_")
    assert {name.partition("_")[0] for name in found} == {"surplus", "process"}


def test_no_metrics_means_none() -> None:
    server = ServerThread(ServerParams(grpc_port=0, http_port=0, metrics=False))
    try:
        assert server.server.metrics_port is None
        assert got(server.server.http_port, "/metrics")[0] == 404
        assert got(server.server.http_port, "/status")[0] == 200
    finally:
        server.stop()


def test_a_port_that_is_taken_is_an_error_or_said(
    server: ServerThread, caplog: pytest.LogCaptureFixture
) -> None:
    taken = server.server.metrics_port

    async def start() -> None:
        await AsyncServer(ServerParams(grpc_port=0, metrics_port=taken)).start()

    with pytest.raises(ConfigError, match="cannot listen on"):
        asyncio.run(start())
    with caplog.at_level("WARNING"):
        other = ServerThread(
            ServerParams(grpc_port=0, metrics_port=taken, needs_metrics_port=False)
        )
    try:
        assert other.server.metrics_port is None
        assert "--metrics-port" in caplog.text
    finally:
        other.stop()


def test_a_port_of_queries_is_none_of_metrics(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValueError, match=r"metrics_port is 8002, which is gRPC's or HTTP's"):
        ServerParams(grpc_port=8002, metrics_port=8002)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with caplog.at_level("WARNING"):
        server = ServerThread(
            ServerParams(grpc_port=port, metrics_port=port, needs_metrics_port=False)
        )
    try:
        assert (server.port, server.server.metrics_port) == (port, None)
        assert f"no port for metrics: port {port} is for queries" in caplog.text
    finally:
        server.stop()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs Debian's prometheus")
def test_promtool_objects_to_nothing_but_tritons_names(
    server: ServerThread, client: triton.InferenceServerClient
) -> None:
    ask(client)

    def check(path: str) -> tuple[int, list[str]]:
        text = got(server.server.metrics_port, path)[2]
        done = subprocess.run(
            ["promtool", "check", "metrics"], input=text, capture_output=True, check=False
        )
        return done.returncode, done.stderr.decode().splitlines()

    assert check("/metrics?prefix=surplus_,process_") == (0, [])
    _, said = check("/metrics")
    assert said, "Triton ends no counter with _total, and counts in us"
    assert all(line.startswith("nv_inference_") for line in said)
