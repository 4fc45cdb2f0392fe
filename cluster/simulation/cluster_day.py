"""Simulates a cluster window by window: a fluid of queries, judged by bounds on lateness.

Within a window a model's rate stands still. What is in time follows from the rates and from what
is loaded: before all of a model's new replicas are, from what serves until then; of a model that
wakes, nothing before its first query has come and it is loaded. Queries that are late are given
up, as dispatchers with early drop do, so that windows do not depend on those before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt

from surplus.cluster.control.autoscaler import Autoscaler
from surplus.cluster.frame.check_plan import check_plan
from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.cluster.frame.fleet import Fleet
from surplus.cluster.queueing.overflow import Floats
from surplus.cluster.simulation.changeover import Changeover
from surplus.colocation.frame.clock import NS_PER_S


@dataclass(frozen=True)
class DayResult:
    """What came of a day.

    Parameters
    ----------
    queries, in_time : array of float, (windows, models)
        ``in_time`` is a lower bound, in expectation.
    nodes : array of int, (windows,)
        Held.
    cost : float
        In the unit of prices.
    node_hours : float
    moves : int
        Replicas that were loaded.
    first_answers, latest_answer_ns : int
        Times that a model woke, and the longest that its first replica took to load then.
    planning_s : tuple of float
        Seconds that each window's step took.
    """

    queries: Floats
    in_time: Floats
    nodes: npt.NDArray[np.int64]
    cost: float
    node_hours: float
    moves: int
    first_answers: int
    latest_answer_ns: int
    planning_s: tuple[float, ...]

    @property
    def share_in_time(self) -> float:
        """Of all queries."""
        return float(self.in_time.sum() / max(self.queries.sum(), 1e-30))

    @property
    def model_shares(self) -> Floats:
        """Of each model's queries; 1 of a model that had none."""
        total = self.queries.sum(axis=0)
        return np.where(total > 0, self.in_time.sum(axis=0) / np.maximum(total, 1e-30), 1.0)


def simulate_day(
    counts: npt.NDArray[np.int64],
    models: Sequence[ClusterModel],
    fleet: Fleet,
    scaler: Autoscaler,
    first_per_s: Floats,
    window_s: float = 60.0,
    check: bool = False,
) -> DayResult:
    """Serve a day.

    Parameters
    ----------
    counts : array of int, (windows, models)
        Queries of each window.
    first_per_s : array of float
        Rates that are taken to have been seen before the first window; what is planned for them
        is loaded when it begins.
    check : bool
        Whether every plan is judged by ``check_plan``.
    """
    day = _Day(models, fleet, scaler, window_s, check)
    day.begin(first_per_s)
    rows = [day.window(index, counts) for index in range(len(counts))]
    nodes = np.array([len(held) for _, held in rows], np.int64)
    prices = [sum(fleet.kind(node).price_per_hour for node in held) for _, held in rows]
    return DayResult(
        queries=counts.astype(np.float64),
        in_time=np.array([good for good, _ in rows]),
        nodes=nodes,
        cost=sum(prices) * window_s / 3600,
        node_hours=float(nodes.sum()) * window_s / 3600,
        moves=day.moves,
        first_answers=day.first_answers,
        latest_answer_ns=day.latest_answer_ns,
        planning_s=tuple(day.planning_s),
    )


class _Day:
    def __init__(
        self,
        models: Sequence[ClusterModel],
        fleet: Fleet,
        scaler: Autoscaler,
        window_s: float,
        check: bool,
    ) -> None:
        self._models = models
        self._fleet = fleet
        self._scaler = scaler
        self._window_ns = window_s * NS_PER_S
        self._check = check
        self._change = Changeover(models, fleet)
        self._seen_per_s: Floats = np.zeros(len(models))
        self._loaded_at_first = 0
        self.first_answers = self.latest_answer_ns = 0
        self.planning_s: list[float] = []

    @property
    def moves(self) -> int:
        """Without what was loaded before the day began."""
        return self._change.moves - self._loaded_at_first

    def begin(self, first_per_s: Floats) -> None:
        """Load what the first rates need, long before."""
        nobody = np.zeros(len(self._models), np.bool_)
        plan = self._step(first_per_s, nobody)
        self._change.take(plan, -1e18, np.full(len(self._models), -1e18))
        self._loaded_at_first = self._change.moves
        self._seen_per_s = first_per_s

    def window(self, index: int, counts: npt.NDArray[np.int64]) -> tuple[Floats, set[int]]:
        """Queries in time, by model, and nodes held."""
        now_ns = index * self._window_ns
        count = counts[index].astype(np.float64)
        rates_per_s = count / (self._window_ns / NS_PER_S)
        there = np.zeros(len(self._models), np.bool_)
        there[[replica.model for replica in self._change.plan.replicas]] = True
        waking = (count > 0) & ~there
        plan = self._step(self._seen_per_s, waking)
        first_ns = now_ns + self._window_ns / (count + 1)
        self._change.take(plan, now_ns, np.where(waking, first_ns, now_ns))
        part = self._in_time(rates_per_s, now_ns)
        part = np.where(waking, part * (1 - 1 / np.maximum(count, 1) ** 2), part)
        self._note_first_answers(waking, first_ns)
        self._seen_per_s = rates_per_s
        return count * part, self._change.nodes

    def _step(self, seen_per_s: Floats, waking: npt.NDArray[np.bool_]) -> ClusterPlan:
        began = perf_counter()
        plan = self._scaler.step(seen_per_s, waking, self._window_ns / NS_PER_S)
        self.planning_s.append(perf_counter() - began)
        if self._check:
            check_plan(plan, self._models, self._fleet)
        return plan

    def _in_time(self, rates_per_s: Floats, now_ns: float) -> Floats:
        """Before all is loaded, then after; each for its part of the window."""
        change = self._change
        before = np.clip((change.ready_ns - now_ns) / self._window_ns, 0.0, 1.0)
        after: Floats = change.rows.in_time(rates_per_s)
        if before.any():
            early = change.serving(now_ns).in_time(rates_per_s)
            after = before * early + (1 - before) * after
        return after

    def _note_first_answers(self, waking: npt.NDArray[np.bool_], first_ns: Floats) -> None:
        self.first_answers += int(waking.sum())
        took_ns = (self._change.first_ns - first_ns)[waking]
        self.latest_answer_ns = max(self.latest_answer_ns, int(took_ns.max(initial=0)))
