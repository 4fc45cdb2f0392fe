"""What the constraint solver's process is told: it builds the program itself.

OR-Tools and highspy, which PuLP loads, crash in one process. So the caller, who may have used
PuLP, never loads OR-Tools.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from surplus.milp.memory import MemoryRoom
from surplus.placement.problem import Problem


@dataclass(frozen=True)
class CpSatInstance:
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
    room : MemoryRoom
        What has to fit into a memory at once.
    lower_ns : int
        No schedule is shorter: what was proven before need not be proven anew.
    """

    problem: Problem
    upper_ns: int
    unit_ns: int
    room: MemoryRoom = MemoryRoom.NEEDED
    lower_ns: int = 0

    def scaled(self, time_ns: int) -> int:
        """A time in whole units, rounded down."""
        return time_ns // self.unit_ns

    def to_json(self) -> str:
        """Serialise; the inverse of ``from_json``."""
        return json.dumps(
            {
                "upper_ns": self.upper_ns,
                "lower_ns": self.lower_ns,
                "unit_ns": self.unit_ns,
                "room": self.room,
                "problem": self.problem.to_json(),
            }
        )

    @staticmethod
    def from_json(text: str) -> CpSatInstance:
        """Read an instance."""
        raw = json.loads(text)
        problem = Problem.from_json(raw["problem"])
        room = MemoryRoom(raw["room"])
        return CpSatInstance(problem, raw["upper_ns"], raw["unit_ns"], room, raw["lower_ns"])
