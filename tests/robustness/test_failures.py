"""What goes wrong in one query stays in that query."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surplus import models
from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import CancelledError, DeadlineError, ExecutionError
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.future import Future
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.segmenter import per_task
from surplus.placement.placement import Placement
from tests.constant_costs import constant_problem, plan_of_groups
from tests.device_lists import devices_or

DEVICES = devices_or("cpu:1,emulated:gpu")
LENGTH = 12
NEVER_NS = 3_600_000_000_000
"""A segment that takes this long is still running whenever a test looks."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder = tmp_path_factory.mktemp("chain")
    path = models.save(models.build("chain", length=LENGTH, size=8), folder / "chain.onnx")
    return read_model(path, folder / "cache")


@pytest.fixture(scope="module")
def inputs() -> dict[str, Any]:
    return models.example_inputs("chain", length=LENGTH, size=8)


@pytest.fixture
def right(graph: Graph, inputs: dict[str, Any]) -> np.ndarray:
    return _model(graph).run(inputs)["y"]


def _model(
    graph: Graph, emulation: EmulationParams | None = None, service_ns: int = 1_000
) -> PlannedModel:
    """The chain, its tasks on the CPU and the emulated device in turn."""
    specs = parse_devices(DEVICES)
    problem = constant_problem(graph, specs)
    count = len(graph.tasks)
    turns = Placement(tuple(i % 2 for i in range(count)), tuple(range(count)), "in turn")
    plan = plan_of_groups(graph, per_task(problem, turns), turns.policy)
    charged = tuple(replace(segment, service_ns=service_ns) for segment in plan.segments)
    return PlannedModel(graph, replace(plan, segments=charged), machine_for(specs, emulation))


def test_a_failing_segment_ends_its_own_run_only(
    graph: Graph, inputs: dict[str, Any], right: np.ndarray
) -> None:
    model = _model(graph, EmulationParams(fail_every=7))
    futures = [model.submit(inputs) for _ in range(40)]
    failed = [_failed(future, right) for future in futures]
    assert 0 < failed.count(True) < len(failed)


def _failed(future: Future, right: np.ndarray) -> bool:
    """Whether the query failed, saying where; if not, its answer is right."""
    try:
        outputs = future.result()
    except ExecutionError as error:
        return "emulated:gpu" in str(error)
    assert np.array_equal(outputs["y"], right)
    return False


def test_every_run_succeeds_after_failures(
    graph: Graph, inputs: dict[str, Any], right: np.ndarray
) -> None:
    model = _model(graph, EmulationParams(fail_every=1))
    for _ in range(20):
        with pytest.raises(ExecutionError):
            model.run(inputs)
    assert np.array_equal(_model(graph).run(inputs)["y"], right)


def test_a_device_that_refuses_its_segments(graph: Graph) -> None:
    with pytest.raises(ExecutionError, match="cannot be prepared"):
        _model(graph, EmulationParams(fail_prepare=True))


@pytest.fixture
def stuck(graph: Graph) -> Iterator[PlannedModel]:
    """A model whose second segment never ends, on a machine of its own."""
    emulation = EmulationParams(submit_ns=next(_UNUSED_SUBMIT_NS))
    yield _model(graph, emulation, NEVER_NS)
    machine_for(parse_devices(DEVICES), emulation).close()


_UNUSED_SUBMIT_NS = iter(range(11_000, 12_000))


def test_cancel_ends_a_run_whose_segment_is_busy(
    stuck: PlannedModel, inputs: dict[str, Any]
) -> None:
    future = stuck.submit(inputs)
    assert not future.done()
    future.cancel()
    with pytest.raises(CancelledError):
        future.result()


def test_timeout_of_a_result_leaves_the_run_going(
    stuck: PlannedModel, inputs: dict[str, Any]
) -> None:
    future = stuck.submit(inputs)
    with pytest.raises(TimeoutError):
        future.result(timeout=0.01)
    assert not future.done()
    future.cancel()
    with pytest.raises(CancelledError):
        future.result()


def test_timeout_of_a_run_cancels_it(stuck: PlannedModel, inputs: dict[str, Any]) -> None:
    with pytest.raises(DeadlineError):
        stuck.run(inputs, timeout_s=0.01)


def test_deadline_ends_a_run_before_its_next_segment(graph: Graph, inputs: dict[str, Any]) -> None:
    model = _model(graph, service_ns=20_000_000)
    future = model.submit(inputs, deadline_ns=time.monotonic_ns() + 10_000_000)
    with pytest.raises(DeadlineError):
        future.result()


def test_a_deadline_in_the_past(graph: Graph, inputs: dict[str, Any]) -> None:
    future = _model(graph).submit(inputs, deadline_ns=1)
    with pytest.raises(DeadlineError):
        future.result()


def test_closing_ends_runs_in_flight(graph: Graph, inputs: dict[str, Any]) -> None:
    emulation = EmulationParams(submit_ns=next(_UNUSED_SUBMIT_NS))
    model = _model(graph, emulation, NEVER_NS)
    futures = [model.submit(inputs) for _ in range(8)]
    machine: _core.Machine = machine_for(parse_devices(DEVICES), emulation)
    machine.close()
    for future in futures:
        assert future.done()
        with pytest.raises(CancelledError):
            future.result()
