"""Efficacy: throughput per latency and share; the batch and the share where it is greatest.

References
----------
D-STACK (TCC'24), section 5, equations 7 to 12. As there, a smooth function is fitted to measured
latencies and a non-linear program is solved on it (there fmincon, here SLSQP from several
starts); departure: the answer is then moved to the best whole numbers around it, judged by the
measured latency itself, so that it keeps the constraints whatever the fit is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log

from surplus.colocation.frame.clock import NS_PER_S

LatencyNs = Callable[[int, int], int]
"""Items and share in percent -> nanoseconds (``f_L``)."""

_BATCHES = (1, 2, 4, 8, 10, 12, 16)
"""That the paper measures; larger ones go on in powers of two."""
_STARTS = (0.15, 0.5, 0.85)
_FLOOR = 1e-9


@dataclass(frozen=True)
class Limits:
    """Equations 10 to 12 for one service.

    Parameters
    ----------
    max_batch : int
        Most items; >= 1.
    slo_ns : int
        From arrival to answer; > 0.
    rate_per_s : float
        Items a second; > 0. A batch takes ``(items - 1) / rate`` to come together (``C_i``): the
        first item does not wait for itself.
    halved : bool
        Whether equation 12 holds: twice the latency within the target.
    """

    max_batch: int
    slo_ns: int
    rate_per_s: float
    halved: bool = True

    def __post_init__(self) -> None:
        if self.max_batch < 1 or self.slo_ns < 1 or not 0 < self.rate_per_s < float("inf"):
            raise ValueError(f"max_batch, slo_ns and rate_per_s must be > 0, got {self}")

    def assembly_ns(self, items: float) -> float:
        """``C_i``."""
        return (items - 1) / self.rate_per_s * NS_PER_S

    def excess(self, items: float, latency_ns: float) -> float:
        """How far the worse of equations 11 and 12 is broken; <= 0 if both hold. Relative."""
        worst_ns = latency_ns + self.assembly_ns(items)
        if self.halved:
            worst_ns = max(worst_ns, 2 * latency_ns)
        return worst_ns / self.slo_ns - 1.0


@dataclass(frozen=True)
class OperatingPoint:
    """A batch and a share, and what they come to.

    Parameters
    ----------
    items, share_percent : int
    latency_ns : int
    efficacy : float
        Equation 9, in items per second squared and percent.
    """

    items: int
    share_percent: int
    latency_ns: int
    efficacy: float


def point_of(latency: LatencyNs, items: int, share_percent: int) -> OperatingPoint:
    """Evaluate equations 8 and 9."""
    latency_ns = latency(items, share_percent)
    seconds = latency_ns / NS_PER_S
    return OperatingPoint(items, share_percent, latency_ns, items / seconds**2 / share_percent)


def feasible(
    latency: LatencyNs, limits: Limits, shares: Sequence[int] = range(1, 101)
) -> Iterator[OperatingPoint]:
    """All points of whole numbers that keep the limits."""
    for items, share in product(range(1, limits.max_batch + 1), shares):
        point = point_of(latency, items, share)
        if limits.excess(items, point.latency_ns) <= 0:
            yield point


def exhaustive(
    latency: LatencyNs, limits: Limits, shares: Sequence[int] = range(1, 101)
) -> OperatingPoint | None:
    """The best point by trying all of them; None if none keeps the limits."""
    return max(feasible(latency, limits, shares), key=_rank, default=None)


def optimise(latency: LatencyNs, limits: Limits) -> OperatingPoint | None:
    """The best point by a non-linear program on a fitted function; None if none is found.

    Raises
    ------
    ImportError
        If scipy is not installed.
    """
    found = {
        _climb(latency, limits, round(exp(batch)), round(exp(share)))
        for batch, share in _program(latency, limits)
    }
    return max((point for point in found if point is not None), key=_rank, default=None)


def _rank(point: OperatingPoint) -> tuple[float, int, int]:
    return point.efficacy, -point.share_percent, -point.items


def _program(latency: LatencyNs, limits: Limits) -> list[tuple[float, float]]:
    """Solve it over the logarithms of batch and share, from several starts."""
    from scipy.interpolate import RectBivariateSpline
    from scipy.optimize import Bounds, minimize

    batches, shares = _grid(limits.max_batch), range(10, 101, 10)
    logs = [[log(latency(items, share)) for share in shares] for items in batches]
    order = min(3, len(batches) - 1)
    ends = (0.0, log(limits.max_batch))
    if order == 0:
        batches, logs, order = (1, 2), logs * 2, 1
    fit = RectBivariateSpline([log(b) for b in batches], [log(p) for p in shares], logs, kx=order)

    def cost(at: Sequence[float]) -> float:
        return float(2 * fit(at[0], at[1])[0, 0] - at[0] + at[1])

    def slack(at: Sequence[float]) -> float:
        return -limits.excess(exp(at[0]), exp(float(fit(at[0], at[1])[0, 0])))

    bounds = Bounds([ends[0], log(10)], [max(ends[1], _FLOOR), log(100)])
    rows = []
    for along, across in product(_STARTS, _STARTS):
        start = [along * ends[1], log(10) + across * log(10)]
        rows.append(
            minimize(
                cost,
                start,
                method="SLSQP",
                bounds=bounds,
                constraints={"type": "ineq", "fun": slack},
            ).x
        )
    return [(float(batch), float(share)) for batch, share in rows]


def _grid(max_batch: int) -> tuple[int, ...]:
    """Batches to measure: the paper's, and powers of two up to the largest."""
    powers = (2**k for k in range(5, max_batch.bit_length() + 1))
    return (*(b for b in (*_BATCHES, *powers) if b < max_batch), max_batch)


def _climb(
    latency: LatencyNs, limits: Limits, items: int, share_percent: int
) -> OperatingPoint | None:
    """From a point, the best neighbour again and again; first into the limits, then upwards."""

    def rank(at: tuple[int, int]) -> tuple[float, float]:
        point = point_of(latency, *at)
        return -max(0.0, limits.excess(at[0], point.latency_ns)), point.efficacy

    at = (min(max(items, 1), limits.max_batch), min(max(share_percent, 1), 100))
    while True:
        around = product(range(at[0] - 1, at[0] + 2), range(at[1] - 3, at[1] + 4))
        inside = [(b, p) for b, p in around if 1 <= b <= limits.max_batch and 1 <= p <= 100]
        best = max(inside, key=rank)
        if rank(best) <= rank(at):
            break
        at = best
    point = point_of(latency, *at)
    return point if limits.excess(at[0], point.latency_ns) <= 0 else None
