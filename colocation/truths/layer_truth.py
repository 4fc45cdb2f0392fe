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
    """Sums of layers, with noise; pieces of other profiles as ``ProfileTruth``.

    A query has one luck for all of its layers, so that noise does not depend on how it is cut.
    Groups of several pieces save as in ``ProfileTruth``.

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
        self._kept = 1.0 - overlap
        self._known: dict[tuple[int, int, int, int], LayerProfile] = {}

    def group_ns(self, group: Group, share_percent: int) -> int:
        """Time of a group on its cores, or on those that its share is."""
        times_ns = [self._piece_ns(group, piece, share_percent) for piece in group.pieces]
        if len(times_ns) == 1:
            return times_ns[0]
        return max(max(times_ns), round(sum(times_ns) * self._kept))

    def _piece_ns(self, group: Group, piece: Piece, share_percent: int) -> int:
        profile = self._layered[piece.service]
        if profile is None:
            return self._plain.group_ns(group._replace(pieces=(piece,)), share_percent)
        times = self._times(profile, piece, group.version)
        if group.cores:
            layers_ns = times.scaled_ns(piece.start, piece.end, group.cores)
        else:
            layers_ns = times.share_ns(piece.start, piece.end, share_percent)
        draw = uniform(self._streams[piece.service], piece.queries[0].number, 0)
        factor = self._noise(draw, profile.spread(piece.items, piece.sequence))
        return max(1, round(layers_ns * factor))

    def _times(self, profile: LayeredProfile, piece: Piece, version: int) -> LayerProfile:
        key = (piece.service, piece.items, piece.sequence, version)
        if key not in self._known:
            rows = profile.operator_ns(piece.items, piece.sequence, version)
            self._known[key] = LayerProfile(tuple(profile.cores), tuple(map(tuple, rows)))
        return self._known[key]
