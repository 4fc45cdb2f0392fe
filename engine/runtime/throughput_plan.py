"""The plan for while queries overlap, chosen for how many it lets through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from surplus.engine.errors import PlacementError
from surplus.engine.segmentation.plan import Plan
from surplus.placement.records import read_record


@dataclass(frozen=True)
class Grounds:
    """Why a throughput plan was taken, and from when on it is used.

    Parameters
    ----------
    queries : int
        It answers while so many are in flight.
    busiest, busiest_ns : str, int
        The resource that it holds longest, and how long a query does (placement/occupancy.py).
    own_busiest, own_busiest_ns : str, int
        The same of the model's own plan.
    time_ratio : float
        Measured: time of queries that overlap, over that with the model's own plan.
    interval_ns : int
        Between two queries of its periodic schedule (placement/periodic.py); 0 where there is none.
    in_flight : int
        How many queries that schedule has at once: so many it answers at a time, further ones wait.
        0: as many as there are.
    """

    queries: int
    busiest: str
    busiest_ns: int
    own_busiest: str
    own_busiest_ns: int
    time_ratio: float
    interval_ns: int = 0
    in_flight: int = 0

    @property
    def text(self) -> str:
        """For people."""
        window = f", {self.in_flight} of them at a time" if self.in_flight else ""
        return (
            f"while {self.queries} queries or more are in flight: each holds {self.busiest} for"
            f" {self.busiest_ns / 1e6:.3g} ms, where the plan for one query holds"
            f" {self.own_busiest} for {self.own_busiest_ns / 1e6:.3g} ms; measured, overlapping"
            f" queries take {self.time_ratio:.2f} of the time{window}"
        )


@dataclass(frozen=True)
class ThroughputPlan:
    """A plan of the same model on the same devices, and its grounds."""

    plan: Plan
    grounds: Grounds

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.plan.name}, {len(self.plan.segments)} segments, {self.grounds.text}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the inverse of ``from_dict``."""
        return {"plan": json.loads(self.plan.to_json()), "grounds": asdict(self.grounds)}

    @staticmethod
    def from_dict(raw: Mapping[str, Any]) -> ThroughputPlan:
        """Read it.

        Raises
        ------
        PlacementError
            Naming the field that is missing, unknown or of a wrong type.
        """
        try:
            grounds = read_record(Grounds, raw["grounds"], "throughput_plan.grounds")
            return ThroughputPlan(Plan.from_dict(raw["plan"]), grounds)
        except (KeyError, TypeError, ValueError) as error:
            raise PlacementError(f"throughput_plan: {error}") from error
