"""Elastic partitioning: gpulets of the most effective size, merged where duty cycles allow it.

References
----------
gpulet (ATC'22), Algorithm 1 and section 4.3. Departures: merging is tried first, so that it needs
no free gpulet; of several merges the one with the fullest cycle is taken, as in Nexus; a rest
that finds no gpulet of its ideal size takes what smaller ones can serve of it. Interference of
services that are placed later is allowed for by the worst of them, so that no later neighbour
breaks a promise (Algorithm 1 looks at the newcomer alone), with its largest batch on what is left
of the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from surplus.colocation.policies.gpulet.belief import ALONE, Belief
from surplus.colocation.policies.gpulet.duty_cycle import (
    Cycle,
    Rows,
    merged_cycle,
    residual_cycle,
    saturated_cycle,
)
from surplus.colocation.policies.gpulet.floor import Floor, Place
from surplus.colocation.policies.gpulet.latency_table import SIZES_PERCENT, LatencyTable

_NOTHING_LEFT = 1e-9
"""Share of a rate that rounding may leave."""

_FULL = 1.0 + 1e-9
"""A cycle that has no room, as merging shortens batches, and those cost more a query."""

_WHOLE = 100


@dataclass(frozen=True)
class PackingParams:
    """What the planners differ in.

    Parameters
    ----------
    efficient : bool
        Prefer gpulets at the knee; otherwise the least that serves the rate.
    merge : bool
        Whether services may take turns.
    """

    efficient: bool = True
    merge: bool = True


class Packing:
    """One attempt to place services on a floor.

    Parameters
    ----------
    table : LatencyTable
    floor : Floor
        Where cycles are put.
    params : PackingParams
    belief : Belief, optional
        None for no interference.
    """

    def __init__(
        self,
        table: LatencyTable,
        floor: Floor,
        params: PackingParams,
        belief: Belief | None = None,
    ) -> None:
        self._table = table
        self._floor = floor
        self._params = params
        self._belief = belief
        self._worst: dict[int, float] = {}
        self._knees = table.knees(floor.sizes_percent)

    def place(self, rates_per_ns: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
        """Place services in this order; return those whose rate is not served, with the rest."""
        left = []
        worst = self._worst_of_the_rest([service for service, _ in rates_per_ns])
        for step, (service, rate_per_ns) in enumerate(rates_per_ns):
            self._worst = {percent: most[step] for percent, most in worst.items()}
            rest = self._place(service, rate_per_ns)
            if rest > 0.0:
                left.append((service, rest))
        return left

    def rows(self, place: Place, percent: int) -> Rows:
        """Times in a gpulet, of a size that it has or will have, beside who is or may come."""
        belief = self._belief
        if belief is None or percent == _WHOLE:
            return lambda own: self._table.row(own, percent)
        other = self._floor.other(place)
        known = ALONE if other is None else self._press(belief, other)
        press = max(known, self._worst[_WHOLE - percent])
        return lambda own: belief.row(own, percent, press)

    def _press(self, belief: Belief, cycle: Cycle) -> float:
        """The most of any turn."""
        rows = (belief.press(t.service, cycle.percent, t.batch) for t in cycle.turns)
        return max(rows, default=ALONE)

    def _worst_of_the_rest(self, order: Sequence[int]) -> dict[int, list[float]]:
        """By size and step: the hardest that those press that are not placed before."""
        if self._belief is None:
            return {}
        most = self._belief.most_press
        backwards = {
            percent: list(accumulate((most(k, percent) for k in reversed(order)), max))
            for percent in SIZES_PERCENT
            if percent != _WHOLE
        }
        return {percent: rest[::-1] for percent, rest in backwards.items()}

    def _place(self, service: int, rate_per_ns: float) -> float:
        """Place a service; return what is left of its rate."""
        left, least = rate_per_ns, rate_per_ns * _NOTHING_LEFT
        while left > least:
            required = self._required_percent(service, left)
            if required and self._params.merge and self._merge(service, left):
                return 0.0
            served = self._allocate(service, left, required)
            if not served:
                return left
            left -= served
        return 0.0

    def _required_percent(self, service: int, rate_per_ns: float) -> int:
        """``p_req``, or 0 if it is above ``p_eff``."""
        most = self._ideal_percent(service)
        for percent in self._floor.sizes_percent:
            if percent > most:
                return 0
            row = self._table.row(service, percent)
            if residual_cycle(self._table, service, percent, rate_per_ns, row):
                return percent
        return 0

    def _merge(self, service: int, rate_per_ns: float) -> bool:
        """Join the rest of a service with the cycle that it makes fullest; return if one did."""
        best: tuple[float, Place, Cycle] | None = None
        for place, cycle in self._floor.used():
            used = rate_per_ns * self._table.least_ns(service, cycle.percent)
            if cycle.occupancy + used > _FULL:
                continue
            rows = self.rows(place, cycle.percent)
            own = residual_cycle(self._table, service, cycle.percent, rate_per_ns, rows(service))
            merged = own and merged_cycle(self._table, cycle, own, cycle.percent, rows)
            better = merged and (best is None or merged.occupancy > best[0])
            if merged and better and self._floor.holds(place, merged):
                best = merged.occupancy, place, merged
        if best is not None:
            self._floor.put(*best[1:])
        return best is not None

    def _allocate(self, service: int, rate_per_ns: float, required: int) -> float:
        """Take the best fitting free gpulet, else the largest one; return the rate it serves."""
        ideal = required or self._ideal_percent(service)
        free = self._floor.free()
        fitting = [row for row in free if row[0] >= ideal]
        smaller = [row for row in reversed(free) if row[0] < ideal]
        for percent, place in (*fitting, *smaller):
            size = self._floor.size_for(percent, ideal)
            row = self.rows(place, size)(service)
            cycle = residual_cycle(self._table, service, size, rate_per_ns, row)
            cycle = cycle or saturated_cycle(self._table, service, size, row)
            if cycle and self._floor.holds(place, cycle):
                self._floor.put(place, cycle)
                if required and self._params.merge:
                    self._absorb(place)
                return min(rate_per_ns, cycle.turns[0].rate_per_ns)
        return 0.0

    def _absorb(self, place: Place) -> None:
        """Move cycles of smaller gpulets into a new one, where they fit, and free theirs."""
        own = self._floor[place]
        for other_place, other in list(self._floor.used()):
            if other.percent < own.percent:
                rows = self.rows(place, own.percent)
                merged = merged_cycle(self._table, own, other, own.percent, rows)
                if merged and self._stands(place, merged) and self._floor.holds(place, merged):
                    self._floor.clear(other_place)
                    self._floor.put(place, merged)
                    own = merged

    def _stands(self, place: Place, coming: Cycle) -> bool:
        """Whether the gpulet beside one stands services that were placed before it was."""
        belief, other = self._belief, self._floor.other(place)
        if belief is None or other is None:
            return True
        left_ns = other.duty_ns
        press = self._press(belief, coming)
        for turn in other.turns:
            row = belief.row(turn.service, other.percent, press)
            took_ns = max(turn.took_ns, row[turn.batch])
            left_ns -= took_ns
            if left_ns < 0 or other.duty_ns + took_ns > self._table.slos_ns[turn.service]:
                return False
        return True

    def _ideal_percent(self, service: int) -> int:
        sizes = self._floor.sizes_percent
        return self._knees[service] if self._params.efficient else sizes[-1]
