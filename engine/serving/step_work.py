"""What a step of an ensemble has computed since somebody asked for it last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

StepName = tuple[str, str]
"""Of a model, and its version; empty for the newest."""


@dataclass(frozen=True)
class StepWork:
    """Of one step.

    Parameters
    ----------
    inferences, calls : int
        Queries, and calls of the step's graph for them: those that were stacked are one.
    timed : int
        Of the queries, those of which it is known how long the step took; times are of these.
    took_ns, queued_ns : int
        From when it was asked to its answer; what of that it waited for a lane.
    tells_below : bool
        Whether the step is an ensemble whose own steps are told of by themselves.
    """

    step: StepName
    inferences: int
    calls: int
    timed: int = 0
    took_ns: int = 0
    queued_ns: int = 0
    tells_below: bool = False


@runtime_checkable
class TellsOfSteps(Protocol):
    """What answers for an ensemble and asks each step by itself."""

    def take_step_work(self) -> list[StepWork]:
        """Of each step, and of those below, since the last call."""
        ...
