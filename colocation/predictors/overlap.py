"""Abacus's overlap-aware predictor: a latency model that was trained on operator groups.

References
----------
Abacus (SC'21), section 5. Departures: without a file it predicts like ``serial``, that no overlap
saves anything; times of whole queries alone may come from the profiles (``alone``), which are
measured for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from surplus.colocation.frame.clock import NS_PER_MS
from surplus.colocation.frame.predictor import PREDICTORS, Predictor, Profiles, Services
from surplus.colocation.frame.work import Piece
from surplus.colocation.overlap.features import GroupPart
from surplus.colocation.overlap.group_predictor import Groups
from surplus.colocation.overlap.known_models import KnownModels
from surplus.colocation.overlap.latency_model import load_latency_model
from surplus.colocation.predictors.serial import Serial

_ALONE = ("model", "profile")
_MOST_MS = 1e9


@PREDICTORS.register("overlap")
def overlap(
    services: Services,
    profiles: Profiles,
    path: str | None = None,
    alone: str = "model",
    in_order: bool = False,
) -> Predictor:
    """Load a latency model; see ``Overlap``.

    Raises
    ------
    ValueError
        If the file is not a latency model of these services, or ``alone`` is unknown.
    OSError
        If it cannot be read.
    """
    if alone not in _ALONE:
        raise ValueError(f"alone must be one of {', '.join(_ALONE)}, got {alone!r}")
    if path is None:
        return Serial(services, profiles)
    return Overlap(services, profiles, Path(path), alone == "profile", in_order)


class Overlap:
    """Asks a latency model.

    Parameters
    ----------
    services, profiles
        By service; services have the names of the sampled models.
    path : Path
        What ``engine colocate train`` wrote.
    profiled : bool
        Whether whole queries alone take what their profile says.
    in_order : bool
        Fill the model's inputs by urgency, as the release does when it serves; a mistake.
    """

    def __init__(
        self, services: Services, profiles: Profiles, path: Path, profiled: bool, in_order: bool
    ) -> None:
        self._path = path
        self._model = load_latency_model(path)
        self._models = KnownModels(services, self._model.layout)
        slots = self._model.layout.slots
        if slots < len(services):
            text = (
                f"{path} knows groups of at most {slots} models, {len(services)} may run together"
            )
            raise ValueError(f"{text}: engine colocate sample --together {len(services)}")
        self._operators = tuple(service.operators for service in services)
        self._serial = Serial(services, profiles)
        self._profiled = profiled
        self._in_order = in_order
        self._alone: dict[tuple[int, int, int], int] = {}

    def groups_ns(self, groups: Groups, share_percent: int) -> list[int]:
        """Predict groups in one evaluation of the model.

        Raises
        ------
        ValueError
            If the share is not the whole device, or a prediction is no time.
        """
        if share_percent != 100:
            raise ValueError(f"sampled on whole devices, not on {share_percent} %")
        model = self._models.of_service
        numbers = [
            [
                (model[service], start, end, items, sequence)
                for service, _, start, end, items, sequence in pieces
            ]
            for pieces in groups
        ]
        rows = self._model.layout.rows(numbers, self._in_order)
        times_ms = self._model.latency_ms(rows).tolist()
        times_ns = [self._time_ns(time_ms) for time_ms in times_ms]
        if self._profiled:
            for place, pieces in enumerate(groups):
                if len(pieces) == 1 and self._whole(pieces[0]):
                    times_ns[place] = self._serial.group_ns(pieces, share_percent)
        return times_ns

    def group_ns(self, pieces: Sequence[Piece], share_percent: int) -> int:
        """Predict one group."""
        return self.groups_ns((pieces,), share_percent)[0]

    def alone_ns(self, service: int, items: int, sequence: int, share_percent: int) -> int:
        """Predict a whole batch that runs alone."""
        if self._profiled or share_percent != 100:
            return self._serial.alone_ns(service, items, sequence, share_percent)
        key = (service, items, sequence)
        if key not in self._alone:
            model = self._models.of_service[service]
            part = GroupPart(model, 0, self._operators[service], items, sequence)
            time_ms = float(self._model.latency_ms(self._model.layout.rows([[part]]))[0])
            self._alone[key] = self._time_ns(time_ms)
        return self._alone[key]

    def _time_ns(self, time_ms: float) -> int:
        """A prediction, at least 1 ns: a linear model may predict less than nothing."""
        if not abs(time_ms) < _MOST_MS:
            raise ValueError(f"{self._path}: predicts {time_ms:g} ms for a group of operators")
        return max(1, round(time_ms * NS_PER_MS))

    def _whole(self, piece: Piece) -> bool:
        return piece.start == 0 and piece.end == self._operators[piece.service]
