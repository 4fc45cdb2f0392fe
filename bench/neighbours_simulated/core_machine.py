"""Lanes that follow the core's rules: its order, its loans, best effort on what they leave.

The rules are the simulator's twin of the core (colocation/policies/core_order), which a test
compares with the core. Queries run on one lane, uncut, as models that are due do beside others;
a lane that is lent goes on where it was, at no cost, and gets nothing meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from bench.neighbours_simulated.answers import Answers
from bench.neighbours_simulated.callers import Callers
from bench.neighbours_simulated.stream_load import StreamQuery
from surplus.colocation.policies.core_order.least_urgent import (
    WORTH_LENDING_NS,
    Computing,
    least_urgent,
)
from surplus.colocation.policies.core_order.ready_runs import ReadyNode, ReadyRuns
from surplus.colocation.policies.core_order.run_order import LATE, NEVER, RunOrder, run_order

PLACES_A_LANE = 4
"""Loans at once, for each lane (cpu_device.cpp)."""

_NEVER_LENT = Computing(RunOrder(-(2**62), 0, 0), 0)


@dataclass
class _Computation:
    """What a lane does, or did before it was lent."""

    place: int
    offer: Computing
    left_ns: int
    since_ns: int


@dataclass
class _Lane:
    """The last one computes; those before it have lent the lane."""

    stack: list[_Computation] = field(default_factory=list)
    version: int = 0


class CoreMachine:
    """Serves queries on so many lanes.

    Parameters
    ----------
    refuses : bool
        What cannot be in time any more when it comes, or when it is first of all that wait, is
        refused at once, which its caller has as its answer; else it is served late.
    """

    def __init__(
        self, queries: Sequence[StreamQuery], lanes: int, *, refuses: bool = False
    ) -> None:
        self._refuses = refuses
        self._queries = queries
        self._callers = Callers(queries)
        self._lanes = [_Lane() for _ in range(lanes)]
        self._free = list(range(lanes))
        self._ready: ReadyRuns[int] = ReadyRuns()
        self._ends: list[tuple[int, int, int]] = []
        self._ends_ns = [0] * len(queries)
        self._arrivals = self._loans = self._now_ns = 0

    def served(self, until_ns: int) -> Answers:
        """Serve all; background work has what lanes leave until that time."""
        left_ns = 0.0
        while (then_ns := self._next_ns()) is not None:
            left_ns += len(self._free) * max(0, min(then_ns, until_ns) - self._now_ns)
            self._now_ns = then_ns
            self._end_what_ends()
            for place in self._callers.come(then_ns):
                self._add(place)
            self._fill()
        left_ns += len(self._lanes) * max(0, until_ns - self._now_ns)
        return Answers([query.asked for query in self._queries], self._ends_ns, left_ns)

    def _next_ns(self) -> int | None:
        while self._ends and self._lanes[self._ends[0][1]].version != self._ends[0][2]:
            heappop(self._ends)
        due = [self._callers.next_ns] if self._callers.next_ns is not None else []
        return min([*due, *(end[0] for end in self._ends[:1])], default=None)

    def _end_what_ends(self) -> None:
        while self._ends and self._ends[0][0] <= self._now_ns:
            _, index, version = heappop(self._ends)
            lane = self._lanes[index]
            if lane.version != version:
                continue
            place = lane.stack.pop().place
            self._ends_ns[place] = self._now_ns
            self._answer(place)
            self._go_on(index)

    def _answer(self, place: int) -> None:
        following = self._callers.answered(place)
        if following is not None:
            self._add(following)

    def _go_on(self, index: int) -> None:
        """After an end: what preempts the lane's lender, if it has one, or the lender itself."""
        lane = self._lanes[index]
        if not lane.stack:
            self._free.append(index)
            return
        node = self._ready.take(self._now_ns, before=lane.stack[-1].offer.order)
        if node is not None:
            self._begin(index, node)
            return
        self._loans -= 1
        lane.stack[-1].since_ns = self._now_ns
        self._compute(index)

    def _add(self, place: int) -> None:
        query = self._queries[place]
        order = run_order(0, False, query.asked.due_ns, self._arrivals)
        self._arrivals += 1
        takes_ns = query.predicted_ns
        self._ready.add(ReadyNode(order, place, takes_ns, takes_ns))

    def _refuse_late(self) -> None:
        """Those that are first."""
        while (found := self._ready.first(self._now_ns)) is not None and found[0].stands == LATE:
            node = self._ready.take(self._now_ns)
            assert node is not None, "it is first, and narrow"
            self._ends_ns[node.what] = NEVER
            self._answer(node.what)

    def _fill(self) -> None:
        """Let free lanes take nodes, then lend others."""
        if self._refuses:
            self._refuse_late()
        while self._free and (node := self._ready.take(self._now_ns)) is not None:
            self._begin(self._free.pop(), node)
        while len(self._ready) and self._lend():
            pass

    def _lend(self) -> bool:
        found = self._ready.first(self._now_ns)
        if self._free or found is None or self._loans == PLACES_A_LANE * len(self._lanes):
            return False
        index = least_urgent(found[0], [lane.stack[-1].offer for lane in self._lanes], self._now_ns)
        if index is None:
            return False
        lender = self._lanes[index].stack[-1]
        lender.offer = lender.offer._replace(order=lender.offer.order.at(self._now_ns, 0))
        node = self._ready.take(self._now_ns, before=lender.offer.order)
        assert node is not None, "it is first, and goes before the lender"
        lender.left_ns -= self._now_ns - lender.since_ns
        self._loans += 1
        self._begin(index, node)
        return True

    def _begin(self, index: int, node: ReadyNode[int]) -> None:
        service_ns = self._queries[node.what].asked.service_ns
        offer = Computing(node.order, self._now_ns + node.service_ns)
        if node.service_ns < WORTH_LENDING_NS:
            offer = _NEVER_LENT
        self._lanes[index].stack.append(_Computation(node.what, offer, service_ns, self._now_ns))
        self._compute(index)

    def _compute(self, index: int) -> None:
        lane = self._lanes[index]
        lane.version += 1
        heappush(self._ends, (self._now_ns + lane.stack[-1].left_ns, index, lane.version))
