"""Statistics of one run.

Percentiles are nearest-rank: the least latency that at least p percent of the answered queries
did not exceed, so always one that was observed.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.generator import Generator
from surplus.loadgen.record import OVERFLOW, Records

_LATE_NS = 500_000
_LATE_SHARE = 0.1


@dataclass(frozen=True)
class Latency:
    """Latency of the answered queries from their intended send times, in nanoseconds."""

    mean_ns: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p99_9_ns: int
    max_ns: int

    @staticmethod
    def of(values_ns: NDArray[np.int64]) -> Latency | None:
        """Summarise an array of shape ``(queries,)``; None if it is empty."""
        if not len(values_ns):
            return None
        p50, p90, p99, p99_9 = percentiles(values_ns, (50, 90, 99, 99.9))
        return Latency(round(float(values_ns.mean())), p50, p90, p99, p99_9, int(values_ns.max()))


@dataclass(frozen=True)
class LoadSummary:
    """What one run came to; warm-up excluded.

    Parameters
    ----------
    queries, succeeded : int
        All measured queries, and those that were answered without an error.
    errors : dict of str to int
        Failed queries by kind, the most frequent first.
    window_ns : int
        From the first intended send time to the last answer.
    throughput_per_s : float
        Succeeded queries over the window.
    intended_per_s, achieved_per_s : float or None
        Rate of the intended send times, and of the queries that really left; None for fewer
        than two queries, and in a closed loop, which has no intended rate.
    lateness_p99_ns : int or None
        How late the generator itself sent; None in a closed loop.
    latency : Latency or None
        None if nothing succeeded.
    warnings : tuple of str
        Why the numbers should not be trusted.
    generator : Generator or None
        The client that sent the queries; None where nobody watched it.
    """

    queries: int
    succeeded: int
    errors: dict[str, int]
    window_ns: int
    throughput_per_s: float
    intended_per_s: float | None
    achieved_per_s: float | None
    lateness_p99_ns: int | None
    latency: Latency | None
    warnings: tuple[str, ...]
    generator: Generator | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found = asdict(self) | {"warnings": list(self.warnings)}
        if self.generator is not None:
            found["generator"]["is_bottleneck"] = self.generator.is_bottleneck
            found["generator"]["is_short_of_a_core"] = self.generator.is_short_of_a_core
        return found


def percentiles(values_ns: NDArray[np.int64], percents: tuple[float, ...]) -> list[int]:
    """Nearest-rank percentiles of a non-empty array."""
    ordered = np.sort(values_ns)
    # The small term undoes binary rounding: 99.9 % of 1000 is rank 999, not 1000.
    ranks = [math.ceil(percent * len(ordered) / 100 - 1e-9) for percent in percents]
    return [int(ordered[max(rank, 1) - 1]) for rank in ranks]


def summarise(
    records: Records,
    open_loop: bool,
    generator: Generator | None = None,
    window_ns: int | None = None,
) -> LoadSummary:
    """Summarise the measured part of a run.

    Parameters
    ----------
    records : Records
    open_loop : bool
    generator : Generator or None
        What sent them.
    window_ns : int or None
        Of the whole run, where these are a part of its queries; else from the first intended send
        time to the last answer.
    """
    rows = records.measured()
    ok = rows.kind == 0
    if window_ns is None:
        window_ns = int(rows.done_ns.max() - rows.intended_ns.min()) if len(rows) else 0
    latency = Latency.of((rows.done_ns - rows.intended_ns)[ok])
    sent = ~rows.is_kind(OVERFLOW)
    lateness = (rows.sent_ns - rows.intended_ns)[sent]
    late_ns = percentiles(lateness, (99,))[0] if open_loop and len(lateness) else None
    errors = _errors(rows)
    said = [f"{kind}: {text}" for kind, text in rows.said().items() if kind in errors]
    return LoadSummary(
        queries=len(rows),
        succeeded=int(ok.sum()),
        errors=errors,
        window_ns=window_ns,
        throughput_per_s=float(ok.sum()) * NS_PER_S / window_ns if window_ns else 0.0,
        intended_per_s=_rate(rows.intended_ns) if open_loop else None,
        achieved_per_s=_rate(rows.sent_ns[sent]) if open_loop else None,
        lateness_p99_ns=late_ns,
        latency=latency,
        warnings=(*_warnings(len(rows), late_ns, latency), *_limits(generator), *said),
        generator=generator,
    )


def _errors(rows: Records) -> dict[str, int]:
    counts = {kind: int(rows.is_kind(kind).sum()) for kind in rows.kinds}
    seen = [(kind, count) for kind, count in counts.items() if count]
    return dict(sorted(seen, key=lambda row: (-row[1], row[0])))


def _rate(times_ns: NDArray[np.int64]) -> float | None:
    if len(times_ns) < 2 or times_ns.max() == times_ns.min():
        return None
    return (len(times_ns) - 1) * NS_PER_S / float(times_ns.max() - times_ns.min())


def _warnings(count: int, late_ns: int | None, latency: Latency | None) -> tuple[str, ...]:
    notes = []
    if count == 0:
        notes.append("no query was measured: the run ended within its warm-up")
    elif latency is None:
        notes.append("no query succeeded")
    # Below half a millisecond it is the timer; above, it must be small beside the latency.
    allowed_ns = max(_LATE_NS, _LATE_SHARE * latency.p50_ns) if latency else _LATE_NS
    if late_ns is not None and late_ns > allowed_ns:
        notes.append(
            f"the generator itself was late: 1 % of the queries left {late_ns / 1e6:.2f} ms or"
            " more after their intended time, which counts as latency"
        )
    return tuple(notes)


def _limits(generator: Generator | None) -> tuple[str, ...]:
    notes: list[str] = []
    if generator is None:
        return ()
    if generator.instead:
        notes.append(f"the Python client measured, which is slower: {generator.instead}")
    if generator.gave_up:
        notes.append("there was no server any more: the run ended before its time")
    if generator.is_bottleneck:
        busy, cpu = generator.busy_share, generator.cpu_share
        what = "was short of a core" if generator.is_short_of_a_core else "was the bottleneck"
        notes.append(
            f"the generator itself {what}: it had something to do {busy:.0%} of the"
            f" time (computing {cpu:.0%}); the server may be faster than this"
        )
    return tuple(notes)
