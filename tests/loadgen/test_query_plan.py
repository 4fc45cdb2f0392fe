"""Which query is of which model, and which request it sends."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.loadgen.arrivals import PoissonArrivals, TraceArrivals
from surplus.loadgen.asked_model import AskedModel, parse_model
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.query_plan import QueryPlan, kinds_of, make_plan

A, B = AskedModel("a", weight=3), AskedModel("b", timeout_s=2.0, priority=4)


def _trace(tmp_path, text):
    file = tmp_path / "t.csv"
    file.write_text(text)
    return TraceArrivals(path=str(file))


def test_models_share_the_queries_by_their_weights():
    load = LoadgenParams(0, 40_000)
    plan = make_plan([A, B], load, PoissonArrivals(100.0), seed=1)
    assert len(plan.kind) == len(plan.offsets_ns) == 40_000
    assert (plan.kind == 0).mean() == pytest.approx(0.75, abs=0.01)
    closed = make_plan([A, B], load, None, seed=1)
    assert (closed.kind == 0).mean() == pytest.approx(0.75, abs=0.02)
    assert len(closed.offsets_ns) == 0


def test_times_do_not_depend_on_how_many_models_there_are():
    load, process = LoadgenParams(0, 100), PoissonArrivals(100.0)
    one, two = (make_plan(models, load, process, seed=5) for models in ([A], [A, B]))
    assert (one.offsets_ns == two.offsets_ns).all()
    assert (one.offsets_ns != make_plan([A], load, process, seed=6).offsets_ns).any()


def test_queries_of_a_kind_take_turns_through_its_requests():
    plan = QueryPlan((A, B), np.array([0, 1, 0, 0, 1, 1]), np.zeros(0, np.int64))
    assert plan.turns([2, 3]).tolist() == [0, 2, 1, 0, 3, 4]
    single = QueryPlan((A,), np.zeros(1, np.int64), np.zeros(0, np.int64))
    assert single.turns([3]).tolist() == [0, 1, 2]


def test_a_trace_decides_models_priorities_and_timeouts(tmp_path):
    text = "time,model,priority,timeout\n0,b,,\n1,a,1,50ms\n2,b,,\n3,b,7,\n"
    load = LoadgenParams(10**12)
    plan = make_plan([A, B], load, _trace(tmp_path, text), seed=0)
    assert plan.kind.tolist() == [0, 1, 0, 2]
    assert [(k.name, k.priority, k.timeout_s) for k in plan.kinds] == [
        ("b", 4, 2.0),
        ("a", 1, 0.05),
        ("b", 7, 2.0),
    ]


def test_a_trace_without_models_leaves_them_to_the_weights(tmp_path):
    text = "time\n" + "\n".join(map(str, range(4000)))
    plan = make_plan([A, B], LoadgenParams(10**15), _trace(tmp_path, text), seed=0)
    assert plan.kinds == (A, B)
    assert (plan.kind == 0).mean() == pytest.approx(0.75, abs=0.05)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,model\n0,c\n", "the trace asks model 'c'; there are: a, b"),
        ("time,model\n0,a\n1,\n", "queries without a model, and several are asked"),
        (
            "time,model,priority\n" + "\n".join(f"0,a,{n}" for n in range(257)),
            "257 kinds of queries .*; the most are 256",
        ),
    ],
)
def test_a_trace_that_does_not_fit_the_models_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        kinds_of([A, B], _trace(tmp_path, text))


def test_weights_are_read_behind_the_name():
    assert parse_model("a=3") == ("a", 3.0)
    assert parse_model("team/a") == ("team/a", 1.0)
    with pytest.raises(ValueError, match="model 'a=b': the weight 'b' is not a number"):
        parse_model("a=b")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "a model needs a name"),
        ({"name": "a", "weight": 0.0}, "model 'a': weight must be > 0, got 0"),
        ({"name": "a", "weight": float("nan")}, "weight must be > 0"),
        ({"name": "a", "timeout_s": 0.0}, "timeout must be > 0, got 0s"),
        ({"name": "a", "priority": -1}, "model 'a': priority must be >= 0, got -1"),
    ],
)
def test_a_model_that_makes_no_sense_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        AskedModel(**fields)
