"""What answers a model's queries from one load of it to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain

from surplus.engine._core import FrontModel
from surplus.engine.serving.servable import Servable
from surplus.engine.serving.signature import Signature


class ModelUse:
    """An executor, and the queries that it still has.

    Attributes
    ----------
    in_python : int
        Queries in flight that the data plane runs.
    fronts : list of FrontModel
        What native front ends count of it.
    """

    def __init__(self, executor: Servable) -> None:
        self.executor = executor
        self.signature = Signature(executor)
        self.in_python = 0
        self.fronts: list[FrontModel] = []
        self.joined_before = executor.joined
        self.batches_before = dict(executor.batches)

    @property
    def in_flight(self) -> int:
        """Queries between admission and answer."""
        return self.in_python + sum(front.in_flight for front in self.fronts)

    @property
    def joined(self) -> int:
        """Queries since then that were answered together with another one, by its call."""
        return max(0, self.executor.joined - self.joined_before)

    @property
    def batches(self) -> dict[int, tuple[int, int]]:
        """As ``Servable.batches``, since then."""
        found = {}
        for size, (calls, took_ns) in self.executor.batches.items():
            calls_before, before_ns = self.batches_before.get(size, (0, 0))
            if calls > calls_before:
                found[size] = calls - calls_before, took_ns - before_ns
        return found

    def forget_idle_fronts(self, count: Callable[[FrontModel], None]) -> None:
        """Count a last time what front ends have answered that were offered it before."""
        for front in self.fronts[:-1]:
            if not front.in_flight:
                count(front)
                self.fronts.remove(front)


def summed(*parts: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Calls and times by size, of all together."""
    whole: dict[int, tuple[int, int]] = {}
    for size, (calls, took_ns) in chain.from_iterable(part.items() for part in parts):
        before, before_ns = whole.get(size, (0, 0))
        whole[size] = before + calls, before_ns + took_ns
    return whole
