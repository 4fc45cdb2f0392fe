"""The whole model on one lane for while queries overlap, where that gives the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

from surplus.engine.contest.selection import ModelContender
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.narrow_choice import narrow_choice
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.throughput_switch import busy_plan, whole_segment
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import per_task
from surplus.placement.placement import Placement
from tests.constant_costs import constant_problem, plan_of_groups

DEVICES = "cpu:2"
HOUR_NS = 3_600_000_000_000
INPUTS = {"x": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)}


def graph_of(last: str, folder: Path) -> Graph:
    path = folder / f"{last}.onnx"
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
g (float[2, 3] x) => (float[2, 3] y) {{ a = Neg(x)  y = {last}(a) }}"""
    onnx.save(onnx.parser.parse_model(text), path)
    return read(path, folder / "cache")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return graph_of("Relu", tmp_path)


def job_of(graph: Graph, **params: Any) -> PlanJob:
    return PlanJob(graph, LoadParams(DEVICES, kernels="onnxruntime", **params), INPUTS)


def cut_model(job: PlanJob) -> PlannedModel:
    """Two segments, of an hour each as far as is known."""
    problem = constant_problem(job.graph, parse_devices(DEVICES))
    placement = Placement((0, 0), (0, 1), "test")
    plan = plan_of_groups(job.graph, per_task(problem, placement), "test")
    slow = tuple(replace(segment, service_ns=HOUR_NS) for segment in plan.segments)
    return PlannedModel(job.graph, replace(plan, segments=slow), job.machine)


def builder_of(graph: Graph, job: PlanJob) -> Callable[[Plan], ModelContender]:
    return lambda plan: ModelContender(PlannedModel(graph, plan, job.machine), INPUTS)


@pytest.mark.parametrize("same_bits", [True, False])
def test_the_whole_model_on_one_lane(graph: Graph, same_bits: bool) -> None:
    job = job_of(graph, relaxed_numerics=not same_bits)
    narrow = narrow_choice(job, cut_model(job), builder_of(graph, job))
    assert narrow is not None
    (segment,) = narrow.segments
    assert (segment.tasks, segment.width) == ((0, 1), 1)
    assert 0 < segment.service_ns < HOUR_NS


def test_not_with_other_bits_unless_any_will_do(graph: Graph, tmp_path: Path) -> None:
    other = graph_of("Abs", tmp_path)
    job = job_of(graph)
    assert narrow_choice(job, cut_model(job), builder_of(other, job)) is None
    job = job_of(graph, relaxed_numerics=True)
    assert narrow_choice(job, cut_model(job), builder_of(other, job)) is not None


def test_not_where_it_is_more_work(graph: Graph) -> None:
    job = job_of(graph)
    model = cut_model(job)
    quick = tuple(replace(segment, service_ns=1) for segment in model.plan.segments)
    model.plan = replace(model.plan, segments=quick)
    assert narrow_choice(job, model, builder_of(graph, job)) is None


def test_not_where_it_is_refused_or_slices_are_meant_to_stay(graph: Graph) -> None:
    job = job_of(graph)
    assert narrow_choice(job, cut_model(job), lambda plan: None) is None
    job = job_of(graph, slice_s=0.002)
    assert narrow_choice(job, cut_model(job), builder_of(graph, job)) is None


def test_not_of_one_segment(graph: Graph) -> None:
    job = job_of(graph)
    model = cut_model(job)
    model.plan = busy_plan(model.plan, (whole_segment(graph),), "whole")
    assert narrow_choice(job, model, builder_of(graph, job)) is None
