"""Every model under every policy on every kind of machine answers as ONNX Runtime does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from constant_costs import plan_of_groups, random_placement
from device_lists import with_wanted
from small_models import REPEATING, SMALL, Prepared

import models
from engine.pipeline.stages import candidates, place, plan_of
from engine.profiling.devices import parse_devices
from engine.runtime.machines import machine_for
from engine.runtime.model import Model
from engine.segmentation.plan import Plan
from engine.segmentation.segmenter import Candidate, per_task
from placement.placement import Placement
from placement.policy import policy_names

DEVICES = with_wanted("cpu:2", "cpu:1,emulated:gpu")
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name in REPEATING else name
    for name in sorted(SMALL)
]


def test_every_model_has_a_small_size() -> None:
    assert sorted(SMALL) == models.model_names()


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_plain_onnxruntimes(
    name: str, devices: str, prepared: Callable[[str], Prepared]
) -> None:
    subject = prepared(name)
    machine = machine_for(parse_devices(devices))
    for plan in _distinct(_plans(subject, devices)):
        subject.check(Model(subject.graph, plan, machine).run(subject.inputs))


def _plans(subject: Prepared, devices: str) -> Iterator[Plan]:
    problem = subject.costs_on(devices).problem
    for policy in policy_names():
        yield from _best_and_finest(subject, devices, place(problem, policy))
    scattered = random_placement(problem, seed=1)
    yield from _best_and_finest(subject, devices, scattered)
    yield plan_of_groups(subject.graph, per_task(problem, scattered), "every task")


def _best_and_finest(subject: Prepared, devices: str, placement: Placement) -> Iterator[Plan]:
    """The segmentation that would be chosen, and the one of most segments."""
    costs = subject.costs_on(devices)
    ranked = candidates(costs, placement)
    for candidate in (ranked[0], max(ranked, key=_segments)):
        yield plan_of(subject.graph, costs, candidate, placement.policy)


def _segments(candidate: Candidate) -> int:
    return len(candidate.graph.groups)


def _distinct(plans: Iterator[Plan]) -> Iterator[Plan]:
    """Policies often agree; a plan is what runs where, whoever made it."""
    seen = set()
    for plan in plans:
        key = tuple((s.device, s.width, s.tasks) for s in plan.segments)
        if key not in seen:
            seen.add(key)
            yield plan
