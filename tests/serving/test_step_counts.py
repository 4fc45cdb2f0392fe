"""What is counted of models that are steps of ensembles, as clients and Prometheus see it."""

from __future__ import annotations

import http.client

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from prometheus_client.parser import text_string_to_metric_families

from surplus.engine.serving.server_params import FrontEnd
from tests.ensembles.steps import SCALE, rows
from tests.serving.live_server import live_server
from tests.serving.test_ensembles import (
    ENSEMBLE,
    RESHAPED,
    asked,
    repository,
    served_repository,
)
from tests.serving.test_live_ensembles import BOTH, OUTER, write

TWICE = """
platform: "ensemble"
max_batch_size: 8
input [ { name: "RAW" data_type: TYPE_FP32 dims: [ 3 ] } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 3 ] } ]
ensemble_scheduling { step [
  { model_name: "scale" model_version: -1
    input_map { key: "x" value: "RAW" } output_map { key: "y" value: "mid" } },
  { model_name: "scale" model_version: -1
    input_map { key: "x" value: "mid" } output_map { key: "y" value: "OUT" } }
] }
"""


def counted(client, model):
    """Inferences and calls, and successes."""
    (row,) = client.get_inference_statistics(model).model_stats
    return row.inference_count, row.execution_count, row.inference_stats.success.count


def scraped(thread, model):
    connection = http.client.HTTPConnection("127.0.0.1", thread.server.http_port)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    return {
        sample.name.removesuffix("_total"): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("model") == model
    }


@pytest.mark.parametrize("front_end", [FrontEnd.NATIVE, FrontEnd.PYTHON])
def test_steps_of_one_plan_count_its_queries(tmp_path, front_end):
    root = repository(tmp_path / "models")
    with served_repository(root, tmp_path / "cache", front_end) as thread:
        client = triton.InferenceServerClient(thread.url)
        for _ in range(3):
            asked(triton, client, rows(2))
        given = triton.InferInput("x", [2, 3], "FP32")
        given.set_data_from_numpy(rows(2))
        client.infer("shift", [given])
        assert counted(client, "both") == (3, 3, 3)
        assert counted(client, "scale") == (3, 3, 0)
        assert counted(client, "shift") == (4, 4, 1)
        assert counted(client, "shift") == (4, 4, 1), "a look counts nothing"
        found = scraped(thread, "scale")
        assert (found["nv_inference_count"], found["nv_inference_exec_count"]) == (3, 3)
        assert found["nv_inference_request_success"] == 0
        with triton_http.InferenceServerClient(thread.http_url) as rest:
            (row,) = rest.get_inference_statistics("shift")["model_stats"]
            assert (row["inference_count"], row["execution_count"]) == (4, 4)


def test_steps_that_run_in_turn_count_their_times_too(tmp_path):
    config = ENSEMBLE.replace("dims: [ 3 ] } ]\noutput", "dims: [ 3, 1 ] } ]\noutput")
    root = repository(tmp_path / "models", config=config)
    (root / "scale" / "config.pbtxt").write_text(RESHAPED)
    with served_repository(root, tmp_path / "cache") as thread:
        client = triton.InferenceServerClient(thread.url)
        for _ in range(2):
            asked(triton, client, rows(5).reshape(5, 3, 1))
        (whole,) = client.get_inference_statistics("both").model_stats
        took_ns = 0
        for name in ("scale", "shift"):
            assert counted(client, name) == (2, 2, 2)
            (row,) = client.get_inference_statistics(name).model_stats
            own = row.inference_stats
            assert own.success.count == own.queue.count == own.compute_infer.count == 2
            assert own.success.ns == own.queue.ns + own.compute_infer.ns
            assert own.compute_infer.ns > 0
            took_ns += own.success.ns
        assert took_ns <= whole.inference_stats.success.ns
        found = scraped(thread, "shift")
        assert found["nv_inference_request_success"] == 2
        assert found["nv_inference_request_duration_us"] > 0


def test_a_step_that_is_there_twice_counts_twice(tmp_path):
    root = repository(tmp_path / "models", {"scale": SCALE}, config=TWICE)
    with served_repository(root, tmp_path / "cache") as thread:
        client = triton.InferenceServerClient(thread.url)
        given = triton.InferInput("RAW", [2, 3], "FP32")
        given.set_data_from_numpy(rows(2))
        answer = client.infer("both", [given]).as_numpy("OUT")
        np.testing.assert_array_equal(answer, np.maximum(4 * rows(2), 0))
        assert counted(client, "scale") == (2, 2, 0)


def test_counts_stay_with_what_computed_them(tmp_path):
    """Of an ensemble within another, too, and when a step has a newer version."""
    with live_server(tmp_path / "models", tmp_path / "cache") as live:
        live.root.mkdir(exist_ok=True)
        live.put("one", 2)
        live.put("two", 3)
        write(live, "both", BOTH)
        write(live, "outer", OUTER)
        live.client.load_model("outer")
        assert live.factor("outer") == 18
        assert counted(live.client, "both") == (1, 1, 0)
        assert counted(live.client, "one") == (1, 1, 0)
        assert counted(live.client, "two") == (2, 2, 0)
        live.factor("outer")
        live.put("one", 5, version=2)  # nobody has looked since
        live.client.load_model("one")
        live.factor("outer")
        found = {
            row.version: row.inference_count
            for row in live.client.get_inference_statistics("one").model_stats
        }
        assert found == {"1": 2, "2": 1}
