"""Which service is which model of a layout: by name."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.service import Service
from surplus.colocation.frame.work import Piece
from surplus.colocation.overlap.features import GroupPart, Layout, Parts


class KnownModels:
    """Turns pieces of services into parts of models.

    Parameters
    ----------
    services : sequence of Service
        Named as their models.
    layout : Layout

    Raises
    ------
    ValueError
        If a service is not in the layout, or is cut into another number of operators.
    """

    def __init__(self, services: Sequence[Service], layout: Layout) -> None:
        places = {name: place for place, name in enumerate(layout.models)}
        for service in services:
            if service.name not in places:
                known = ", ".join(layout.models)
                raise ValueError(f"service {service.name!r} was not sampled; there are: {known}")
            sampled = layout.operators[places[service.name]]
            if service.operators != sampled:
                text = f"has {service.operators} operators, was sampled with {sampled}"
                raise ValueError(f"service {service.name!r} {text}")
        self.of_service = tuple(places[service.name] for service in services)

    def parts(self, pieces: Sequence[Piece]) -> Parts:
        """Parts of a group, as its pieces come."""
        model = self.of_service
        return tuple(
            GroupPart(model[service], start, end, items, sequence)
            for service, _, start, end, items, sequence in pieces
        )
