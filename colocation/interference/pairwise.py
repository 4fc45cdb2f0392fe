"""Interference as a table: what each service costs each other one beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.colocation.frame.interference_model import INTERFERENCES, UNIT_PPM
from surplus.colocation.frame.work import Group


@INTERFERENCES.register("pairwise")
class Pairwise:
    """The extra costs of all neighbours add up.

    Parameters
    ----------
    names : sequence of str
        Of the services.
    default : float
        Extra time that any neighbour costs, as a fraction; >= 0.
    extra : mapping, optional
        ``extra["a"]["b"]``: what ``b`` costs ``a``, instead of the default.

    Raises
    ------
    ValueError
        If a cost is negative or a service unknown.
    """

    def __init__(
        self,
        names: Sequence[str],
        default: float = 0.0,
        extra: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        table = extra or {}
        unknown = {name for own, row in table.items() for name in (own, *row)} - set(names)
        if unknown:
            raise ValueError(f"unknown service {min(unknown)!r}")
        self._ppm = tuple(
            tuple(_ppm(table.get(own, {}).get(other, default)) for other in names) for own in names
        )

    def slowdowns_ppm(self, groups: Sequence[Group]) -> list[int]:
        """The worst sum of costs of any piece of each group."""
        services = [[piece.service for piece in group.pieces] for group in groups]
        running = [service for own in services for service in own]
        costs_ppm = {service: self._cost_ppm(service, running) for service in set(running)}
        return [
            UNIT_PPM + max(costs_ppm[service] - self._cost_ppm(service, own) for service in own)
            for own in services
        ]

    def _cost_ppm(self, service: int, beside: Sequence[int]) -> int:
        row = self._ppm[service]
        return sum(row[other] for other in beside)


def _ppm(extra: float) -> int:
    if not 0 <= extra < float("inf"):
        raise ValueError(f"extra time must be >= 0, got {extra}")
    return round(extra * UNIT_PPM)
