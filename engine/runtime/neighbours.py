"""Whether queries of several models that are due share the cores, in this process or in others."""

from __future__ import annotations

import time
from typing import Protocol
from weakref import WeakSet

from surplus.engine import _core
from surplus.engine._core import AskedModels


class MakesWay(Protocol):
    """Who is answered otherwise beside others."""

    def be_ready(self) -> None:
        """Others are there: prepare for that, beside the queries. Again: nothing."""
        ...


class Neighbours:
    """Who was asked lately, and who is there.

    Parameters
    ----------
    asked : AskedModels, optional
        Where queries are noted, also those that come without Python; one of its own by default.
    """

    def __init__(self, asked: AskedModels | None = None) -> None:
        self._there: WeakSet[MakesWay] = WeakSet()
        self._asked = asked or AskedModels()

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
        others_asked = self._asked.asked(id(who), now_ns, _core.asked_elsewhere(now_ns))
        if self._asked.take_news():
            self._make_ready()
        return others_asked

    def _make_ready(self) -> None:
        for one in list(self._there):
            one.be_ready()


OF_PROCESS = Neighbours(AskedModels.of_process())
"""Cores are the process's, whatever machine of it a model runs on."""
