"""Breakdown of real runs: measured, predicted, beside each other, with wide segments and copies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import EngineError
from surplus.engine.explain.breakdown import Breakdown
from surplus.engine.explain.causes import causes_of
from surplus.engine.runtime.measured import Traced, measured_timeline, together
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.placement.timeline import Span, SpanKind, Timeline
from tests.device_lists import STREAMS, with_wanted
from tests.runtime.runtime_models import ADD, model_of, read_text

FORK = """fork (float[n, 3] x) => (float[n, 3] y) {
  a = Neg(x)  b = Abs(a)  c = Exp(a)  d = Relu(a)  y = Sum(b, c, d) }"""
INPUTS = {"x": np.ones((2, 3), np.float32), "shift": np.ones(3, np.float32)}


@pytest.fixture(scope="module")
def add(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return read_text(ADD, tmp_path_factory.mktemp("add"))


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return read_text(FORK, tmp_path_factory.mktemp("fork"))


def _wide(graph: Graph, widths: tuple[int, ...], lanes: int) -> PlannedModel:
    """A segment a task, of the widths given."""
    specs = parse_devices(f"cpu:{lanes}")
    plan = model_of(graph, f"cpu:{lanes}").plan
    wide = tuple(replace(s, width=w) for s, w in zip(plan.segments, widths, strict=True))
    return PlannedModel(graph, replace(plan, segments=wide), machine_for(specs))


def _traced(model: PlannedModel, **inputs: Any) -> Breakdown:
    model.run(inputs, traced=True)
    return model.breakdown()


def _categories(breakdown: Breakdown) -> set[str]:
    return {category.value for category, _ in breakdown.parts}


def test_nothing_traced(add: Graph) -> None:
    model = model_of(add)
    with pytest.raises(EngineError, match=r"no traced run yet: call run\(\.\.\., traced=True\)"):
        model.breakdown()
    future = model.submit(INPUTS)
    future.result()
    with pytest.raises(EngineError, match="traced=True"):
        future.breakdown()


@pytest.mark.parametrize(
    "devices",
    with_wanted("cpu:1", "cpu:2", "cpu:1,emulated:gpu", "cpu:2,emulated:gpu", STREAMS),
)
def test_all_of_a_call_is_accounted_for(add: Graph, devices: str) -> None:
    model = model_of(add, devices)
    found = _traced(model, **INPUTS)
    assert sum(found.parts.values()) == found.total_ns > 0
    outside = {"python_in", "python_out", "submission", "completion"}
    assert _categories(found) >= {"service", *outside}
    assert found.timeline is model.timeline()
    if "gpu" in devices:
        # Which input's copy arrives last is not ours to say.
        ends = ["host->emulated:gpu", "emulated:gpu", "emulated:gpu->host"]
        assert [span.resource for span in found.path][-3:] == ends
        assert _categories(found) >= {"copy"}
    else:
        assert [span.index for span in found.path] == [0, 1]


def test_lanes_are_the_devices(add: Graph) -> None:
    model = model_of(add, "cpu:2,emulated:gpu:3", whole=True)
    assert model.lanes == {"cpu": 2, "emulated:gpu": 3}
    found = _traced(model, **INPUTS)
    assert [(u.resource, u.lane) for u in found.lanes][:3] == [
        ("cpu", 0), ("cpu", 1), ("emulated:gpu", 0),
    ]  # fmt: skip
    assert {u.busy_ns + u.idle_ns for u in found.lanes} == {found.total_ns}


def test_the_prediction_has_the_same_form(add: Graph) -> None:
    model = model_of(add, "cpu:1,emulated:gpu")
    found = model.predicted_breakdown()
    assert found.total_ns == model.plan.predicted.makespan_ns == sum(found.parts.values())
    assert _categories(found) == {"service", "copy"}
    assert found.path[-1].resource == _traced(model, **INPUTS).path[-1].resource


def test_wide_segments_hold_as_many_lanes_as_they_are_wide(fork: Graph) -> None:
    model = _wide(fork, (3, 1, 2, 1, 3), lanes=3)
    found = _traced(model, x=INPUTS["x"])
    for span in found.timeline:
        assert len(set(span.lanes)) == model.plan.segments[span.index].width
        assert set(span.lanes) <= {0, 1, 2}
    assert sum(found.parts.values()) == found.total_ns


class _Recorded:
    """A run that recorded these rows: node, lane, ready, start, end."""

    done = True
    submitted_ns = 1
    stacked = 1

    def __init__(self, *rows: tuple[int, int, int, int, int]) -> None:
        self._rows = np.array(rows, np.int64)

    def spans(self) -> Any:
        return self._rows


def test_wide_segments_get_the_lanes_that_were_left(fork: Graph) -> None:
    plan = _wide(fork, (1, 1, 2, 1, 3), lanes=4).plan
    assert [segment.rank for segment in plan.segments] == [0, 1, 2, 3, 4]
    run = _Recorded(
        (0, 2, 0, 0, 10),
        (1, 0, 10, 10, 30),
        (2, 2, 10, 10, 30),
        (3, 1, 10, 15, 25),
        (4, 3, 30, 30, 40),
    )
    timeline = measured_timeline(plan, run, {"cpu": 4})  # type: ignore[arg-type]
    assert {span.index: span.lanes for span in timeline} == {
        0: (2,), 1: (0,), 2: (2, 3), 3: (1,), 4: (0, 1, 3),
    }  # fmt: skip


def test_a_wide_segment_shares_a_lane_rather_than_to_look_narrow(fork: Graph) -> None:
    plan = _wide(fork, (1, 1, 2, 1, 1), lanes=3).plan
    run = _Recorded((1, 1, 0, 0, 10), (2, 0, 0, 0, 30), (3, 2, 0, 20, 30), (0, -1, 0, 0, 0))
    timeline = measured_timeline(plan, run, {"cpu": 3})  # type: ignore[arg-type]
    assert {span.index: span.lanes for span in timeline} == {1: (1,), 2: (0, 1), 3: (2,)}


def test_queries_in_flight_are_broken_down_on_each_other(fork: Graph) -> None:
    model = model_of(fork, "cpu:2")
    futures = [model.submit({"x": INPUTS["x"]}, traced=True) for _ in range(6)]
    for future in futures:
        future.result()
    for number, future in enumerate(futures):
        others = futures[:number] + futures[number + 1 :]
        found = future.breakdown(others)
        assert sum(found.parts.values()) == found.total_ns == future.timeline().makespan_ns
        assert {span.query for span in found.timeline} == set(range(6))
        assert "queueing_others" not in _categories(future.breakdown())


def test_together_puts_queries_on_the_clock_of_the_first() -> None:
    span = Span(SpanKind.SEGMENT, 0, "s", "Op", "cpu", (0,), 0, 5, 20)
    queries = [Traced(Timeline((span,), "measured"), submitted_ns) for submitted_ns in (100, 130)]
    second = replace(span, ready_ns=30, start_ns=35, end_ns=50, query=1)
    assert together(queries) == Timeline((span, second), "measured")


def test_causes_lead_over_copies(add: Graph) -> None:
    plan = model_of(add, "cpu:1,emulated:gpu").plan
    first, second = plan.segments
    assert (plan.devices[first.device], plan.devices[second.device]) == ("cpu", "emulated:gpu")
    over = f"host->{plan.memories[second.device]}"
    assert causes_of(plan) == {
        0: set(),
        1: {("t", over), ("shift", over)},
        ("t", over): [0],
        ("shift", over): [],
        ("y", f"{plan.memories[second.device]}->host"): [1],
    }


def test_a_model_of_constants_has_nothing_but_the_call(tmp_path: Path) -> None:
    graph = read_text("k (float[3] x) => (float[2] y) { y = Constant<value_floats=[1., 2.]>() }",
                      tmp_path)  # fmt: skip
    model = model_of(graph)
    found = _traced(model, x=np.ones(3, np.float32))
    assert _categories(found) <= {"python_in", "python_out", "completion", "service", "submission"}
    assert sum(found.parts.values()) == found.total_ns
