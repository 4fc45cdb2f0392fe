"""Profiled times of a demand's services, by partition size and batch, ready to be searched."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from surplus.colocation.frame.planner import Demand

SIZES_PERCENT = (20, 40, 50, 60, 80, 100)
"""Sizes of a gpulet; a device is divided into two of them, or none."""

Row = Sequence[float]


class LatencyTable:
    """Times of every service, size and batch; batches count queries.

    Parameters
    ----------
    demand : Demand
        Its rates do not matter.

    Attributes
    ----------
    slos_ns : list of float
        By service.

    Raises
    ------
    ValueError
        If a profile knows none of the sizes; those that it does not know are not used.
    """

    def __init__(self, demand: Demand) -> None:
        self.slos_ns = [float(service.slo_ns) for service in demand.services]
        services = range(len(demand.services))
        self._rows = [{p: _row(demand, s, p) for p in SIZES_PERCENT} for s in services]
        for own, items, rows in zip(demand.services, demand.items, self._rows, strict=True):
            if items <= own.max_batch and all(len(row) == 1 for row in rows.values()):
                raise ValueError(f"service {own.name!r}: no profile of sizes {SIZES_PERCENT} %")
        self._least = [{p: _least_ns(row) for p, row in rows.items()} for rows in self._rows]
        self._knees: dict[tuple[int, ...], list[int]] = {}

    def row(self, service: int, percent: int) -> Row:
        """Nanoseconds by batch, never falling; 0 at 0."""
        return self._rows[service][percent]

    def least_ns(self, service: int, percent: int) -> float:
        """Nanoseconds that a query takes at the least, whatever the batch."""
        return self._least[service][percent]

    def saturated(self, service: int, percent: int) -> int:
        """Largest batch that is in time when the one before it has just begun; 0 if none is."""
        return bisect_right(self.row(service, percent), self.slos_ns[service] / 2) - 1

    def full_per_ns(self, service: int, percent: int) -> float:
        """Queries a nanosecond in saturation; 0 if it cannot be in time."""
        batch = self.saturated(service, percent)
        return batch / self.row(service, percent)[batch] if batch else 0.0

    def knees(self, sizes_percent: tuple[int, ...]) -> list[int]:
        """``p_eff`` of every service, if these are the sizes that there are, ascending."""
        found = self._knees.get(sizes_percent)
        if found is None:
            services = range(len(self.slos_ns))
            found = self._knees[sizes_percent] = [self._knee(s, sizes_percent) for s in services]
        return found

    def _knee(self, service: int, sizes: tuple[int, ...]) -> int:
        """Upper end of the steepest rise of the saturated rate; of equals, the first."""
        rates = [self.full_per_ns(service, percent) for percent in sizes]
        rises = [
            ((rates[k] - rates[k - 1]) / (sizes[k] - sizes[k - 1]), -k)
            for k in range(1, len(sizes))
        ]
        return sizes[-max(rises)[1]] if rises else sizes[0]


def _least_ns(row: Row) -> float:
    return min((row[batch] / batch for batch in range(1, len(row))), default=float("inf"))


def _row(demand: Demand, service: int, percent: int) -> Row:
    """Times as far as the profile reaches; nothing but the 0 where it does not."""
    items = demand.items[service]
    times = [0.0]
    for batch in range(1, demand.services[service].max_batch // items + 1):
        try:
            took_ns = float(demand.latency_ns(service, items * batch, percent))
        except ValueError:
            break
        times.append(max(took_ns, times[-1]))
    return times
