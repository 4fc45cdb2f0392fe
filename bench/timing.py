"""Side-by-side timing on a noisy machine: interleaved blocks, medians, ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Times:
    """Times of one contender in nanoseconds, in the order they were taken."""

    ns: tuple[int, ...]

    @property
    def median_ns(self) -> float:
        """The figure to quote."""
        return statistics.median(self.ns)

    def percentile_ns(self, percent: float) -> float:
        """Nearest-rank percentile."""
        ordered = sorted(self.ns)
        return float(ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))])


def interleaved(
    contenders: Mapping[str, Callable[[], object]],
    rounds: int = 15,
    block_ns: int = 60_000_000,
    most_per_block: int = 200,
) -> dict[str, Times]:
    """Time contenders in turn, a block each a round; the first run of a block is not counted.

    A block warms what the contender before it cooled (caches, spinning threads), and turns
    make a machine that drifts treat all alike.
    """
    times: dict[str, list[int]] = {name: [] for name in contenders}
    for run in contenders.values():
        run()
    for _ in range(rounds):
        for name, run in contenders.items():
            run()
            began = time.perf_counter_ns()
            for _ in range(most_per_block):
                start = time.perf_counter_ns()
                run()
                end = time.perf_counter_ns()
                times[name].append(end - start)
                if end - began > block_ns:
                    break
    return {name: Times(tuple(row)) for name, row in times.items()}
