import json

import pytest

from surplus.engine.explain.breakdown import breakdown
from surplus.engine.explain.call_times import CallTimes
from surplus.engine.report.explanation import Explanation, explain
from surplus.placement.timeline import Timeline


def _run(make_span, end, origin="measured", call_ns=0):
    """A convolution on lane 0, a copy, and what waits for it on the GPU."""
    spans = [
        make_span("conv", 0, 40, index=0),
        make_span("t", 40, 60, "host->gpu"),
        make_span("gemm", 65, end, "gpu", index=1, category="Gemm", ready_ns=60),
    ]
    call = CallTimes(-call_ns, 0, end, end)
    causes = {0: [], ("t", "host->gpu"): [0], 1: [("t", "host->gpu")]}
    timeline = Timeline.of(spans, origin)
    return breakdown(timeline, lanes={"cpu": 2, "gpu": 1}, causes=causes, call=call)


@pytest.fixture
def explanation(make_span):
    runs = tuple(_run(make_span, end, call_ns=10) for end in (90, 190, 120))
    predicted = _run(make_span, 100, "simulated:segments")
    return Explanation(runs, predicted, {0: {"Conv": 2, "Relu": 1}})


def test_the_median_run_is_shown_beside_the_mean_and_the_prediction(explanation):
    rows = {(row["category"], row["resource"]): row for row in explanation.parts()}
    assert list(rows) == [
        ("service", "cpu"),
        ("service", "gpu"),
        ("copy", "host->gpu"),
        ("dispatch", "gpu"),
        ("python_in", ""),
    ]
    gemm = rows["service", "gpu"]
    assert (gemm["ns"], gemm["without_ns"], gemm["predicted_ns"]) == (55, 75, 35)
    assert gemm["share"] == pytest.approx(55 / 130)
    assert gemm["mean_share"] == pytest.approx((25 / 100 + 125 / 200 + 55 / 130) / 3)
    assert gemm["predicted_share"] == pytest.approx(0.35)
    assert rows["python_in", ""]["predicted_ns"] == 0


def test_measured_and_predicted_add_up(explanation):
    rows, document = explanation.parts(), explanation.document()
    assert sum(row["ns"] for row in rows) == document["total_ns"] == 130
    assert sum(row["predicted_ns"] for row in rows) == document["predicted_ns"] == 100
    assert sum(row["mean_share"] for row in rows) == pytest.approx(1)
    assert (document["shortest_ns"], document["longest_ns"], document["runs"]) == (100, 200, 3)


def test_the_path_says_what_each_step_ran_and_waited_for(explanation):
    conv, copy, gemm = explanation.path()
    assert (conv["name"], conv["operators"], conv["waited_ns"]) == (
        "conv",
        {"Conv": 2, "Relu": 1},
        0,
    )
    assert (copy["resource"], copy["operators"], copy["work_ns"]) == ("host->gpu", {}, 20)
    assert (gemm["work_ns"], gemm["waited_ns"], gemm["width"]) == (55, 5, 1)
    assert gemm["share"] == pytest.approx(60 / 130)


def test_lanes_that_did_nothing_are_there(explanation):
    rows = [(r["resource"], r["lane"], r["busy_ns"], r["idle_ns"]) for r in explanation.lanes()]
    assert rows == [
        ("cpu", 0, 40, 90),
        ("cpu", 1, 0, 130),
        ("gpu", 0, 55, 75),
        ("host->gpu", None, 20, 110),
    ]


def test_the_document_is_json(explanation):
    assert json.loads(json.dumps(explanation.document())) == explanation.document()


def test_nothing_to_explain():
    with pytest.raises(ValueError, match="no traced run"):
        explain(None, [])
