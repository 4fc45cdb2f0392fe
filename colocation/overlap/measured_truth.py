"""A ground truth from measured operator groups."""

from __future__ import annotations

from surplus.colocation.frame.service import Service
from surplus.colocation.frame.work import Group
from surplus.colocation.overlap.group_times import GroupTimes
from surplus.colocation.overlap.known_models import KnownModels
from surplus.colocation.randomness.draws import stream_of, uniform
from surplus.colocation.randomness.noise import Noise


class MeasuredTruth:
    """Medians of groups, with noise; see ``GroupTimes``.

    Parameters
    ----------
    services : tuple of Service
        Named as the measured models.
    times : GroupTimes
    noise : Noise
    seed : int
        Of the noise; each service draws from a stream of its own, a group from its first piece's.

    Raises
    ------
    ValueError
        If a service is not among the measured models, or has other operators.
    """

    def __init__(
        self, services: tuple[Service, ...], times: GroupTimes, noise: Noise, seed: int
    ) -> None:
        self._models = KnownModels(services, times.layout)
        self._streams = tuple(stream_of(seed, service.name) for service in services)
        self._times = times
        self._noise = noise

    def group_ns(self, group: Group, share_percent: int) -> int:
        """Time of a group.

        Raises
        ------
        ValueError
            If the partition is not a whole device: nothing else was measured.
        """
        if share_percent != 100:
            raise ValueError(f"groups were measured on whole devices, not on {share_percent} %")
        first = group.pieces[0]
        median_ns, spread = self._times.of(self._models.parts(group.pieces))
        draw = uniform(self._streams[first.service], first.queries[0].number, first.start)
        return max(1, round(median_ns * self._noise(draw, spread)))
