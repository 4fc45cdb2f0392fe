"""Every model under every policy on every kind of machine answers as ONNX Runtime does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

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
    for plan in _plans(subject, devices):
        subject.check(Model(subject.graph, plan, machine).run(subject.inputs))


def _plans(subject: Prepared, devices: str) -> Iterator[Plan]:
    """What every policy would run; a random placement besides, from few segments to most."""
    costs = subject.costs_on(devices)
    for placement in _different(place(costs.problem, policy) for policy in policy_names()):
        chosen = candidates(costs, placement)[0]
        yield plan_of(subject.graph, costs, chosen, placement.policy)
    scattered = random_placement(costs.problem, seed=1)
    ranked = candidates(costs, scattered)
    for candidate in (ranked[0], max(ranked, key=_segments)):
        yield plan_of(subject.graph, costs, candidate, scattered.policy)
    yield plan_of_groups(subject.graph, per_task(costs.problem, scattered), "every task")


def _different(placements: Iterable[Placement]) -> Iterator[Placement]:
    """Policies often agree: each way to place, once."""
    return iter({placement.device_of: placement for placement in placements}.values())


def _segments(candidate: Candidate) -> int:
    return len(candidate.graph.groups)
