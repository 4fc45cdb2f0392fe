"""Looks at the machine's pressure while somebody asks, so that an answer takes no time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from surplus.engine.scheduling.copy_probe import CopyProbe
from surplus.engine.scheduling.host_pressure import PressureSource, pressure_source

_log = logging.getLogger(__name__)

PERIOD_S = 0.02
_IDLE_S = 2.0
_SMOOTH = 0.3
"""Weight of the newest reading: the last three are half of what is told."""


def machine_sources() -> Sequence[PressureSource]:
    """Cache counters where there are some; else waiting for cores, and slowdowns of copies."""
    source, reason = pressure_source()
    if not reason and source is not None:
        return (source,)
    _log.info("pressure is read by copies and waiting: %s", reason)
    return (CopyProbe(),) if source is None else (source, CopyProbe())


class PressureMonitor:
    """The sum of the first value of each source, smoothed, read every 20 ms by a thread.

    The thread begins when it is first asked, and ends once nobody has asked for two seconds.
    Thread-safe.

    Parameters
    ----------
    sources : callable
        Makes the sources, in that thread.
    """

    def __init__(self, sources: Callable[[], Sequence[PressureSource]] = machine_sources) -> None:
        self._sources = sources
        self._lock = threading.Lock()
        self._is_looking = False
        self._asked_s = 0.0
        self._pressure: float | None = None

    def pressure(self) -> float | None:
        """The last reading; None before the first, or where the machine tells nothing."""
        self._asked_s = time.monotonic()
        if not self._is_looking:
            self._begin()
        return self._pressure

    def _begin(self) -> None:
        with self._lock:
            if self._is_looking:
                return
            self._is_looking = True
        threading.Thread(target=self._look, name="pressure", daemon=True).start()

    def _look(self) -> None:
        try:
            sources = self._sources()
            while sources and time.monotonic() - self._asked_s < _IDLE_S:
                self.step(sources)
                time.sleep(PERIOD_S)
        except OSError as error:
            _log.warning("pressure is not read any more: %s", error)
        finally:
            self._pressure = None
            self._is_looking = False

    def pressure_now(self, sources: Sequence[PressureSource], steps: int) -> float:
        """What so many readings by the caller, one after another, come to."""
        for _ in range(steps):
            self.step(sources)
        return self._pressure or 0.0

    def step(self, sources: Sequence[PressureSource]) -> None:
        """Read each source once."""
        reading = sum(source.read()[0] for source in sources)
        before = reading if self._pressure is None else self._pressure
        self._pressure = before + _SMOOTH * (reading - before)
