"""One plan gives the same bits on 1 to 16 lanes, run after run, whatever is in flight beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import onnx
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.safety.random_plans import CHARGED_NS, random_plan
from surplus.engine.contest.reference import run_reference
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from tests.invariants.own_machine import check_empty, own_machine
from tests.invariants.random_models import Reader, inputs_of, random_models

FEW = settings(max_examples=4, derandomize=True)
seeds = st.integers(0, 1_000_000)
IN_FLIGHT = 3


@FEW
@given(model=random_models(), seed=seeds)
def test_narrow_segments_on_1_to_16_lanes(read: Reader, model: onnx.ModelProto, seed: int) -> None:
    graph = read(model)
    plan = quick(random_plan(graph, parse_devices("cpu:16"), seed), widest=1)
    check_bits(graph, plan, [f"cpu:{lanes}" for lanes in range(1, 17)], seed)


@FEW
@given(model=random_models(), seed=seeds)
def test_wide_and_narrow_segments(read: Reader, model: onnx.ModelProto, seed: int) -> None:
    graph = read(model)
    plan = quick(random_plan(graph, parse_devices("cpu:4"), seed), widest=4)
    check_bits(graph, plan, [f"cpu:{lanes}" for lanes in (4, 5, 16)], seed)


@FEW
@given(model=random_models(), seed=seeds)
def test_beside_an_emulated_device(read: Reader, model: onnx.ModelProto, seed: int) -> None:
    graph = read(model)
    plan = quick(random_plan(graph, parse_devices("cpu:2,emulated:gpu"), seed), widest=2)
    lanes = ((2, 1), (3, 2), (7, 7))
    check_bits(graph, plan, [f"cpu:{a},emulated:gpu:{b}" for a, b in lanes], seed)


def quick(plan: Plan, widest: int) -> Plan:
    """The plan with segments that fit the fewest lanes, and nothing to wait for."""
    segments = (
        replace(s, width=min(s.width, widest), service_ns=CHARGED_NS) for s in plan.segments
    )
    return replace(plan, segments=tuple(segments))


def check_bits(graph: Graph, plan: Plan, machines: list[str], seed: int) -> None:
    """Several queries at once, each against the oracle that runs one segment after another."""
    queries = [inputs_of(graph, seed + i) for i in range(IN_FLIGHT)]
    right = [run_reference(graph, plan, query) for query in queries]
    for devices in machines:
        with own_machine(devices) as machine:
            _ask_twice(PlannedModel(graph, plan, machine), queries, right)
            check_empty(machine)


def _ask_twice(model: PlannedModel, queries: list[Any], right: list[dict[str, Any]]) -> None:
    for _ in range(2):
        futures = [model.submit(query) for query in queries]
        for future, answer, query in zip(futures, right, queries, strict=True):
            same_bits(future.result(), answer)
            same_bits(model.run(query), answer)


def same_bits(outputs: Mapping[str, Any], right: Mapping[str, Any]) -> None:
    assert outputs.keys() == right.keys()
    for name, array in right.items():
        assert (outputs[name].dtype, outputs[name].shape) == (array.dtype, array.shape)
        assert outputs[name].tobytes() == array.tobytes(), name
