"""The plan for while queries overlap, chosen for how many it lets through.

Where there are several GPUs of a kind it may be there several times, on some of them each; its
queries are answered by these in turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from surplus.engine.errors import PlacementError
from surplus.engine.runtime.replicas import on_devices, replica, used_devices
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
        The resource that it holds longest, and how long a query does (placement/occupancy.py), on
        the mean of all replicas.
    own_busiest, own_busiest_ns : str, int
        The same of the model's own plan.
    time_ratio : float
        Measured: time of queries that overlap, over that with the model's own plan.
    interval_ns : int
        Between two queries of its periodic schedule (placement/periodic.py); 0 where there is none.
    in_flight : int
        How many queries that schedule has at once: so many it answers at a time, each replica by
        itself, further ones wait. 0: as many as there are.
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
    """A plan of the same model on the same devices, and its grounds.

    Parameters
    ----------
    replicas : tuple of tuple of int
        Of each further copy of the plan, where it has the segments of each of the plan's devices.
    """

    plan: Plan
    grounds: Grounds
    replicas: tuple[tuple[int, ...], ...] = ()

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plan, and it on other devices, that answer in turn."""
        return self.plan, *(replica(self.plan, homes) for homes in self.replicas)

    def left_on(self, devices: Sequence[str]) -> ThroughputPlan | None:
        """Those of the plans that use only these of the plan's devices; None if none does."""
        places = {i: devices.index(n) for i, n in enumerate(self.plan.devices) if n in devices}
        used = used_devices(self.plan)
        homes = (tuple(range(len(self.plan.devices))), *self.replicas)
        left = [row for row in homes if all(row[device] in places for device in used)]
        if not left:
            return None
        new = {device: places[left[0][device]] for device in used}
        others = [[0] * len(devices) for _ in left[1:]]
        for row, moved in zip(left[1:], others, strict=True):
            for device in used:
                moved[new[device]] = places[row[device]]
        plan = on_devices(self.plan, new, devices)
        return ThroughputPlan(plan, self.grounds, tuple(map(tuple, others)))

    @property
    def text(self) -> str:
        """For people."""
        copies = f" on each of {len(self.plans)} groups of devices" if self.replicas else ""
        return f"{self.plan.name}, {len(self.plan.segments)} segments{copies}, {self.grounds.text}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the inverse of ``from_dict``."""
        plain = {"plan": json.loads(self.plan.to_json()), "grounds": asdict(self.grounds)}
        return plain | ({"replicas": self.replicas} if self.replicas else {})

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
            plan = Plan.from_dict(raw["plan"])
            return ThroughputPlan(plan, grounds, _homes(raw.get("replicas", ()), plan))
        except (KeyError, TypeError, ValueError) as error:
            raise PlacementError(f"throughput_plan: {error}") from error


def _homes(raw: Any, plan: Plan) -> tuple[tuple[int, ...], ...]:
    """Replicas as they were written; raises ValueError if they are not devices of the plan."""
    devices = range(len(plan.devices))
    rows = tuple(tuple(row) for row in raw)
    for row in rows:
        if len(row) != len(devices) or any(type(d) is not int or d not in devices for d in row):
            raise ValueError(f"replicas: {list(row)} are not {len(devices)} devices of the plan")
    return rows
