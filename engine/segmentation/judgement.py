"""On what grounds a plan is used, and what else might be: kept beside the plan."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from surplus.engine.profiling.disturbance import Disturbance
from surplus.engine.profiling.intervals import Interval
from surplus.engine.segmentation.plan import Plan

_MOST_TRIALS = 16
"""The last ones are kept."""


class TrialOutcome(StrEnum):
    """What came of a trial."""

    KEPT = "kept"
    TOOK_OVER = "took over"
    NEXT_START = "takes over at the next start"
    OPEN = "no difference shown"


@dataclass(frozen=True)
class RunnerUp:
    """A plan that was built and may be better under other conditions.

    Parameters
    ----------
    name : str
    plan : str
        As JSON, which nobody reads before it is needed.
    ratio : float
        Its time over that of the plan that is used, when last measured; 0 if it never was.
    """

    name: str
    plan: str
    ratio: float

    @staticmethod
    def of(plan: Plan, ratio: float) -> RunnerUp:
        """A plan and how it did."""
        return RunnerUp(plan.name, plan.to_json(), ratio)

    def read(self) -> Plan:
        """The plan itself.

        Raises
        ------
        PlacementError
            Naming the field that is missing, unknown or of a wrong type.
        """
        return _plan_of(self.plan)


@lru_cache(maxsize=256)
def _plan_of(text: str) -> Plan:
    """A plan never changes, and a program may load its model again and again."""
    return Plan.from_json(text)


@dataclass(frozen=True)
class TrialRecord:
    """A runner-up in service beside the plan.

    Parameters
    ----------
    at_s : int
        When, since the epoch.
    plan, runner_up : str
        Names.
    ratio : Interval
        The runner-up's time over the plan's, and of how many pairs of turns.
    queries_ns, lost_ns : int
        Time of all queries meanwhile, and what the trial cost them.
    disturbance : Disturbance
        Meanwhile.
    """

    at_s: int
    plan: str
    runner_up: str
    ratio: Interval
    outcome: TrialOutcome
    queries_ns: int
    lost_ns: int
    disturbance: Disturbance

    @property
    def text(self) -> str:
        """For people."""
        return (
            f"{self.runner_up} takes {self.ratio.median:.3f} of {self.plan} in {self.ratio.rounds}"
            f" pairs, {self.disturbance.text}: {self.outcome}"
        )


@dataclass(frozen=True)
class Judgement:
    """How a plan was found to be the best.

    Parameters
    ----------
    at_s : int
        When it was measured last, since the epoch.
    disturbance : Disturbance
        Meanwhile.
    provisional : bool
        Whether the machine was too disturbed for it to hold.
    measured_ns, predicted_ns : int
        Median time of a query then, and the plan's makespan before anything was measured.
    runners_up : tuple of RunnerUp
        The likeliest first.
    trials : tuple of TrialRecord
        In service since, the last ones.
    """

    at_s: int
    disturbance: Disturbance
    provisional: bool
    measured_ns: int
    predicted_ns: int
    runners_up: tuple[RunnerUp, ...] = ()
    trials: tuple[TrialRecord, ...] = ()

    def after(self, trial: TrialRecord, *, measured_ns: int) -> Judgement:
        """With a trial more, of the plan that is used from now on.

        Parameters
        ----------
        measured_ns : int
            Median time of that plan's queries in the trial.
        """
        return replace(
            self,
            at_s=trial.at_s,
            disturbance=trial.disturbance,
            provisional=not trial.disturbance.is_quiet,
            measured_ns=measured_ns,
            trials=(*self.trials, trial)[-_MOST_TRIALS:],
        )

    def noting(self, trial: TrialRecord) -> Judgement:
        """With a trial more that says nothing of another start: others took of the machine."""
        return replace(self, trials=(*self.trials, trial)[-_MOST_TRIALS:])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; ``read_record`` reads them."""
        raw: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return raw
