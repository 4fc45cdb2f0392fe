"""What lanes take next: the twin of the core's queue (engine/core/scheduler/ready_queue.cpp).

Of the core's rules those are not here that keep callers apart who help with one run.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic, NamedTuple, TypeVar

from surplus.colocation.policies.core_order.run_order import RunOrder

T = TypeVar("T")

_LATE_LOOKS = 64


class ReadyNode(NamedTuple, Generic[T]):
    """The first ready node of a run.

    Parameters
    ----------
    order : RunOrder
        As it was when the node became ready; a late one is found to be so when it is first.
    what : T
        Whatever it stands for.
    service_ns : int
        Of the node, as predicted; 0: unknown.
    takes_ns : int
        Of the whole run, if this node is one of its first; else 0.
    width : int
        FreeLanes that it needs at once.
    """

    order: RunOrder
    what: T
    service_ns: int
    takes_ns: int
    width: int = 1


class FreeLanes(NamedTuple):
    """Who asks for a node.

    Parameters
    ----------
    free : int
        FreeLanes that are free, the taker's own one counted.
    ends_ns : sequence of int
        When each of the others is predicted to come free.
    """

    free: int = 1
    ends_ns: Sequence[int] = ()

    def free_ns(self, lanes: int, now_ns: int) -> int:
        """When so many of the others will be free, too."""
        return max([now_ns, *sorted(self.ends_ns)[:lanes]])


_ONE = FreeLanes()


class ReadyRuns(Generic[T]):
    """Runs of which a node is ready; no two orders are equal."""

    def __init__(self) -> None:
        self._heap: list[tuple[RunOrder, ReadyNode[T]]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, node: ReadyNode[T]) -> None:
        """A node has become ready."""
        heappush(self._heap, (node.order, node))

    def first(self, now_ns: int) -> tuple[RunOrder, ReadyNode[T]] | None:
        """The node that goes first, once those that come late have given way, and how it stands."""
        heap = self._heap
        if not heap:
            return None
        for _ in range(_LATE_LOOKS):
            order, node = heap[0]
            stands = order.at(now_ns, node.takes_ns)
            if stands == order:
                break
            heapreplace(heap, (stands, node))
        return heap[0]

    def take(
        self, now_ns: int, lanes: FreeLanes = _ONE, before: RunOrder | None = None
    ) -> ReadyNode[T] | None:
        """Take the first node that may run; None where there is none.

        A wide one for which the free lanes are too few lets narrow ones go before it that are
        predicted to end before it could start (EASY backfilling: Lifka 1995).

        Parameters
        ----------
        before : RunOrder, optional
            Of what computes on a lane that is lent: takes only what preempts it, and is narrow.
        """
        found = self.first(now_ns)
        if found is None:
            return None
        order, node = found
        if before is not None and not (node.width == 1 and order.preempts(before)):
            return None
        if node.width > lanes.free:
            return self._take_behind(lanes.free_ns(node.width - lanes.free, now_ns) - now_ns)
        heappop(self._heap)
        return node

    def _take_behind(self, within_ns: int) -> ReadyNode[T] | None:
        """The first narrow node that takes no longer."""
        short = [e for e in self._heap if e[1].width == 1 and 0 < e[1].service_ns <= within_ns]
        if not short:
            return None
        found = min(short)
        self._heap.remove(found)
        heapify(self._heap)
        return found[1]
