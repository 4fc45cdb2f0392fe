"""What is known of a problem's throughput: a placement, its load, a bound, a schedule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surplus.milp.result import Status
from surplus.placement.periodic import PeriodicSchedule
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.stored_schedule import schedule_rows
from surplus.placement.throughput_front import FrontPoint

FORMAT = "surplus-throughput/1"
_NS_PER_S = 1_000_000_000
_NS_PER_US = 1_000


@dataclass(frozen=True)
class ThroughputResult:
    """The placement with the least load that was found, and how far from the optimum it can be.

    Parameters
    ----------
    status : Status
        Of the load, not of the schedule.
    load_ns : int or None
        What the busiest resource does for one query. None without a placement.
    bound_ns : int
        No placement's load is less.
    gap : float or None
        ``(load_ns - bound_ns) / load_ns``.
    occupancy_ns : mapping of str to int
        Of each resource, a query.
    placement : Placement or None
    schedule : PeriodicSchedule or None
        Shows that the load can be attained, or how nearly.
    runtime_s : float
        Wall-clock time of the whole search.
    message : str
        What happened, in a few words.
    front : tuple of FrontPoint
        Latency against throughput, if that was asked for.
    """

    status: Status
    load_ns: int | None
    bound_ns: int
    gap: float | None
    occupancy_ns: Mapping[str, int]
    placement: Placement | None
    schedule: PeriodicSchedule | None
    runtime_s: float
    message: str
    front: tuple[FrontPoint, ...] = ()

    def to_json(self, problem: Problem) -> str:
        """Serialise with the names of tasks and devices of ``problem``."""
        document: dict[str, Any] = {
            "format": FORMAT,
            "problem": problem.name,
            "status": str(self.status),
            "load_ns": self.load_ns,
            "bound_ns": self.bound_ns,
            "gap": self.gap,
            "occupancy_ns": dict(self.occupancy_ns),
            "runtime_s": round(self.runtime_s, 3),
            "message": self.message,
        }
        if self.front:
            document["front"] = [point.to_dict() for point in self.front]
        schedule = self.schedule
        if self.placement is not None and schedule is not None:
            document |= {
                "interval_ns": schedule.interval_ns,
                "latency_ns": schedule.latency_ns,
                "in_flight": schedule.in_flight,
                "lane_groups": {
                    name: {"count": groups.count, "size": groups.size}
                    for name, groups in schedule.groups.items()
                },
                **schedule_rows(problem, self.placement, schedule.timeline),
            }
        return json.dumps(document, indent=1)

    def table(self, problem: Problem) -> str:
        """For a terminal."""
        size = f"{len(problem.tasks)} tasks, {len(problem.devices)} devices"
        rows = [
            ("problem", f"{problem.name}: {size}"),
            ("status", str(self.status)),
            ("load", _a_second(self.load_ns)),
            ("bound", _a_second(self.bound_ns)),
            ("gap", "-" if self.gap is None else f"{self.gap:.3%}"),
        ]
        if (schedule := self.schedule) is not None:
            longer = schedule.interval_ns / max(1, schedule.load_ns) - 1
            rows += [
                ("interval", f"{_us(schedule.interval_ns)}, {longer:.2%} above the load"),
                ("latency", f"{_us(schedule.latency_ns)}, {schedule.in_flight} queries in flight"),
            ]
        rows += [("time", f"{self.runtime_s:.1f} s"), ("solver", self.message)]
        lines = [f"{name:<10} {value}" for name, value in rows]
        if self.occupancy_ns:
            ordered = sorted(self.occupancy_ns.items(), key=lambda row: (-row[1], row[0]))
            lines += ["", f"{'resource':<24}  {'a query':>12}"]
            lines += [f"{name:<24}  {_us(ns):>12}" for name, ns in ordered]
        if self.front:
            lines += ["", f"{'interval':>14}  {'latency':>14}  {'in flight':>9}  placement of"]
            lines += [
                f"{_us(p.interval_ns):>14}  {_us(p.latency_ns):>14}  {p.in_flight:>9}  {p.policy}"
                for p in self.front
            ]
        return "\n".join(lines)


def _us(time_ns: int) -> str:
    return f"{time_ns / _NS_PER_US:.1f} us"


def _a_second(load_ns: int | None) -> str:
    if load_ns is None:
        return "-"
    if load_ns == 0:
        return "0.0 us"
    return f"{_us(load_ns)} a query, {_NS_PER_S / load_ns:.1f} queries/s"
