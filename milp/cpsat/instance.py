"""What the constraint solver's process is told: it builds the program itself.

OR-Tools and highspy, which PuLP loads, crash in one process. So the caller, who may have used
PuLP, never loads OR-Tools.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from placement.problem import Problem


@dataclass(frozen=True)
class Instance:
    """A problem and the times of interest.

    Parameters
    ----------
    problem : Problem
        What is to be placed.
    upper_ns : int
        Makespan that a schedule of interest does not exceed.
    unit_ns : int
        The program's unit of time, >= 1. All times are rounded down to it, which keeps every
        schedule: the rounded ends of a sum of times are at least the sum of the rounded times.
    """

    problem: Problem
    upper_ns: int
    unit_ns: int

    def scaled(self, time_ns: int) -> int:
        """A time in whole units, rounded down."""
        return time_ns // self.unit_ns

    def to_json(self) -> str:
        """Serialise; the inverse of ``from_json``."""
        problem = self.problem.to_json()
        return json.dumps({"upper_ns": self.upper_ns, "unit_ns": self.unit_ns, "problem": problem})

    @staticmethod
    def from_json(text: str) -> Instance:
        """Read an instance."""
        raw = json.loads(text)
        return Instance(Problem.from_json(raw["problem"]), raw["upper_ns"], raw["unit_ns"])
