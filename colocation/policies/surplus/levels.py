"""On which shares a service may run: each faster than the ones below it, none for nothing."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.colocation.frame.planner import Demand

_GRID = (5, 10, 13, 15, 20, 25, 30, 35, 38, 40, 45, 50, 60, 63, 66, 70, 75, 80, 88, 90, 100)
"""Shares that are looked at: tenths, quarters and eighths, as lanes and cores come in."""


@dataclass(frozen=True)
class ShareLevel:
    """A share on which a service may run.

    Parameters
    ----------
    share_percent : int
    batch, steady : int
        Most items that run within the target there, and within half of it: a batch of as many may
        follow another one.
    work : float
        Percent times nanoseconds that an item holds in the latter.
    """

    share_percent: int
    batch: int
    steady: int
    work: float


def levels_of(demand: Demand, service: int, gain: float, most: int) -> tuple[ShareLevel, ...]:
    """Shares of a service, ascending; the whole device, or what there is of it, if none keeps up.

    Parameters
    ----------
    gain : float
        Part of the time that a share must save over the next smaller one that is kept.
    most : int
        Of levels; >= 1.

    Raises
    ------
    ValueError
        If the profile has no time for the service's queries at all.
    """
    least = demand.least_items(service)
    slo_ns = demand.services[service].slo_ns
    shares = demand.shares(service, least)
    kept: list[int] = []
    last_ns = float("inf")
    for share in (s for s in shares if s in _GRID or len(shares) <= len(_GRID)):
        took_ns = demand.latency_ns(service, least, share)
        if took_ns <= slo_ns and took_ns < last_ns * (1.0 - gain):
            kept.append(share)
            last_ns = took_ns
    kept = kept or [shares[-1]]
    return tuple(_level(demand, service, share) for share in _thinned(kept, most))


def _thinned(shares: list[int], most: int) -> list[int]:
    """At most so many, evenly, the first and the last among them."""
    if len(shares) <= most:
        return shares
    if most == 1:
        return shares[-1:]
    last = len(shares) - 1
    return [shares[round(last * k / (most - 1))] for k in range(most)]


def _level(demand: Demand, service: int, share: int) -> ShareLevel:
    least = demand.least_items(service)
    own = demand.services[service]
    batch = steady = least
    for items in range(least, own.max_batch + 1):
        took_ns = time_ns(demand, service, items, share)
        if took_ns > own.slo_ns:
            break
        batch = items
        if 2 * took_ns <= own.slo_ns:
            steady = items
    return ShareLevel(
        share, batch, steady, share * time_ns(demand, service, steady, share) / steady
    )


def time_ns(demand: Demand, service: int, items: int, share: int) -> float:
    """Infinite where the profile has no time."""
    try:
        return demand.latency_ns(service, items, share)
    except ValueError:
        return float("inf")
