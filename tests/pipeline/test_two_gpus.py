"""A model that is loaded on two emulated GPUs: planned, measured and answered on both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import surplus
from surplus import models
from surplus.engine.devices.machines import machine_for
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.stages import Costs, candidates, place, plan_of, read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.problem import Problem
from tests.constant_costs import constant_problem

DEVICES = "cpu:1,emulated:a[replay,uncaptured]:1,emulated:b[replay,uncaptured]:1"
BRANCHES = {"branches": 4, "depth": 8, "size": 16, "kind": "matmul"}
CHAIN = {"length": 8, "size": 16, "kind": "matmul"}
CPU_NS, GPU_NS = 2_000_000, 200_000
"""Of each task: far more than a copy, and the CPU is no help."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    return models.save(models.build("fork_join", **BRANCHES), folder / "m.onnx")


@pytest.fixture(scope="module")
def right(file: Path) -> dict[str, np.ndarray]:
    given = models.example_inputs("fork_join", **BRANCHES)
    return surplus.load(file, "cpu:1", cache=file.parent / "cache").run(given)


def check(found: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]) -> None:
    assert found.keys() == right.keys()
    for name, answer in found.items():
        np.testing.assert_allclose(answer, right[name], rtol=1e-4, atol=1e-5)


def problem_on_both(graph: Graph) -> Problem:
    problem = constant_problem(graph, LoadParams(devices=DEVICES).specs())
    tasks = tuple(
        replace(task, service_ns=(CPU_NS, GPU_NS, GPU_NS), default_device=1)
        for task in problem.tasks
    )
    return replace(problem, tasks=tasks)


def planned(graph: Graph, policy: str) -> PlannedModel:
    """The plan that is predicted to be the fastest, of a policy's placement."""
    problem = problem_on_both(graph)
    costs = Costs(problem, ServiceTimes.of(problem))
    best = min(
        candidates(costs, place(problem, policy)), key=lambda found: found.predicted.makespan_ns
    )
    machine = machine_for(LoadParams(devices=DEVICES).specs())
    return PlannedModel(graph, plan_of(graph, costs, best, policy), machine)


def used(model: PlannedModel) -> set[str]:
    return {model.plan.devices[segment.device] for segment in model.plan.segments}


@pytest.mark.parametrize("policy", ["auto", "heft", "peft"])
def test_branches_go_to_both(file: Path, right: dict[str, np.ndarray], policy: str) -> None:
    model = planned(read_model(file, file.parent / "cache"), policy)
    assert {"emulated:a", "emulated:b"} <= used(model)
    check(model.run(models.example_inputs("fork_join", **BRANCHES)), right)


def test_one_of_them_is_enough_where_both_are_not_worth_it(file: Path) -> None:
    """A chain would only be copied between them."""
    chain = models.save(models.build("chain", **CHAIN), file.parent / "chain.onnx")
    assert len(used(planned(read_model(chain, file.parent / "cache"), "auto"))) == 1


@pytest.mark.parametrize("policy", ["auto", "single"])
def test_it_is_loaded_on_both(file: Path, right: dict[str, np.ndarray], policy: str) -> None:
    """Measured, placed, and compared with others: which plan wins is the machine's."""
    model = surplus.load(file, DEVICES, policy, cache=file.parent / "cache", selection_s=0)
    assert model.plan.devices == ("cpu", "emulated:a", "emulated:b")
    check(model.run(models.example_inputs("fork_join", **BRANCHES)), right)
