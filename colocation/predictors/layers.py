"""What VELTAIR's policies are told: times of layers on numbers of cores, alone.

Of a model whose layers were not measured, operators take equal parts of the profile's time on the
share that the cores are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from surplus.colocation.frame.predictor import PREDICTORS, Profiles, Services
from surplus.colocation.frame.profile import LatencyProfile, LayeredProfile, part_ns
from surplus.colocation.frame.service import Service
from surplus.colocation.frame.work import Piece
from surplus.colocation.policies.veltair.layer_profile import LayerProfile
from surplus.colocation.policies.veltair.model_times import ModelTimes
from surplus.colocation.predictors.serial import Serial

_MOST_COUNTS = 16
"""Numbers of cores that are looked at of a model without layers."""


@PREDICTORS.register("layers")
class LayerTimes:
    """Knows models layer by layer; groups and whole batches as ``serial``."""

    def __init__(self, services: Services, profiles: Profiles) -> None:
        self._serial = Serial(services, profiles)
        self._services = services
        self._profiles = profiles
        self._known: dict[tuple[int, int, int, int], ModelTimes] = {}

    def group_ns(self, pieces: Sequence[Piece], share_percent: int) -> int:
        """Sum over the pieces."""
        return self._serial.group_ns(pieces, share_percent)

    def alone_ns(self, service: int, items: int, sequence: int, share_percent: int) -> int:
        """The profile's time."""
        return self._serial.alone_ns(service, items, sequence, share_percent)

    def model(self, service: int, items: int, sequence: int, cores: int) -> ModelTimes:
        """A service's model for such queries, on a partition of so many cores.

        Raises
        ------
        ValueError
            If the profile has no time for any number of cores.
        """
        key = (service, items, sequence, cores)
        if key not in self._known:
            self._known[key] = self._made(*key)
        return self._known[key]

    def _made(self, service: int, items: int, sequence: int, cores: int) -> ModelTimes:
        profile, own = self._profiles[service], self._services[service]
        if isinstance(profile, LayeredProfile) and profile.cores[0] <= cores:
            counts = tuple(c for c in profile.cores if c <= cores)
            versions = [
                LayerProfile(
                    counts,
                    tuple(
                        tuple(row[: len(counts)])
                        for row in profile.operator_ns(items, sequence, version)
                    ),
                )
                for version in range(len(profile.sensitivities))
            ]
            return ModelTimes(versions, profile.sensitivities, profile.operations, own.slo_ns)
        even = _even(profile, own, items, sequence, cores)
        return ModelTimes([even], [0.0], [1] * own.operators, own.slo_ns)


def _even(
    profile: LatencyProfile, service: Service, items: int, sequence: int, cores: int
) -> LayerProfile:
    """Equal layers, on the numbers of cores that the profile has a time for."""
    known: dict[int, int] = {}
    missing = ""
    for count in _counts(cores):
        try:
            known[count] = profile.latency_ns(items, sequence, max(1, 100 * count // cores))
        except ValueError as error:
            missing = str(error)
    if not known:
        raise ValueError(f"service {service.name!r} has no time on up to {cores} cores: {missing}")
    parts = range(service.operators)
    rows = tuple(
        tuple(max(1, part_ns(t, k, k + 1, service.operators)) for t in known.values())
        for k in parts
    )
    return LayerProfile(tuple(known), rows)


def _counts(cores: int) -> Iterator[int]:
    """At most so many numbers of cores, evenly up to all of them."""
    steps = min(cores, _MOST_COUNTS)
    yield from (cores * step // steps for step in range(1, steps + 1))
