"""Finds the highest rate that is held: bracket, bisect, check.

A rate is asked for in windows, each with other arrivals, until the interval of the share of late
queries is clear of what is allowed. Rates are doubled until one is not held (or halved until one
is), then bisected in their logarithm. What was found must be held in further windows, each by
itself; if it is not, the next lower step is tried.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import sqrt

from surplus.loadgen.capacity.misses import Misses
from surplus.loadgen.capacity.params import RampParams
from surplus.loadgen.capacity.trial import RateTrial, RateVerdict, Window

RunWindow = Callable[[float, int], Awaitable[Window]]
"""Rate in queries per second, and which window it is (0, 1, 2 ...) -> what was measured."""

_MOST_DOUBLINGS = 30
_MOST_HALVINGS = 12


@dataclass(frozen=True)
class RateFound:
    """What a search came to.

    Parameters
    ----------
    rate_per_s : float
        Highest rate that is held; 0 if none is.
    missed_per_s : float or None
        Lowest rate above it that was tried and is not held; None if the search ended before.
    is_checked : bool
        Whether it was held in all further windows.
    reason : str
        Why the search ended before its time; empty if it did not.
    trials : tuple of RateTrial
        In the order in which they were made.
    """

    rate_per_s: float
    missed_per_s: float | None
    is_checked: bool
    reason: str
    trials: tuple[RateTrial, ...]


class RateSearch:
    """One search.

    Parameters
    ----------
    run : callable
        Runs a window.
    params : RampParams
    watch : callable
        Told every trial when it is done.
    """

    def __init__(
        self,
        run: RunWindow,
        params: RampParams,
        watch: Callable[[RateTrial], None] = lambda _: None,
    ) -> None:
        self._run, self._params, self._watch = run, params, watch
        self._windows = 0
        self._trials: list[RateTrial] = []
        self._is_stopped = False

    async def search(self, start_per_s: float) -> RateFound:
        """Find it, beginning with this rate."""
        low, high = await self._bracket(start_per_s)
        while low and high is not None and high / low > 1 + self._params.resolution:
            middle = sqrt(low * high)
            if await self._is_held(middle):
                low = middle
            elif self._is_stopped:
                break
            else:
                high = middle
        is_checked = False
        while low and not self._is_stopped and not (is_checked := await self._is_confirmed(low)):
            low = await self._step_down(low)
        missed = [
            trial.rate_per_s
            for trial in self._trials
            if trial.rate_per_s > low and trial.verdict in (RateVerdict.MISSED, RateVerdict.UNCLEAR)
        ]
        high = min(missed, default=None)
        return RateFound(low, high, is_checked, self._reason(low, high), tuple(self._trials))

    async def _bracket(self, rate_per_s: float) -> tuple[float, float | None]:
        """A rate that is held, 0 if none is, and one that is not, None if none was found."""
        low, high = 0.0, None
        for _ in range(_MOST_DOUBLINGS):
            if not await self._is_held(rate_per_s):
                break
            low, rate_per_s = rate_per_s, rate_per_s * 2
        if self._is_stopped:
            return low, None
        high = rate_per_s
        for _ in range(_MOST_HALVINGS if not low else 0):
            rate_per_s /= 2
            if await self._is_held(rate_per_s):
                return rate_per_s, high
            high = rate_per_s
        return low, high

    async def _is_held(self, rate_per_s: float) -> bool:
        """Ask for it until it is clear."""
        windows: list[Window] = []
        verdict = RateVerdict.UNCLEAR
        while verdict is RateVerdict.UNCLEAR and len(windows) < self._params.most_windows:
            windows.append(await self._window(rate_per_s))
            verdict = self._verdict(windows)
        self._add(rate_per_s, windows, verdict, is_check=False)
        return verdict is RateVerdict.HELD

    async def _is_confirmed(self, rate_per_s: float) -> bool:
        """Whether further windows hold it, each by itself."""
        for _ in range(self._params.checks):
            window = await self._window(rate_per_s)
            is_held = window.misses.share <= self._params.target.allowed
            verdict = RateVerdict.HELD if is_held else RateVerdict.MISSED
            self._add(rate_per_s, [window], verdict, is_check=True)
            if not is_held:
                return False
        return True

    async def _step_down(self, rate_per_s: float) -> float:
        """The next lower rate that is held; 0 if none is."""
        for _ in range(_MOST_HALVINGS):
            rate_per_s /= 1 + self._params.resolution
            if await self._is_held(rate_per_s):
                return rate_per_s
        return 0.0

    async def _window(self, rate_per_s: float) -> Window:
        self._windows += 1
        return await self._run(rate_per_s, self._windows - 1)

    def _verdict(self, windows: list[Window]) -> RateVerdict:
        if not windows[-1].is_of_server:
            return RateVerdict.GENERATOR
        # Each look may err, so each has its part of what may be erred.
        level = 1 - (1 - self._params.level) / self._params.most_windows
        low, high = _together(windows).interval(level)
        if high <= self._params.target.allowed:
            return RateVerdict.HELD
        return RateVerdict.MISSED if low > self._params.target.allowed else RateVerdict.UNCLEAR

    def _add(
        self, rate_per_s: float, windows: list[Window], verdict: RateVerdict, is_check: bool
    ) -> None:
        misses = _together(windows)
        interval = misses.interval(self._params.level)
        trial = RateTrial(rate_per_s, tuple(windows), misses, interval, verdict, is_check)
        self._is_stopped |= verdict is RateVerdict.GENERATOR
        self._trials.append(trial)
        self._watch(trial)

    def _reason(self, low: float, high: float | None) -> str:
        if self._is_stopped:
            return f"at {self._trials[-1].rate_per_s:,.6g} /s the generator itself was the limit"
        if not low:
            return f"not even {self._trials[-1].rate_per_s:,.6g} /s are held"
        return "" if high is not None else "every rate that was tried is held"


def _together(windows: list[Window]) -> Misses:
    return sum((window.misses for window in windows), Misses(0, 0))
