"""Side-by-side timing on a noisy machine: interleaved blocks, medians, ratios."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

FEWEST_ROUNDS = 5
BLOCK_NS = 25_000_000
SHORT_NS = 10_000_000
RUNS_FOR_P99 = 300
"""So many runs of a contender that is shorter than ``SHORT_NS``, for a p99 that is more than the
worst of a few: the third largest decides."""
SETTLE_S = 0.07
"""Pause before each block: ONNX Runtime's idle threads spin for 50 ms after a run (measured),
and would take a core from whoever comes next."""


@dataclass(frozen=True)
class Times:
    """Times of one contender in nanoseconds, a tuple for each round, in the order taken."""

    rounds: tuple[tuple[int, ...], ...]

    @property
    def ns(self) -> list[int]:
        """All of them."""
        return [time_ns for row in self.rounds for time_ns in row]

    @property
    def median_ns(self) -> float:
        """The figure to quote."""
        return statistics.median(self.ns)

    def percentile_ns(self, percent: float) -> float:
        """Nearest-rank percentile."""
        ordered = sorted(self.ns)
        return float(ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))])

    def ratio_to(self, other: Times) -> float:
        """Ratio of medians within a round, median over the rounds.

        A machine that changes speed from one second to the next spoils medians of times, not
        ratios within a round.
        """
        return statistics.median(
            statistics.median(a) / statistics.median(b)
            for a, b in zip(self.rounds, other.rounds, strict=True)
        )


def block_for_p99_ns(run_ns: int, rounds: int) -> int:
    """Length of a turn in which short runs make ``RUNS_FOR_P99`` in so many rounds."""
    if run_ns >= SHORT_NS:
        return BLOCK_NS
    return max(BLOCK_NS, -(-RUNS_FOR_P99 // max(1, rounds)) * run_ns)


def interleaved(
    contenders: Mapping[str, Callable[[], object]],
    rounds: int = 25,
    block_ns: int = BLOCK_NS,
    most_per_block: int = 100,
    budget_ns: int = 40_000_000_000,
    least_runs: int = 0,
    clock: Callable[[], int] = time.perf_counter_ns,
    settle: Callable[[float], object] = time.sleep,
) -> dict[str, Times]:
    """Time contenders in turn, a block each a round; the first run of a block is not counted.

    A block warms what the contender before it cooled (caches, spinning threads); turns, each
    beginning with another contender, make a machine that drifts treat all alike; the pause lets
    the threads of the contender before it park.

    Parameters
    ----------
    rounds, least_runs : int
        Rounds go on until there are so many, and so many runs of each contender.
    budget_ns : int
        No round begins after it, but for the first ``FEWEST_ROUNDS``.
    """
    times: dict[str, list[tuple[int, ...]]] = {name: [] for name in contenders}
    names = list(contenders)
    for run in contenders.values():
        run()
    end_ns = clock() + budget_ns
    for turn in itertools.count():
        if turn >= rounds and _fewest(times) >= least_runs:
            break
        if turn >= FEWEST_ROUNDS and clock() > end_ns:
            break
        for place in range(len(names)):
            name = names[(place + turn) % len(names)]
            settle(SETTLE_S)
            times[name].append(_block(contenders[name], block_ns, most_per_block, clock))
    return {name: Times(tuple(row)) for name, row in times.items()}


def _fewest(times: Mapping[str, list[tuple[int, ...]]]) -> int:
    return min((sum(map(len, blocks)) for blocks in times.values()), default=0)


def _block(
    run: Callable[[], object], block_ns: int, most: int, clock: Callable[[], int]
) -> tuple[int, ...]:
    run()
    found: list[int] = []
    began = clock()
    while len(found) < most and clock() - began < block_ns:
        start = clock()
        run()
        found.append(clock() - start)
    return tuple(found)
