"""One plan gives the same bits, whatever the lanes and whatever else is in flight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from surplus.engine.contest.reference import run_reference
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import per_task
from tests.constant_costs import plan_of_groups, random_placement
from tests.end_to_end.small_models import Prepared

REPEATS = 100
IN_FLIGHT = 10
SUBJECTS = (
    "random_dag",
    "mobilenet_v2",
    "dlrm",
    pytest.param("faster_rcnn", marks=pytest.mark.slow),
)


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("lanes", [1, 2])
def test_cpu_lanes(name: str, lanes: int, prepared: Callable[[str], Prepared]) -> None:
    subject = prepared(name)
    plan = _scattered(subject, "cpu:2")
    _check_repeats(subject, plan, f"cpu:{lanes}")


@pytest.mark.parametrize("lanes", [1, 2])
def test_emulated_lanes(lanes: int, prepared: Callable[[str], Prepared]) -> None:
    subject = prepared("random_dag")
    plan = _scattered(subject, "cpu:1,emulated:gpu")
    _check_repeats(subject, plan, f"cpu:{lanes},emulated:gpu:{lanes}")


def _scattered(subject: Prepared, devices: str) -> Plan:
    problem = subject.costs_on(devices).problem
    groups = per_task(problem, random_placement(problem, seed=2))
    plan = plan_of_groups(subject.graph, groups, "every task")
    short = tuple(replace(segment, service_ns=1_000) for segment in plan.segments)
    return replace(plan, segments=short)


def _check_repeats(subject: Prepared, plan: Plan, devices: str) -> None:
    """Against the oracle that runs one segment after another."""
    right = run_reference(subject.graph, plan, subject.inputs)
    model = PlannedModel(subject.graph, plan, machine_for(parse_devices(devices)))
    for _ in range(REPEATS // IN_FLIGHT):
        futures = [model.submit(subject.inputs) for _ in range(IN_FLIGHT)]
        for future in futures:
            _check_bits(future.result(), right)


def _check_bits(outputs: Mapping[str, Any], right: Mapping[str, Any]) -> None:
    assert outputs.keys() == right.keys()
    for name, array in right.items():
        assert outputs[name].dtype == array.dtype
        assert outputs[name].shape == array.shape
        assert np.array_equal(outputs[name].view(np.uint8), array.view(np.uint8)), name
