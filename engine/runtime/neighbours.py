"""Whether queries of several models that are due share the cores, in this process or in others."""

from __future__ import annotations

import time
from typing import Protocol
from weakref import WeakSet

from surplus.engine import _core

_LATELY_NS = 1_000_000_000


class MakesWay(Protocol):
    """Who is answered otherwise beside others."""

    def be_ready(self) -> None:
        """Others are there: prepare for that, beside the queries. Again: nothing."""
        ...


class Neighbours:
    """Who was asked lately, and who is there.

    Unguarded, since queries of all models come here: what threads overwrite is one query fewer.
    """

    def __init__(self) -> None:
        self._there: WeakSet[MakesWay] = WeakSet()
        self._last: object = None
        self._knows_processes = False
        self._last_ns = self._other_ns = -_LATELY_NS

    def join(self, who: MakesWay) -> None:
        """``who`` is there from now on; once it is not alone, all are made ready.

        Models of other processes count, too. Who was there before one of these came learns of it
        with its next query.
        """
        self._there.add(who)
        if _core.expect_asked() or len(self._there) > 1:
            self._make_ready()

    def asked(self, who: object) -> bool:
        """A query of ``who`` came; whether one of another came within the last second."""
        now_ns = time.monotonic_ns()
        if who is not self._last:
            self._last, self._other_ns = who, self._last_ns
        self._last_ns = now_ns
        elsewhere_ns = _core.asked_elsewhere(now_ns)
        if bool(elsewhere_ns) is not self._knows_processes:
            self._knows_processes = bool(elsewhere_ns)
            if elsewhere_ns:
                self._make_ready()
        return now_ns - max(self._other_ns, elsewhere_ns) < _LATELY_NS

    def _make_ready(self) -> None:
        for one in list(self._there):
            one.be_ready()


OF_PROCESS = Neighbours()
"""Cores are the process's, whatever machine of it a model runs on."""
