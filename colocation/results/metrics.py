"""What a run comes to, for each service and over all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.record import NEVER_NS
from surplus.colocation.frame.service import Service
from surplus.colocation.simulation.simulator import Run

_NAMES = {outcome: outcome.name.lower() for outcome in Outcome}


@dataclass(frozen=True)
class Tally:
    """Figures of one service, or of all.

    Parameters
    ----------
    name : str
    offered : int
        Queries that arrived.
    in_time, late, dropped, rejected, failed, unfinished : int
        What became of them; they sum up to ``offered``.
    p50_ns, p99_ns : int or None
        Latency of the answered ones, late ones included; None if there are none. The smallest
        latency that at least that share of them does not exceed. Drops censor it.
    served_per_s, goodput_per_s : float
        Answers before the end of the arrivals, late ones too; those of them that are in time. What
        is answered after it is in neither, so that the one never exceeds the other.
    """

    name: str
    offered: int
    in_time: int
    late: int
    dropped: int
    rejected: int
    failed: int
    unfinished: int
    p50_ns: int | None
    p99_ns: int | None
    served_per_s: float
    goodput_per_s: float

    @property
    def goodput(self) -> float:
        """Share of the offered queries that were answered in time; 1 if there were none."""
        return self.in_time / self.offered if self.offered else 1.0

    @property
    def violations(self) -> float:
        """Share of the offered queries that were not answered in time, for any reason."""
        return 1.0 - self.goodput

    def to_dict(self) -> dict[str, Any]:
        """Make plain values for JSON."""
        return asdict(self) | {"goodput": self.goodput, "violations": self.violations}


@dataclass(frozen=True)
class RunSummary:
    """Figures of one policy.

    Parameters
    ----------
    policy : str
    total : Tally
    services : tuple of Tally
    utilisation : float
        Share of the devices that was held by groups, from 0 to the end of the arrivals or of
        the last group, whichever is later.
    fairness : float
        Jain's index of the services' goodput, 1 / n to 1; 1 if nobody got anything.
    shortfall_per_s : float
        Queries a second that the planner found no place for.
    decision_mean_ns, decision_max_ns : int
        Wall time of an event's decisions; the only figures that differ from run to run.
    """

    policy: str
    total: Tally
    services: tuple[Tally, ...]
    utilisation: float
    fairness: float
    shortfall_per_s: float
    decision_mean_ns: int
    decision_max_ns: int

    def to_dict(self, timing: bool = False) -> dict[str, Any]:
        """Make plain values for JSON; without ``timing`` the same for the same scenario."""
        document: dict[str, Any] = {
            "policy": self.policy,
            "total": self.total.to_dict(),
            "services": [tally.to_dict() for tally in self.services],
            "utilisation": self.utilisation,
            "fairness": self.fairness,
            "shortfall_per_s": self.shortfall_per_s,
        }
        if timing:
            document["decision_mean_ns"] = self.decision_mean_ns
            document["decision_max_ns"] = self.decision_max_ns
        return document


def summarise(run: Run, load: Load, services: Sequence[Service], devices: int) -> RunSummary:
    """Compute all figures of a run on so many devices."""
    record = run.record
    tallies = tuple(
        _tally(service.name, run, load, load.service == index)
        for index, service in enumerate(services)
    )
    return RunSummary(
        policy=run.policy,
        total=_tally("all", run, load, np.ones(len(load), bool)),
        services=tallies,
        utilisation=_utilisation(run, load.duration_ns, devices),
        fairness=jain([tally.goodput for tally in tallies]),
        shortfall_per_s=sum(s.rate_per_s for s in run.deployment.shortfalls),
        decision_mean_ns=record.deciding_ns // max(1, record.decisions),
        decision_max_ns=record.longest_decision_ns,
    )


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index.

    References
    ----------
    Jain, Chiu, Hawe: DEC-TR-301, 1984, eq. 2.
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def _tally(name: str, run: Run, load: Load, mask: npt.NDArray[np.bool_]) -> Tally:
    outcome = np.frombuffer(run.record.outcome, np.int8)[mask]
    ended_ns = np.frombuffer(run.record.ended_ns, np.int64)[mask]
    counts = {_NAMES[kind]: int((outcome == kind).sum()) for kind in Outcome}
    in_time = outcome == Outcome.IN_TIME
    answered = in_time | (outcome == Outcome.LATE)
    latency_ns = np.sort((ended_ns - load.arrival_ns[mask])[answered])
    soon = ended_ns < load.duration_ns
    return Tally(
        name=name,
        offered=len(outcome),
        **counts,
        p50_ns=_quantile(latency_ns, 50),
        p99_ns=_quantile(latency_ns, 99),
        served_per_s=int((answered & soon).sum()) * NS_PER_S / load.duration_ns,
        goodput_per_s=int((in_time & soon).sum()) * NS_PER_S / load.duration_ns,
    )


def _quantile(ascending: npt.NDArray[np.int64], percent: int) -> int | None:
    """Nearest rank: exact, and always a latency that occurred."""
    count = len(ascending)
    return int(ascending[-(-count * percent // 100) - 1]) if count else None


def _utilisation(run: Run, duration_ns: int, devices: int) -> float:
    start_ns = np.frombuffer(run.record.group_start_ns, np.int64)
    end_ns = np.frombuffer(run.record.group_end_ns, np.int64)
    if not len(start_ns):
        return 0.0
    horizon_ns = max(duration_ns, int(end_ns.max()))
    until_ns = np.where(end_ns == NEVER_NS, horizon_ns, end_ns)
    partition = np.frombuffer(run.record.group_partition, np.int64)
    shares = np.array([p.share_percent for p in run.deployment.partitions], np.float64)
    cores = np.array([p.cores for p in run.deployment.partitions], np.int64)[partition]
    # Where cores are claimed, what a core is of the device, in percent.
    share = shares[partition] / np.maximum(1, cores)
    claimed = np.frombuffer(run.record.group_cores, np.int64).copy()
    held = float(((until_ns - start_ns) * share * np.where(cores > 0, claimed, 1)).sum())
    for when_ns, group, now in run.record.resizes:
        held += float(share[group]) * int(now - claimed[group]) * int(until_ns[group] - when_ns)
        claimed[group] = now
    return held / (100 * devices * horizon_ns)
