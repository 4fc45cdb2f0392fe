"""What a placement says of widths is what lanes run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.explain.flights import NodeField
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.placement_file import save_placement
from surplus.engine.planning.stages import costs_of, measure, place, read_model
from surplus.engine.planning.whole_plan import whole_plan
from surplus.engine.profiling.costs import problem_of
from surplus.engine.profiling.profile import Profile
from surplus.engine.runtime import flight_log
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.coarse import coarse_problem
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.placement import Placement, Problem, check
from surplus.placement.widths import is_moldable
from tests.constant_costs import random_widths
from tests.pipeline.subject import Subject


class Placed:
    """A model, what it costs here, and how to load a placement of it from a file."""

    def __init__(self, subject: Subject, devices: str, folder: Path) -> None:
        self.subject, self.devices, self._folder = subject, devices, folder
        self.specs = parse_devices(devices)
        self.graph: Graph = read_model(subject.path, subject.cache)
        self.profile: Profile = measure(self.graph, self.specs, subject.inputs, subject.cache)
        self.profile.save(folder / "P.json")
        self.problem: Problem = problem_of(self.graph, self.profile, self.specs, widths=True)

    def load(self, placement: Placement, **options: Any) -> PlannedModel:
        save_placement(self._folder / "F.json", self.graph, self.problem, placement)
        files = {"placement": self._folder / "F.json", "profile": self._folder / "P.json"}
        quick = {"cache": self.subject.cache, "selection_s": 0, "kernels": "onnxruntime"}
        asked = {"inputs": self.subject.inputs, **files, **quick, **options}
        return load_planned(self.subject.path, **asked)

    def whole(self) -> Mapping[str, Any]:
        """Answers of the whole model in one session."""
        plan = whole_plan(self.graph, self.specs)
        return PlannedModel(self.graph, plan, machine_for(self.specs)).run(self.subject.inputs)


@pytest.fixture(params=["cpu:2", "cpu:3", "cpu:2,emulated:gpu"])
def prepared(shared: Subject, request: pytest.FixtureRequest, tmp_path: Path) -> Placed:
    return Placed(shared, request.param, tmp_path)


def check_runs_as_planned(model: PlannedModel, placement: Placement) -> None:
    """Each segment is where its tasks are, and as wide as each of them."""
    for segment in model.plan.segments:
        for task in segment.tasks:
            assert segment.device == placement.device_of[task]
            assert segment.width == placement.width_of[task]


def ran(model: PlannedModel, inputs: Mapping[str, Any]) -> dict[str, int]:
    """Lanes that each segment of a query took, as the core recorded it."""
    flight_log.record()
    began_ns = time.monotonic_ns()
    model.run(inputs, traced=True)
    flown = flight_log.flights(model._machine, 60)
    rows = [row for row in flown.nodes.tolist() if row[NodeField.START] >= began_ns]
    cards = [flown.plans[row[NodeField.PLAN]].nodes[row[NodeField.NODE]] for row in rows]
    return {card.name: card.width for card in cards if not card.is_copy}


@pytest.mark.parametrize("seed", range(3))
def test_what_was_planned_is_what_runs(prepared: Placed, seed: int) -> None:
    placement, inputs = random_widths(prepared.problem, seed), prepared.subject.inputs
    assert max(placement.width_of) > 1
    model = prepared.load(placement)
    check_runs_as_planned(model, placement)
    assert ran(model, inputs) == {s.name: s.width for s in model.plan.segments}
    for name, right in prepared.whole().items():
        np.testing.assert_allclose(model.run(inputs)[name], right, rtol=1e-4, atol=1e-5)


def test_wide_segments_have_a_thread_for_each_lane(shared: Subject, tmp_path: Path) -> None:
    prepared = Placed(shared, "cpu:3", tmp_path)
    before = _core.wide_sessions()
    model = prepared.load(random_widths(prepared.problem, 1))
    wide = [s.width for s in model.plan.segments if s.width > 1]
    after = _core.wide_sessions()
    assert after["sessions"] - before["sessions"] == len(wide) > 0
    assert after["own_threads"] - before["own_threads"] == sum(width - 1 for width in wide)


def test_a_measured_query_is_a_schedule_of_the_widths(shared: Subject, tmp_path: Path) -> None:
    prepared = Placed(shared, "cpu:2", tmp_path)
    model = prepared.load(random_widths(prepared.problem, 2))
    model.run(prepared.subject.inputs)
    model.run(prepared.subject.inputs, traced=True)
    groups = [TaskGroup(s.tasks, s.device, s.width) for s in model.plan.segments]
    costs = costs_of(prepared.graph, prepared.profile, prepared.specs)
    problem, placement = coarse_problem(GroupGraph(prepared.problem, groups), costs.service)
    check(problem, placement, model.timeline(), durations="any")


@pytest.mark.parametrize("policy", ["auto", "heft", "anneal", "single"])
def test_policies_plans_run_as_they_say(shared: Subject, policy: str, tmp_path: Path) -> None:
    prepared = Placed(shared, "cpu:2", tmp_path)
    assert is_moldable(prepared.problem)
    placed = place(prepared.problem, policy)
    model = prepared.load(placed)
    check_runs_as_planned(model, replace(placed, width_of=placed.widths(prepared.problem)))
    assert model.run(prepared.subject.inputs)


def test_a_width_that_this_machine_was_not_profiled_at_is_refused(
    shared: Subject, tmp_path: Path
) -> None:
    prepared = Placed(shared, "cpu:3", tmp_path)
    widest = replace(
        random_widths(prepared.problem, 1), width_of=(3,) * len(prepared.problem.tasks)
    )
    with pytest.raises(PlacementError, match="has no width 3 on device 'cpu', only 1, 2"):
        prepared.load(widest, devices="cpu:2")
