"""A plan in columns, and what of each model's queries is in time at given rates.

References
----------
Every replica is judged by the best of three upper bounds on lateness, whoever planned it: turns
that come at least every ``sum of L(b)`` of its strip, with what overflows given up
(``overflow.py``); the same with a backlog that may wait for later turns (``backlog.py``); queries
taken as they come (``shared_wait.py``), where each model admits no more than was planned for if
the strip cannot hold them all. Replicas of a model get parts of its rate in proportion to what
they were planned for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.cluster_plan import ClusterPlan
from surplus.cluster.frame.fleet import Fleet
from surplus.cluster.queueing.backlog import late_by_backlog
from surplus.cluster.queueing.overflow import Floats, Ints, mean_overflow
from surplus.cluster.queueing.shared_wait import decay_per_ns
from surplus.colocation.frame.clock import NS_PER_S

_SOME = 1e-3
"""Lateness by turns above which a strip is also judged as if it took queries as they come."""


@dataclass(frozen=True)
class StripRows:
    """Replicas in columns; times in nanoseconds, as profiled.

    Parameters
    ----------
    model, strip, batch : array of int, (replicas,)
    planned_per_s : array of float
    turn_ns, single_ns : array of float
        Time of a full batch, and of one query.
    cycle_ns : array of float
        Full turns of all replicas of the strip.
    slo_ns : array of float
    """

    model: Ints
    strip: Ints
    batch: Ints
    planned_per_s: Floats
    turn_ns: Floats
    single_ns: Floats
    cycle_ns: Floats
    slo_ns: Floats

    def only(self, kept: npt.NDArray[np.bool_]) -> StripRows:
        """Some of the replicas; cycles are as long as before."""
        return StripRows(
            self.model[kept],
            self.strip[kept],
            self.batch[kept],
            self.planned_per_s[kept],
            self.turn_ns[kept],
            self.single_ns[kept],
            self.cycle_ns[kept],
            self.slo_ns[kept],
        )

    def beside(self, other: StripRows) -> StripRows:
        """Both, each in strips of its own."""
        strips = int(self.strip.max(initial=-1)) + 1
        return StripRows(
            np.concatenate((self.model, other.model)),
            np.concatenate((self.strip, other.strip + strips)),
            np.concatenate((self.batch, other.batch)),
            np.concatenate((self.planned_per_s, other.planned_per_s)),
            np.concatenate((self.turn_ns, other.turn_ns)),
            np.concatenate((self.single_ns, other.single_ns)),
            np.concatenate((self.cycle_ns, other.cycle_ns)),
            np.concatenate((self.slo_ns, other.slo_ns)),
        )

    def in_time(self, rates_per_s: Floats) -> Floats:
        """Part of each model's queries; 0 of a model without replicas."""
        own_per_s, late = self._late(rates_per_s)
        good_per_s = np.bincount(self.model, own_per_s * (1.0 - late), len(rates_per_s))
        return np.where(rates_per_s > 0, good_per_s / np.maximum(rates_per_s, 1e-30), 0.0)

    def _late(self, rates_per_s: Floats) -> tuple[Floats, Floats]:
        """Rate of each replica, and the part of it that is late."""
        planned = np.bincount(self.model, self.planned_per_s, len(rates_per_s))[self.model]
        part = np.where(planned > 0, self.planned_per_s / np.maximum(planned, 1e-30), 0.0)
        own_per_s = rates_per_s[self.model] * part
        late = self._late_in_turns(own_per_s)
        open_ = np.isin(self.strip, self.strip[late > _SOME])
        if open_.any():
            rows = self.only(open_)
            late[open_] = np.minimum(late[open_], rows._late_as_they_come(own_per_s[open_]))
        return own_per_s, late

    def _late_in_turns(self, own_per_s: Floats) -> Floats:
        mean = own_per_s * self.cycle_ns / NS_PER_S
        turns = np.floor((self.slo_ns - self.turn_ns) / self.cycle_ns)
        overflow = mean_overflow(mean, self.batch) / np.maximum(mean, 1e-30)
        overflow = np.where(mean > 1e-12, overflow, 0.0)
        spare: Floats = (turns - 1) * self.batch
        backlog = np.where(spare > 0, late_by_backlog(mean / self.batch, spare), 1.0)
        return np.where(turns >= 1, np.minimum(np.minimum(overflow, backlog), 1.0), 1.0)

    def _late_as_they_come(self, own_per_s: Floats) -> Floats:
        late = self._waits_too_long(own_per_s)
        admitted_per_s = np.minimum(own_per_s, self.planned_per_s)
        part = np.where(own_per_s > 0, admitted_per_s / np.maximum(own_per_s, 1e-30), 1.0)
        capped = 1.0 - part * (1.0 - self._waits_too_long(admitted_per_s))
        return np.minimum(late, capped)

    def _waits_too_long(self, own_per_s: Floats) -> Floats:
        strips, place = np.unique(self.strip, return_inverse=True)
        decay = decay_per_ns(place, own_per_s / NS_PER_S, self.single_ns, len(strips))
        wait_ns = self.slo_ns - self.single_ns
        return np.where(wait_ns > 0, np.exp(-decay[place] * np.maximum(wait_ns, 0.0)), 1.0)


def rows_of(plan: ClusterPlan, models: Sequence[ClusterModel], fleet: Fleet) -> StripRows:
    """Put a plan into columns."""
    replicas = plan.replicas
    strips = [plan.strips[replica.strip] for replica in replicas]
    kinds = [fleet.kind(strip.node).name for strip in strips]
    own = [models[replica.model] for replica in replicas]
    rows = list(zip(own, kinds, replicas, strips, strict=True))
    turn_ns = np.array(
        [m.latency_ns(kind, r.batch, s.share_percent) for m, kind, r, s in rows], np.float64
    )
    strip = np.array([replica.strip for replica in replicas], np.int64)
    return StripRows(
        model=np.array([replica.model for replica in replicas], np.int64),
        strip=strip,
        batch=np.array([replica.batch for replica in replicas], np.int64),
        planned_per_s=np.array([replica.rate_per_s for replica in replicas], np.float64),
        turn_ns=turn_ns,
        single_ns=np.array(
            [m.latency_ns(kind, 1, s.share_percent) for m, kind, _, s in rows], np.float64
        ),
        cycle_ns=np.bincount(strip, turn_ns, len(plan.strips)).astype(np.float64)[strip],
        slo_ns=np.array([model.service.slo_ns for model in own], np.float64),
    )
