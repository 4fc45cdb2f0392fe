"""Side-by-side timing on a noisy machine: interleaved blocks, medians, ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

FEWEST_ROUNDS = 5
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


def interleaved(
    contenders: Mapping[str, Callable[[], object]],
    rounds: int = 25,
    block_ns: int = 25_000_000,
    most_per_block: int = 100,
    budget_ns: int = 40_000_000_000,
) -> dict[str, Times]:
    """Time contenders in turn, a block each a round; the first run of a block is not counted.

    A block warms what the contender before it cooled (caches, spinning threads); turns, each
    beginning with another contender, make a machine that drifts treat all alike; the pause lets
    the threads of the contender before it park.
    """
    times: dict[str, list[tuple[int, ...]]] = {name: [] for name in contenders}
    names = list(contenders)
    for run in contenders.values():
        run()
    began = time.perf_counter_ns()
    for turn in range(rounds):
        if turn >= FEWEST_ROUNDS and time.perf_counter_ns() - began > budget_ns:
            break
        for place in range(len(names)):
            name = names[(place + turn) % len(names)]
            times[name].append(_block(contenders[name], block_ns, most_per_block))
    return {name: Times(tuple(row)) for name, row in times.items()}


def _block(run: Callable[[], object], block_ns: int, most: int) -> tuple[int, ...]:
    time.sleep(SETTLE_S)
    run()
    found: list[int] = []
    began = time.perf_counter_ns()
    while len(found) < most and time.perf_counter_ns() - began < block_ns:
        start = time.perf_counter_ns()
        run()
        found.append(time.perf_counter_ns() - start)
    return tuple(found)
