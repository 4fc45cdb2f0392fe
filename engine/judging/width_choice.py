"""The choice between one thread and a pool, by the times of a model's first queries."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Width(Enum):
    """How many threads a session's operators run on."""

    NARROW = "narrow"
    WIDE = "wide"


class WidthParams(NamedTuple):
    """How the first queries of a model are compared.

    Parameters
    ----------
    warm_up : int
        Queries that are not counted, of each width: the first ones take memory, and start threads.
    runs : int
        Queries of each width whose median counts.
    short_ns : int
        Queries of that time and less are narrow: to hand a part of an operator to another thread
        takes as long.
    gain : float
        Narrow takes its place again where it takes less than that of wide's time.
    """

    warm_up: int = 2
    runs: int = 6
    short_ns: int = 100_000
    gain: float = 0.97


class WidthChoice:
    """Narrow queries first, then wide ones, as many of each; for one thread.

    Parameters
    ----------
    params : WidthParams
        How they are compared.

    Attributes
    ----------
    now : Width
        What the next query is to run at.
    verdict : Width or None
        What is better; None while that is not known.
    """

    def __init__(self, params: WidthParams = WidthParams()) -> None:  # noqa: B008
        self.params = params
        self.now = Width.NARROW
        self.verdict: Width | None = None
        self._narrow: list[int] = []
        self._wide: list[int] = []

    def note(self, took_ns: int) -> None:
        """A query ran at ``now``, alone, and took so long."""
        if self.verdict is not None:
            return
        times = self._narrow if self.now is Width.NARROW else self._wide
        times.append(took_ns)
        if len(times) < self.params.warm_up + self.params.runs:
            return
        if self.now is Width.WIDE:
            is_narrow = self.narrow_ns < self.params.gain * self._median(self._wide)
            self.verdict = Width.NARROW if is_narrow else Width.WIDE
        elif self.narrow_ns <= self.params.short_ns:
            self.verdict = Width.NARROW
        else:
            self.now = Width.WIDE

    def widen(self) -> None:
        """The rest is to run wide, without a comparison."""
        self.now = self.verdict = Width.WIDE

    @property
    def narrow_ns(self) -> int:
        """What a narrow query takes; 0 where none has run often enough."""
        return self._median(self._narrow)

    def _median(self, times: list[int]) -> int:
        counted = sorted(times[self.params.warm_up :])
        return counted[len(counted) // 2] if counted else 0  # statistics takes long to import
