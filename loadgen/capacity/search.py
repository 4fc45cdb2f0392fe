"""Finds the highest rate that is held: bracket, bisect, check.

A rate is asked for in windows, each with other arrivals, until the interval of the share of late
queries is clear of what is allowed, or is too near to it to be worth more windows. Rates are
doubled until one is not held (or halved until one is), then bisected in their logarithm. What was
found must be held in further windows, each by itself. If it is not, lower rates are held to the
same, in steps that get longer, and what lies between the first that stands and the last that does
not is bisected again.

Errors cost differently. A rate that is wrongly held is found out by its checks, one that is wrongly
missed hides all above it: so whoever is late has a second window, unless that is beyond doubt, and
whoever is clearly in time need not show it twice.
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
_STEPS = (1, *(2**power for power in range(_MOST_HALVINGS)))
_EDGE_WINDOWS = 2
_EDGE_SHARE = 0.5
"""Of the allowed late queries. A rate with more of them that is not clear after two windows is near
the bound, and would hardly pass its checks."""


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
        low = await self._bisect(await self._bracket(start_per_s), self._is_held)
        is_checked = False
        if low and not self._is_stopped and not (is_checked := await self._is_confirmed(low)):
            low = await self._bisect(await self._fall(low), self._stands)
            is_checked = low > 0
        high = self._missed_above(low)
        return RateFound(low, high, is_checked, self._reason(low, high), tuple(self._trials))

    async def _bracket(self, rate_per_s: float) -> float:
        """A rate that is held, whose double is not; 0 if none is held."""
        low = 0.0
        for _ in range(_MOST_DOUBLINGS):
            if not await self._is_held(rate_per_s):
                break
            low, rate_per_s = rate_per_s, rate_per_s * 2
        return low if low or self._is_stopped else await self._halve(rate_per_s)

    async def _halve(self, rate_per_s: float) -> float:
        """The first rate that is held, each half of the one before; 0 if none is."""
        for _ in range(_MOST_HALVINGS):
            rate_per_s /= 2
            if await self._is_held(rate_per_s):
                return rate_per_s
        return 0.0

    async def _bisect(self, low: float, test: Callable[[float], Awaitable[bool]]) -> float:
        """The highest rate that passes, from one that does, as finely as the resolution is."""
        finest = 1 + self._params.resolution
        while low and (high := self._missed_above(low)) is not None and high / low > finest:
            middle = sqrt(low * high)
            if await test(middle):
                low = middle
            elif self._is_stopped:
                break
        return low

    def _missed_above(self, rate_per_s: float) -> float | None:
        """The lowest rate above it that is not held; None if there is none yet."""
        return min(
            (
                trial.rate_per_s
                for trial in self._trials
                if trial.rate_per_s > rate_per_s
                and trial.verdict in (RateVerdict.MISSED, RateVerdict.UNCLEAR)
            ),
            default=None,
        )

    async def _fall(self, failed_per_s: float) -> float:
        """A lower rate that stands, 0 if none does: two steps down, then by ever longer ones."""
        rate_per_s = failed_per_s
        for steps in _STEPS:
            rate_per_s = self._below(rate_per_s, steps)
            if await self._stands(rate_per_s):
                return rate_per_s
            if self._is_stopped:
                break
        return 0.0

    def _below(self, rate_per_s: float, steps: int) -> float:
        """So many steps; less where a rate there has shown already that it is held."""
        lowest = rate_per_s / (1 + self._params.resolution) ** steps
        return min((r for r in self._held() if lowest <= r < rate_per_s), default=lowest)

    def _held(self) -> set[float]:
        return {trial.rate_per_s for trial in self._trials if trial.verdict is RateVerdict.HELD}

    async def _stands(self, rate_per_s: float) -> bool:
        """Whether it is held, and in all further windows, too."""
        is_held = rate_per_s in self._held() or await self._is_held(rate_per_s)
        return is_held and await self._is_confirmed(rate_per_s)

    async def _is_held(self, rate_per_s: float) -> bool:
        """Ask for it until it is clear, or at the edge."""
        windows: list[Window] = []
        verdict = RateVerdict.UNCLEAR
        while verdict is RateVerdict.UNCLEAR and self._is_worth_more(windows):
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

    async def _window(self, rate_per_s: float) -> Window:
        self._windows += 1
        return await self._run(rate_per_s, self._windows - 1)

    def _verdict(self, windows: list[Window]) -> RateVerdict:
        if not windows[-1].is_of_server:
            return RateVerdict.GENERATOR
        low, high = _together(windows).interval(self._params.level)
        if high <= self._params.target.allowed:
            return RateVerdict.HELD
        return RateVerdict.MISSED if low > self._params.target.allowed else RateVerdict.UNCLEAR

    def _is_worth_more(self, windows: list[Window]) -> bool:
        if len(windows) < min(_EDGE_WINDOWS, self._params.most_windows):
            return True
        edge = _EDGE_SHARE * self._params.target.allowed
        return len(windows) < self._params.most_windows and _together(windows).share <= edge

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
