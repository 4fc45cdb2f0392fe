"""Every model under every policy on every kind of machine answers as ONNX Runtime does.

The default run tries a third of the policies with each model, in turn: all of them with a third of
the models on each machine. All with all are left to the slow run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from surplus import models
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.planning.stages import candidates, place, plan_of
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import Candidate, per_task
from surplus.placement.policy import policy_names
from tests.constant_costs import plan_of_groups, random_placement
from tests.device_lists import with_wanted
from tests.end_to_end.small_models import REPEATING, SMALL, Prepared

DEVICES = with_wanted("cpu:2", "cpu:1,emulated:gpu")
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name in REPEATING else name
    for name in sorted(SMALL)
]
EVERY = 3


def test_every_model_has_a_small_size() -> None:
    assert sorted(SMALL) == models.model_names()


@pytest.mark.parametrize("all_plans", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_plain_onnxruntimes(
    name: str, devices: str, all_plans: bool, prepared: Callable[[str], Prepared]
) -> None:
    subject = prepared(name)
    machine = machine_for(parse_devices(devices))
    turn = DEVICES.index(devices) + sorted(SMALL).index(name)
    policies = policy_names() if all_plans else policy_names()[turn % EVERY :: EVERY]
    for plan in _plans(subject, devices, policies, all_finest=all_plans):
        subject.check(PlannedModel(subject.graph, plan, machine).run(subject.inputs))


def _plans(
    subject: Prepared, devices: str, policies: Sequence[str], *, all_finest: bool
) -> Iterator[Plan]:
    """What each placement would run, the finest cuts of a random one or of all, and every task."""
    costs = subject.costs_on(devices)
    scattered = random_placement(costs.problem, seed=1)
    placements = [place(costs.problem, policy) for policy in policies]
    # Policies often agree: each way to place, once.
    for placement in {p.device_of: p for p in (*placements, scattered)}.values():
        ranked = candidates(costs, placement)
        yield plan_of(subject.graph, costs, ranked[0], placement.policy)
        finest = max(ranked, key=_segments)
        if finest is not ranked[0] and (all_finest or placement is scattered):
            yield plan_of(subject.graph, costs, finest, placement.policy)
    yield plan_of_groups(subject.graph, per_task(costs.problem, scattered), "every task")


def _segments(candidate: Candidate) -> int:
    return len(candidate.graph.groups)
