"""The moment at which a program is left alone enough to be measured beside."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from surplus.engine.devices.machines import open_machines


class Moment(Enum):
    """Who is beside whoever measures: nobody, or queries."""

    IDLE = "idle"
    BUSY = "busy"


class IdleParams(NamedTuple):
    """When measuring begins.

    Parameters
    ----------
    after_first_load_s : float
        Not before: a program that lives for a moment is not measured.
    after_query_s : float
        Nor before no lane has worked for so long.
    at_most_s : float
        But then in any case, from the load of what is to be measured on.
    look_every_s : float
        Between two looks at the lanes.
    """

    after_first_load_s: float = 5.0
    after_query_s: float = 1.0
    at_most_s: float = 60.0
    look_every_s: float = 0.25


class IdleWatch:
    """Waits for idle moments of this process. For one thread.

    Parameters
    ----------
    now_s : callable
        A monotonic clock.
    work : callable
        Counts up with what lanes execute; whether they are at work.
    """

    def __init__(
        self,
        params: IdleParams | None = None,
        now_s: Callable[[], float] = time.monotonic,
        work: Callable[[], tuple[int, bool]] | None = None,
    ) -> None:
        self._params = params or IdleParams()
        self._now_s = now_s
        self._work = work or lanes_work
        self._first_s: float | None = None
        self._done = -1
        self._worked_s = 0.0

    def wait(self, loaded_s: float, ending: threading.Event) -> Moment | None:
        """The moment, when it has come; None if ``ending`` came before.

        Parameters
        ----------
        loaded_s : float
            When what is to be measured was loaded, on the clock.
        """
        if self._first_s is None:
            self._first_s = loaded_s
        while (moment := self._moment(loaded_s)) is None:
            if ending.wait(self._params.look_every_s):
                return None
        return moment

    def _moment(self, loaded_s: float) -> Moment | None:
        assert self._first_s is not None, "who waits has loaded something"
        now_s, params = self._now_s(), self._params
        done, working = self._work()
        if done != self._done or working:
            self._done, self._worked_s = done, now_s
        first = now_s - self._first_s >= params.after_first_load_s
        if first and now_s - self._worked_s >= params.after_query_s:
            return Moment.IDLE
        return Moment.BUSY if now_s - loaded_s >= params.at_most_s else None


def lanes_work() -> tuple[int, bool]:
    """What the lanes of this process have executed so far, and whether a run is in flight."""
    rows = [machine.stats() for machine in open_machines()]
    executed = sum(device["executed"] for row in rows for device in row["devices"])
    return executed, any(row["runs_in_flight"] for row in rows)
