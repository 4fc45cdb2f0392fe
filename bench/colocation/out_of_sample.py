"""What a user's simulation of a live run is worth: made before it, of what another run has shown.

The simulation beside a run takes its pace from that very run, which says how well the simulator
repeats what a machine did, and predicts nothing. Here the pace is that of another run, of another
policy and another trace of the same scenario; or there is none, and the profile is believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from bench.infrastructure.pace import pace_of
from surplus.colocation import PolicySpec, Scenario, compare
from surplus.colocation.results.comparison import Compared
from surplus.colocation.results.metrics import Tally
from surplus.colocation.simulation.simulator import Run, Setting, simulate
from surplus.colocation.truths.truth import HostedTruth, Pace, PacedTruth

EARLIER_POLICY = "edf"
"""Of the other run: it drops nothing, so that every service is in it."""
LATER = 1_000
"""Added to the scenario's seed for the other run's trace."""
OTHER, NONE = "another run", "no pace"
PREDICTED = tuple(f"{what}, {of}" for of in (OTHER, NONE) for what in ("points off", "p99 ratio"))
"""Columns of a run."""


@dataclass(frozen=True)
class Prediction:
    """What is known of a machine before a run.

    Parameters
    ----------
    name : str
        Of the columns.
    scenario : Scenario
    pace : Pace
    host_ns : int
        What each group waits for the host.
    """

    name: str
    scenario: Scenario
    pace: Pace
    host_ns: int = 0

    def of(self, policy: str) -> Compared:
        """Simulate a policy."""
        return simulated_at(self.scenario, policy, self.pace, self.host_ns)

    def columns(self, policy: str, live: Tally) -> dict[str, Any]:
        """How far a live run was from it, in points of violations and as a ratio of p99."""
        total = self.of(policy).summary.total
        ratio = None
        if live.p99_ns is not None and total.p99_ns is not None:
            ratio = round(live.p99_ns / total.p99_ns, 3)
        off = round(100 * (live.violations - total.violations), 2)
        return {f"points off, {self.name}": off, f"p99 ratio, {self.name}": ratio}


def simulated_at(scenario: Scenario, policy: str, pace: Pace, host_ns: int = 0) -> Compared:
    """Simulate on a machine of that pace, whose host holds each group up for so long."""

    def runner(setting: Setting, spec: PolicySpec) -> Run:
        truth = HostedTruth(PacedTruth(setting.truth, pace), host_ns)
        return simulate(replace(setting, truth=truth), spec)

    (found,) = compare(scenario, [policy], runner)[1]
    return found


def earlier(scenario: Scenario) -> Scenario:
    """The same load in another trace, to run before."""
    return replace(scenario, seed=scenario.seed + LATER)


def typical(pace: Pace) -> Pace:
    """A run's pace without its seconds, which are not those of another run."""
    return pace._replace(windows=(fmean(pace.windows),))


def predictions(scenario: Scenario, other: Run, emulated: bool) -> tuple[Prediction, Prediction]:
    """By the pace of another run, and by none.

    On a CPU what neighbours cost is in the pace; an emulated device charges the profile's times,
    and what another run shows of it is how long its host holds groups up.
    """
    flat = Pace(1, (1.0,), (1.0,) * len(scenario.services))
    plain = Prediction(NONE, scenario, flat)
    if emulated:
        host_ns = other.record.starting_ns // max(1, len(other.record.group_start_ns))
        return Prediction(OTHER, scenario, flat, host_ns), plain
    pace = typical(pace_of(earlier(scenario), other))
    return Prediction(OTHER, replace(scenario, interference=None), pace), plain


def errors(rows: Sequence[Mapping[str, Any]], close: float) -> dict[str, Any]:
    """How far runs were from both, on the mean, and whose p99 was close; of rows that say it."""
    found: dict[str, Any] = {}
    for name in (OTHER, NONE):
        known = [row for row in rows if row.get(f"p99 ratio, {name}") is not None]
        ratios = [abs(float(row[f"p99 ratio, {name}"]) - 1) for row in known]
        points = [abs(float(row[f"points off, {name}"])) for row in known]
        near = sum(round(ratio, 3) <= close for ratio in ratios)
        found |= {
            f"p99 off %, {name}": round(100 * fmean(ratios), 1) if known else "-",
            f"p99 within {100 * close:.0f} %, {name}": near if known else "-",
            f"points off, {name}": round(fmean(points), 2) if known else "-",
        }
    return found
