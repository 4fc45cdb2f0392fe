"""LoadGen's samples as queries of a target: its "system under test"."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

from surplus.loadgen.errors import ClientError
from surplus.loadgen.targets.feed import Feeding, Loss

Ended = tuple[int, bytes]
"""A sample's id, and what LoadGen may log of its answer."""


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
        Called with samples that ended, from the thread that runs ``answer``.
    answer_of : callable
        Reads what a sample was answered, of those that succeeded.
    """

    def __init__(
        self,
        feed: Feeding,
        most_in_flight: int,
        tell: Callable[[Sequence[Ended]], None],
        answer_of: Callable[[int], bytes] = lambda _: b"",
    ) -> None:
        self._feed, self._most, self._tell = feed, most_in_flight, tell
        self._answer_of = answer_of
        self._lock = threading.Lock()
        self._waiting: deque[tuple[int, int]] = deque()
        self._flying: dict[int, tuple[int, int]] = {}
        self._asked = 0
        self.lost: Future[Loss] = Future()
        self.count = 0
        self.failed = 0
        self.said = ""

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
        """Tell of what has ended, until the target's run is over; ``lost`` says if it broke off."""
        while ended := self._feed.take():
            with self._lock:
                samples = [self._flying.pop(number) for number, _ in ended]
                self._ask()
            self.count += len(ended)
            pairs = zip(samples, ended, strict=True)
            self._tell([(one, self._answer(index, ok)) for (one, index), (_, ok) in pairs])
        if (loss := self._feed.loss) is not None:
            self.lost.set_result(loss)

    def _answer(self, index: int, is_ok: bool) -> bytes:
        """Nothing of what failed."""
        if is_ok:
            try:
                return self._answer_of(index)
            except ClientError as error:
                self.said = self.said or str(error)
        self.failed += 1
        return b""

    def _ask(self) -> None:
        """With the lock: queries are numbered as they are asked for."""
        room = min(self._most - len(self._flying), len(self._waiting))
        for _ in range(room):
            number, (sample, index) = self._asked, self._waiting.popleft()
            self._flying[number] = (sample, index)
            self._asked += 1
            self._feed.ask(index)
