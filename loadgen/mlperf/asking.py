"""LoadGen's samples as queries of a target: its "system under test"."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from surplus.loadgen.targets.feed import Feeding


class LoadgenSample(Protocol):
    """One of LoadGen's."""

    id: int
    """By which it is answered."""

    index: int
    """Which request it is."""


class Asking:
    """Asks a target for samples, and tells when they have been answered.

    Parameters
    ----------
    feed : Feeding
        Entered; a sample's index is the number of its request.
    most_in_flight : int
        Further samples wait here, as those of an offline query do, which come all at once.
    tell : callable
        Called with the ids of samples that ended, from the thread that runs ``answer``.
    """

    def __init__(
        self, feed: Feeding, most_in_flight: int, tell: Callable[[Sequence[int]], None]
    ) -> None:
        self._feed, self._most, self._tell = feed, most_in_flight, tell
        self._lock = threading.Lock()
        self._waiting: deque[tuple[int, int]] = deque()
        self._ids: dict[int, int] = {}
        self._asked = 0
        self.count = 0
        self.failed = 0

    @property
    def measured_count(self) -> int:
        """The same: LoadGen has no warm-up."""
        return self.count

    def issue(self, samples: Sequence[LoadgenSample]) -> None:
        """Ask for them as soon as may be; from LoadGen's thread."""
        with self._lock:
            self._waiting.extend((sample.id, sample.index) for sample in samples)
            self._ask()

    def answer(self) -> None:
        """Tell of what has ended, until the target's run is over."""
        while ended := self._feed.take():
            with self._lock:
                ids = [self._ids.pop(number) for number, _ in ended]
                self._ask()
            self.count += len(ended)
            self.failed += sum(not is_ok for _, is_ok in ended)
            self._tell(ids)

    def _ask(self) -> None:
        """With the lock: queries are numbered as they are asked for."""
        room = min(self._most - len(self._ids), len(self._waiting))
        for _ in range(room):
            number, (sample, request) = self._asked, self._waiting.popleft()
            self._ids[number] = sample
            self._asked += 1
            self._feed.ask(request)
