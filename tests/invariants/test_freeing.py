"""Nothing of a query is held once it has ended, however it ended."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import onnx
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.safety.random_plans import CHARGED_NS, random_plan
from surplus.engine import _core
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import CancelledError, DeadlineError, ExecutionError
from surplus.engine.runtime.future import Future
from surplus.engine.runtime.planned_model import PlannedModel
from tests.invariants.own_machine import check_empty, own_machine
from tests.invariants.random_models import (
    COLUMNS,
    FAILING_ROW,
    ROWS,
    Reader,
    inputs_of,
    random_models,
)

ANY = settings(max_examples=8, derandomize=True)
DEVICES = "cpu:2,emulated:gpu:2"
LONG_NS = 20_000_000
"""What an emulated segment takes where queries are to be caught in the middle."""

Submit = Callable[[PlannedModel, Graph], Future]


def _plain(model: PlannedModel, graph: Graph) -> Future:
    return model.submit(inputs_of(graph, 1))


def _traced(model: PlannedModel, graph: Graph) -> Future:
    return model.submit(inputs_of(graph, 2), traced=True, priority=1)


def _failing(model: PlannedModel, graph: Graph) -> Future:
    return model.submit(inputs_of(graph, 3, row=FAILING_ROW))


def _empty(model: PlannedModel, graph: Graph) -> Future:
    return model.submit(inputs_of(graph, 4, rows=0))


def _cancelled(model: PlannedModel, graph: Graph) -> Future:
    future = model.submit(inputs_of(graph, 5))
    future.cancel()
    return future


def _late(model: PlannedModel, graph: Graph) -> Future:
    return model.submit(inputs_of(graph, 6), deadline_ns=1)


def _soon_late(model: PlannedModel, graph: Graph) -> Future:
    return model.submit(inputs_of(graph, 7), deadline_ns=time.monotonic_ns() + 300_000)


FATES: dict[str, Submit] = {
    "plain": _plain,
    "traced": _traced,
    "failing": _failing,
    "empty": _empty,
    "cancelled": _cancelled,
    "late": _late,
    "soon late": _soon_late,
}
fates = st.lists(st.sampled_from(list(FATES)), min_size=1, max_size=12)


def _model(
    graph: Graph, machine: _core.Machine, seed: int, service_ns: int = CHARGED_NS
) -> PlannedModel:
    plan = random_plan(graph, parse_devices(DEVICES), seed)
    charged = tuple(replace(s, service_ns=service_ns) for s in plan.segments)
    return PlannedModel(graph, replace(plan, segments=charged), machine)


def _ended(future: Future) -> str:
    try:
        future.result()
    except (ExecutionError, CancelledError, DeadlineError) as error:
        return type(error).__name__
    return "ok"


@ANY
@given(
    model=random_models(),
    seed=st.integers(0, 10_000),
    chosen=fates,
    fail_every=st.sampled_from([0, 3]),
)
def test_queries_of_every_fate(
    read: Reader, model: onnx.ModelProto, seed: int, chosen: list[str], fail_every: int
) -> None:
    graph = read(model)
    with own_machine(DEVICES, fail_every) as machine:
        subject = _model(graph, machine, seed)
        futures = [FATES[fate](subject, graph) for fate in chosen]
        ends = [_ended(future) for future in futures]
        futures.clear()
        check_empty(machine)
    for fate, end in zip(chosen, ends, strict=True):
        if fate in ("plain", "traced") and not fail_every:
            assert end == "ok"


@ANY
@given(model=random_models(), seed=st.integers(0, 10_000), count=st.integers(1, 20))
def test_closing_with_queries_in_flight(
    read: Reader, model: onnx.ModelProto, seed: int, count: int
) -> None:
    graph = read(model)
    with own_machine(DEVICES) as machine:
        subject = _model(graph, machine, seed, LONG_NS)
        futures = [_plain(subject, graph) for _ in range(count)]
        machine.close()
        assert all(future.done() for future in futures)
        assert {_ended(future) for future in futures} <= {"ok", "CancelledError"}
        futures.clear()
        check_empty(machine)


@ANY
@given(model=random_models(), seed=st.integers(0, 10_000))
def test_inputs_and_answers_go_with_their_last_reference(
    read: Reader, model: onnx.ModelProto, seed: int
) -> None:
    graph = read(model)
    with own_machine(DEVICES) as machine:
        subject = _model(graph, machine, seed)
        inputs = inputs_of(graph, seed)
        watched = [weakref.ref(array) for array in inputs.values()]
        answers: list[dict[str, Any]] = [subject.run(inputs), subject.submit(inputs).result()]
        inputs.clear()
        assert all(array.size for answer in answers for array in answer.values())
        answers.clear()
        check_empty(machine)
        gc.collect()
        assert [ref() for ref in watched] == [None] * len(watched)


def test_the_counters_see_what_is_held(read: Reader) -> None:
    text = """<ir_version: 9, opset_import: ["" : 18]>
        held (float[n, 4] x0) => (float[n, 4] y) { a = Neg(x0)  y = Tanh(a) }"""
    graph = read(onnx.parser.parse_model(text))
    with own_machine(DEVICES) as machine:
        future = _model(graph, machine, 0).submit(inputs_of(graph, 0))
        future.result()
        stats = machine.stats()
        assert (stats["live_values"], stats["live_bytes"]) == (1, ROWS * COLUMNS * 4)
        del future
        check_empty(machine)
