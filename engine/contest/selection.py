"""A built model as a contender, and the in-place times of one model alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surplus.engine.contest import in_place
from surplus.engine.contest.contest import Clock, Contest, ContestParams, ContestTurn
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.service import ServiceTimes


@dataclass(frozen=True)
class ModelContender:
    """A model that answers the same inputs again and again."""

    model: PlannedModel
    inputs: Mapping[str, Any]

    def run(self) -> None:
        """Answer once."""
        self.model.run(self.inputs)

    def run_traced(self) -> ContestTurn:
        """Answer once; return what that took, and the spans."""
        self.model.run(self.inputs, traced=True)
        total_ns = self.model.breakdown().total_ns
        return ContestTurn(total_ns, self.model.timeline(), total_ns)


def refit(
    model: PlannedModel,
    groups: GroupGraph,
    service: ServiceTimes,
    inputs: Mapping[str, Any],
    runs: int = 7,
    clock: Clock = time.perf_counter_ns,
) -> Plan:
    """The model's plan predicted from times measured in place (in_place.py), the model alone."""
    params = ContestParams(least_rounds=runs, most_rounds=runs)
    contest = Contest([ModelContender(model, inputs)], 1, params, clock)
    contest.play(deadline_ns=0)
    return in_place.refit(model.plan, groups, service, contest.turns(0))
