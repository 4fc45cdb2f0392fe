"""Whatever a timeline says, breakdown adds up; and the simulator idles for known reasons only."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from surplus.engine.explain.breakdown import Breakdown, breakdown
from surplus.engine.explain.call_times import CallTimes
from surplus.engine.explain.categories import Category
from surplus.engine.explain.causes import SpanKey
from surplus.placement import make_policy
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.random_graphs import small_random
from surplus.placement.simulator import SimulatorParams, simulate
from surplus.placement.timeline import Span, SpanKind, Timeline

moments = st.integers(-20, 120)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    """Any span, though nothing could run like that: lanes in use twice, causes after effects."""
    ready, start, end = sorted(draw(st.tuples(moments, moments, moments)))
    resource = draw(st.sampled_from(["cpu", "gpu", "cpu->gpu"]))
    kind = SpanKind.COPY if "->" in resource else SpanKind.SEGMENT
    lanes = draw(st.sets(st.integers(0, 3), max_size=3))
    index, query = draw(st.integers(0, 5)), draw(st.integers(0, 1))
    return Span(
        kind, index, f"n{index}", "Op", resource, tuple(sorted(lanes)), ready, start, end, query
    )


@st.composite
def calls(draw: st.DrawFn) -> CallTimes:
    return CallTimes(*sorted(draw(st.tuples(moments, moments, moments, moments))))


def _adds_up(found: Breakdown, start_ns: int, end_ns: int) -> bool:
    ends = [start_ns, *(piece.end_ns for piece in found.pieces)]
    contiguous = [piece.start_ns for piece in found.pieces] == ends[:-1]
    whole = sum(found.parts.values()) == found.total_ns == end_ns - start_ns
    by_span = sum(sum(parts.values()) for _, parts in found.steps())
    outside = (Category.PYTHON_IN, Category.PYTHON_OUT, Category.COMPLETION)
    inside = found.total_ns - sum(found.parts.get((category, ""), 0) for category in outside)
    lanes = all(u.busy_ns >= 0 <= u.idle_ns for u in found.lanes)
    return (
        contiguous
        and whole
        and by_span == inside
        and lanes
        and all(u.busy_ns + u.idle_ns == found.total_ns for u in found.lanes)
        and all(piece.duration_ns > 0 for piece in found.pieces)
    )


@given(
    rows=st.lists(spans(), max_size=12),
    call=calls(),
    causes=st.dictionaries(st.integers(0, 5), st.sets(st.integers(0, 5), max_size=3)),
    query=st.integers(0, 1),
    lanes=st.dictionaries(st.sampled_from(["cpu", "gpu", "npu"]), st.integers(1, 4)),
)
@settings(max_examples=100)
def test_any_spans_add_up(
    rows: list[Span],
    call: CallTimes,
    causes: dict[SpanKey, set[SpanKey]],
    query: int,
    lanes: dict[str, int],
) -> None:
    timeline = Timeline.of(rows, "measured")
    found = breakdown(timeline, lanes=lanes, causes=causes, call=call, query=query)
    assert _adds_up(found, call.entered_ns, call.left_ns)
    assert all(span.query == query for span in found.path)
    around = breakdown(timeline, query=query)
    end_ns = max((span.end_ns for span in rows if span.query == query), default=0)
    assert _adds_up(around, min(0, end_ns), end_ns)


def _causes(problem: Problem, placement: Placement) -> dict[SpanKey, set[SpanKey]]:
    memories = [problem.devices[device].memory for device in placement.device_of]
    host = problem.devices[0].memory
    found: dict[SpanKey, set[SpanKey]] = {}
    for index, inputs in enumerate(problem.inputs_of):
        found[index] = set()
        for tensor in (problem.tensors[i] for i in inputs):
            home = memories[tensor.producer] if tensor.producer >= 0 else host
            made = {tensor.producer} - {-1}
            if home == memories[index] or not tensor.size_bytes:
                found[index] |= made
            else:
                copy = (tensor.name, f"{home}->{memories[index]}")
                found[index].add(copy)
    for tensor in problem.tensors:
        for link in problem.links:
            found[tensor.name, link.name] = {tensor.producer} - {-1}
    return found


@given(
    seed=st.integers(0, 2**32),
    task_count=st.integers(0, 25),
    device_count=st.integers(1, 3),
    order=st.sampled_from(["priority", "fifo"]),
)
@example(seed=7, task_count=25, device_count=3, order="priority")
@settings(max_examples=80)
def test_simulated_time_is_service_copies_and_waiting_for_lanes(
    seed: int, task_count: int, device_count: int, order: str
) -> None:
    problem = small_random(seed, task_count, device_count)
    placement = make_policy("heft").place(problem)
    timeline = simulate(problem, placement, SimulatorParams(order))  # type: ignore[arg-type]
    lanes = {device.name: device.lanes for device in problem.devices}
    found = breakdown(timeline, lanes=lanes, causes=_causes(problem, placement))
    assert _adds_up(found, 0, timeline.makespan_ns)
    # A list scheduler never leaves a ready task alone beside a free lane.
    explained = ("service", "copy", "queueing", "seats", "gate")
    assert {category.value for category, _ in found.parts} <= set(explained)
    assert all(before.end_ns == after.ready_ns for before, after in pairwise(found.path))
    assert not found.path or found.path[0].ready_ns == 0
