"""A ground truth for models whose layers take unequal times, each on the cores that it is given."""

from __future__ import annotations

from surplus.colocation.frame.profile import LatencyProfile, LayeredProfile
from surplus.colocation.frame.service import Service
from surplus.colocation.frame.work import Group, Piece
from surplus.colocation.policies.veltair.layer_profile import LayerProfile
from surplus.colocation.randomness.draws import stream_of, uniform
from surplus.colocation.randomness.noise import Noise
from surplus.colocation.truths.truth import ProfileTruth


class LayerTruth:
    """Sums of layers, with noise; other profiles and groups of several pieces as ``ProfileTruth``.

    A query has one luck for all of its layers, so that noise does not depend on how it is cut.

    Parameters
    ----------
    services, profiles, noise, seed, overlap
        As of ``ProfileTruth``.

    Raises
    ------
    ValueError
        If a service has not as many operators as its profile has layers.
    """

    def __init__(
        self,
        services: tuple[Service, ...],
        profiles: tuple[LatencyProfile, ...],
        noise: Noise,
        seed: int,
        overlap: float = 0.0,
    ) -> None:
        self._plain = ProfileTruth(services, profiles, noise, seed, overlap)
        self._layered = tuple(p if isinstance(p, LayeredProfile) else None for p in profiles)
        for service, profile in zip(services, self._layered, strict=True):
            if profile is not None and len(profile.operations) != service.operators:
                text = f"{service.operators} operators, {len(profile.operations)} layers"
                raise ValueError(f"service {service.name!r} has {text}")
        self._streams = tuple(stream_of(seed, service.name) for service in services)
        self._noise = noise
        self._known: dict[tuple[int, int, int, int], LayerProfile] = {}

    def group_ns(self, group: Group, share_percent: int) -> int:
        """Time of a group on its cores, or on those that its share is."""
        first = group.pieces[0]
        profile = self._layered[first.service]
        if profile is None or len(group.pieces) > 1:
            return self._plain.group_ns(group, share_percent)
        cores = group.cores or max(1, profile.cores[-1] * share_percent // 100)
        times = self._times(profile, first, group.version)
        draw = uniform(self._streams[first.service], first.queries[0].number, 0)
        factor = self._noise(draw, profile.spread(first.items, first.sequence))
        return max(1, round(times.scaled_ns(first.start, first.end, cores) * factor))

    def _times(self, profile: LayeredProfile, piece: Piece, version: int) -> LayerProfile:
        key = (piece.service, piece.items, piece.sequence, version)
        if key not in self._known:
            rows = profile.operator_ns(piece.items, piece.sequence, version)
            self._known[key] = LayerProfile(tuple(profile.cores), tuple(map(tuple, rows)))
        return self._known[key]
