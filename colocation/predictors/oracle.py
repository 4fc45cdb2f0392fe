"""A perfect predictor: the medians of the ground truth itself, which no policy can have.

Only to say how much a better predictor could still gain (Abacus, SC'21, section 5.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from surplus.colocation.frame.predictor import PREDICTORS, Profiles, Services
from surplus.colocation.frame.work import Piece
from surplus.colocation.overlap.features import GroupPart
from surplus.colocation.overlap.group_times import load_group_times
from surplus.colocation.overlap.known_models import KnownModels


@PREDICTORS.register("oracle")
class Oracle:
    """Knows the median of every group, not the noise.

    Parameters
    ----------
    services, profiles
        By service; services have the names of the measured models.
    path : str
        The file of the scenario's ``[truth]``.
    """

    def __init__(self, services: Services, profiles: Profiles, path: str) -> None:
        self._times = load_group_times(Path(path))
        self._models = KnownModels(services, self._times.layout)
        self._operators = tuple(service.operators for service in services)

    def group_ns(self, pieces: Sequence[Piece], share_percent: int) -> int:
        """Look a group up."""
        return max(1, round(self._times.of(self._models.parts(pieces)).median_ns))

    def alone_ns(self, service: int, items: int, sequence: int, share_percent: int) -> int:
        """Look a whole batch alone up."""
        model = self._models.of_service[service]
        part = GroupPart(model, 0, self._operators[service], items, sequence)
        return max(1, round(self._times.of((part,)).median_ns))
