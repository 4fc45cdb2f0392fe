"""What a judge (judge.py) asks of a model and of whoever keeps its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from surplus.engine.judging.plan_trial import PlanTrial
from surplus.engine.runtime.prepared import Prepared
from surplus.engine.runtime.throughput_switch import ThroughputSwitch
from surplus.engine.segmentation.judgement import Judgement
from surplus.engine.segmentation.plan import Plan


class Judged(Protocol):
    """What a judge asks of a model (model.py)."""

    def judge(self) -> int | None:
        """Have its judge do what is due, and say when that is next (watcher.py)."""

    @property
    def plan(self) -> Plan:
        """What answers now."""

    @property
    def is_answering(self) -> bool:
        """Whether a query is in flight on its machine."""

    def may_answer(self, plan: Plan) -> bool:
        """Whether a plan may take over."""

    def prepare(self, plan: Plan) -> Prepared:
        """Open its sessions."""

    def take_over(self, prepared: Prepared) -> bool:
        """Answer with it from now on."""

    def try_beside(
        self, trial_of: Callable[[Prepared, ThroughputSwitch | None], PlanTrial]
    ) -> PlanTrial:
        """Begin a trial."""

    def go_on(self, trial: PlanTrial) -> bool:
        """Go on with a trial that rested; False where another plan answers now."""

    def end_trial(self) -> None:
        """Go on without."""


Keep = Callable[[Plan, Judgement], object]
"""Stores a plan and its judgement for the next start."""
