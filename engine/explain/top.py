"""The last seconds of the process's machines: models, lanes, who waits for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surplus.engine.explain.flights import Flights
from surplus.engine.explain.lane_traffic import LaneTraffic, lane_traffic
from surplus.engine.explain.traffic import ModelTraffic, traffic_of

Document = dict[str, Any]

_PERCENTILES = (50, 95, 99, 100)


@dataclass(frozen=True)
class MachineTop:
    """What ran on one machine.

    Parameters
    ----------
    devices : tuple of str
    window_ns : int
        How long was looked at.
    models : tuple of ModelTraffic
    lanes : tuple of LaneTraffic
    """

    devices: tuple[str, ...]
    window_ns: int
    models: tuple[ModelTraffic, ...]
    lanes: tuple[LaneTraffic, ...]

    @property
    def background_share(self) -> float:
        """Of the time of all lanes, what went to best effort, 0 to 1."""
        busy = sum(lane.busy_ns for lane in self.lanes if lane.is_best_effort)
        count = sum(not lane.is_best_effort for lane in self.lanes)
        return busy / max(1, count * self.window_ns)

    def document(self) -> Document:
        """Plain values, durations in ns."""
        return {
            "devices": list(self.devices),
            "window_ns": self.window_ns,
            "background_share": self.background_share,
            "models": [_model(model) for model in self.models],
            "lanes": [_lane(lane) for lane in self.lanes],
        }


def top_of(flights: Flights, most_explained: int) -> MachineTop:
    """Sum up what a machine recorded; ``most_explained`` as of ``traffic_of``."""
    return MachineTop(
        tuple(name for name, _ in flights.devices),
        flights.now_ns - flights.since_ns,
        tuple(traffic_of(flights, most_explained)),
        tuple(lane_traffic(flights)),
    )


def document_of(machines: Sequence[MachineTop]) -> Document:
    """What ``surplus.top``, the server and ``engine top --json`` say."""
    return {"machines": [machine.document() for machine in machines]}


def _model(model: ModelTraffic) -> Document:
    return {
        "model": model.model,
        "due_after_ns": model.due_after_ns or None,
        "priority": model.priority,
        "best_effort": model.best_effort,
        "window_ns": model.window_ns,
        "queries": model.queries,
        "rate_per_s": model.rate_per_s,
        "latency_ns": {f"p{percent}": model.percentile_ns(percent) for percent in _PERCENTILES},
        "misses": model.misses,
        "failed": model.failed,
        "explained": model.explained,
        "waits_for": [{"model": who, "share": share} for who, share in model.waits],
    }


def _lane(lane: LaneTraffic) -> Document:
    return {
        "device": lane.device,
        "lane": lane.lane,
        "best_effort": lane.is_best_effort,
        "window_ns": lane.window_ns,
        "busy_share": lane.busy_share,
        "lent_ns": lane.lent_ns,
        "models_ns": dict(lane.models),
    }
