"""What a model's process turns away, as the server counts it."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from tests.isolation.served import Serving, served, until
from tests.isolation.test_observed import value
from tests.loops import COUNT, ENDLESS, counted
from tests.repository.quick_start import save
from tests.serving.fakes import tensor

POLICY = """
instance_group [ { kind: KIND_CPU count: 1 } ]
dynamic_batching { default_queue_policy { default_timeout_microseconds: 1000 } }
"""


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("repository")
    model = onnx.parser.parse_model(COUNT.replace("count (", "count_graph (", 1))
    save(model, folder / "count" / "1" / "model.onnx")
    (folder / "count" / "config.pbtxt").write_text(POLICY)
    with served(folder, "--isolate", "--metrics-port", "0") as server:
        yield server


def _query(trips: int) -> list[triton.InferInput]:
    x = counted(trips)
    return [tensor("n", x["n"], "INT64"), tensor("x", x["x"], "INT64")]


def test_a_query_that_waited_too_long_is_counted_under_its_reason(serving: Serving) -> None:
    with serving.client() as client:
        endless = client.async_infer("count", _query(ENDLESS), lambda *_: None)
        until(lambda: value(serving, "nv_inference_pending_request_count", model="count") == 1)
        with pytest.raises(InferenceServerException, match="Request timeout expired") as refused:
            client.infer("count", _query(1))
        endless.cancel()
    assert refused.value.status() == "StatusCode.UNAVAILABLE"
    told = {"model": "count", "reason": "queue_full"}
    assert value(serving, "surplus_requests_refused_total", **told) == 1
    assert value(serving, "surplus_requests_refused_total", model="count") == 1
