"""The least that a query holds by its profile: what is known while serving, without the luck."""

from __future__ import annotations

from math import inf

from surplus.colocation.clairvoyant.cheapest_cores import CheapestCores
from surplus.colocation.clairvoyant.least_work import FULL_PERCENT
from surplus.colocation.frame.profile import LatencyProfile
from surplus.colocation.frame.service import Service


def least_per_item(service: Service, profile: LatencyProfile, sequence: int) -> list[float]:
    """Percent times ns of a device that an item holds at least, in a batch that can be in time.

    ``LeastWork`` with the profile's times instead of drawn ones, for any arrivals.

    Parameters
    ----------
    profile : LatencyProfile
        As of ``cheapest``.

    Returns
    -------
    list of float
        By the items of a query, from 1 to the service's largest batch: its batch is at least as
        large. Infinite where none can be in time. Times the items it is what the query holds.
    """
    uneven = isinstance(profile, CheapestCores) and service.operators > 1
    most_ns = inf if uneven else service.slo_ns * service.operators  # of parts each may be in time
    least, rows = inf, []
    for batch in range(service.max_batch, 0, -1):
        for share_percent in range(1, FULL_PERCENT + 1):
            try:
                took_ns = profile.latency_ns(batch, sequence, share_percent)
            except ValueError:
                continue  # the profile has no such share: nobody can run it
            if took_ns <= most_ns:
                least = min(least, share_percent * took_ns / batch)
        rows.append(least)
    return rows[::-1]
