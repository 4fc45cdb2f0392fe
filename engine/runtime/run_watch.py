"""A thread that sees runs end, for futures that somebody wants to hear of.

The core tells of runs only that were submitted with a queue to tell, which costs each of them; most
futures are just waited for. So one thread looks at those that callbacks, ``wait`` or
``as_completed`` were asked for, as long as there are any.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol

from surplus.engine import _core

_LOOK_S = 0.001
"""How long after its end a run is seen to have ended at most, but for the oldest: at once."""


class Watchable(Protocol):
    """A query in flight."""

    @property
    def run(self) -> _core.Run:
        """What is watched."""

    def publish(self) -> None:
        """Tell who waits that it has ended."""


class RunWatch:
    """Watches runs, and has what they are of published when they have ended. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: list[Watchable] = []
        self._is_watching = False

    def add(self, watched: Watchable) -> None:
        """Watch it from now on; it is published once, by another thread."""
        with self._lock:
            self._watched.append(watched)
            if self._is_watching:
                return
            self._is_watching = True
        threading.Thread(target=self._watch, name="surplus futures", daemon=True).start()

    def _watch(self) -> None:
        while True:
            with self._lock:
                if not self._watched:
                    self._is_watching = False
                    return
                oldest = self._watched[0]
            oldest.run.wait(_LOOK_S, help=False)
            for watched in self._taken():
                watched.publish()

    def _taken(self) -> list[Watchable]:
        """Those that have ended, which are watched no longer; each is looked at once."""
        ended: list[Watchable] = []
        with self._lock:
            left: list[Watchable] = []
            for watched in self._watched:
                (ended if watched.run.done else left).append(watched)
            self._watched = left
        return ended


OF_PROCESS = RunWatch()


def _anew_in_child() -> None:
    """The thread stayed behind in the parent, with whatever it held."""
    OF_PROCESS.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_anew_in_child)
