"""Queries that are refused for what is predicted of them, on both faces."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

from surplus.engine.errors import RefusedError
from surplus.engine.serving.data_plane import DataPlane, InferQuery
from surplus.engine.serving.model_executor import LEVELS, USUAL_LEVEL, priority_of
from tests.serving.fakes import identity

X = np.arange(3, dtype=np.float32)
WHY = "the query would have been 12.5 ms late"


def _refusing(*_: object) -> None:
    raise RefusedError(WHY, 12_500_000)


def _answering_late():
    """Whose queries are refused when they are submitted."""
    executor = identity()
    executor._function = _refusing
    return executor


def test_refusals_are_counted_among_the_failures() -> None:
    plane = DataPlane()
    executor = identity()
    served = plane.models.add("m")
    served.set_ready(executor)
    plane.foresee(plane.admit("m"), None, 0)
    executor.refusal = RefusedError(WHY)
    with pytest.raises(RefusedError):
        plane.foresee(plane.admit("m"), None, 0)
    executor._function = _refusing
    query = InferQuery([("x", X)], (), received_ns=plane.clock_ns())
    asked = plane.infer(plane.admit("m"), query, lambda outputs: outputs)
    with pytest.raises(RefusedError, match=r"12\.5 ms late"):
        asyncio.run(asked)
    assert (served.statistics.refused.count, served.statistics.fail.count) == (2, 2)
    assert served.statistics.refused.total_ns > 0


def test_grpc_says_resource_exhausted_before_it_decodes(served, client, fresh_name) -> None:
    import tritonclient.grpc as triton

    executor = served.serve(fresh_name, identity())
    executor.refusal = RefusedError(WHY)
    wrong = triton.InferInput("nothing", [3], "FP32")  # which decoding would find
    wrong.set_data_from_numpy(X)
    with pytest.raises(InferenceServerException) as refused:
        client.infer(fresh_name, [wrong])
    assert refused.value.status() == "StatusCode.RESOURCE_EXHAUSTED"
    assert refused.value.message() == WHY
    row = client.get_inference_statistics(fresh_name, as_json=True)["model_stats"][0]
    assert row["inference_stats"]["fail"]["count"] == "1"


def test_http_says_429(served, fresh_name) -> None:
    served.serve(fresh_name, _answering_late())
    with triton_http.InferenceServerClient(served.http_url) as client:
        given = triton_http.InferInput("x", [3], "FP32")
        given.set_data_from_numpy(X)
        with pytest.raises(InferenceServerException, match=r"12\.5 ms late") as refused:
            client.infer(fresh_name, [given])
        assert refused.value.status() == "429"
        row = client.get_inference_statistics(fresh_name)["model_stats"][0]
        assert row["inference_stats"]["refused"]["count"] == 1


def test_the_default_priority_lies_in_the_middle() -> None:
    assert priority_of(0) is None  # as the model's queries are
    assert priority_of(USUAL_LEVEL) == 0
    levels = [priority_of(level) for level in range(1, LEVELS + 1)]
    assert levels == [4, 3, 2, 1, 0, -1, -2, -3, -4]
    assert priority_of(2**63) == priority_of(LEVELS)
