"""Interference as pressure on what all cores share: cache and memory bandwidth.

References
----------
VELTAIR (ASPLOS'22), Fig. 1b (up to 1.8 times the latency under heavy load) and Fig. 6 (versions
that are slower alone lose less). The law and its numbers are ours, stated, not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.colocation.frame.interference_model import INTERFERENCES, UNIT_PPM
from surplus.colocation.frame.work import Group


@INTERFERENCES.register("pressure")
class Pressure:
    """``1 + sensitivity of the version x (cores that others hold x their intensity)^exponent``.

    Held cores count as a share of the device. Groups that hold no cores share the device evenly.

    Parameters
    ----------
    names : sequence of str
        Of the services.
    cores : int
        Of a device; >= 1.
    sensitivities : sequence of float
        By version of the operators, >= 0; a version beyond them has the last one.
    intensity : mapping of str to float
        How much of the shared resources a service uses, 0 to 1; 1 where it is not given.
    exponent : float
        > 0; above 1 a light load hardly disturbs.

    Raises
    ------
    ValueError
        If a number is out of range or a service unknown.
    """

    def __init__(
        self,
        names: Sequence[str],
        cores: int,
        sensitivities: Sequence[float],
        intensity: Mapping[str, float] | None = None,
        exponent: float = 1.0,
    ) -> None:
        given = intensity or {}
        unknown = set(given) - set(names)
        if unknown:
            raise ValueError(f"unknown service {min(unknown)!r}")
        if not all(0 <= value <= 1 for value in given.values()):
            raise ValueError(f"intensities must be 0 to 1, got {dict(given)}")
        if cores < 1 or not exponent > 0 or not sensitivities or min(sensitivities) < 0:
            text = f"got {cores}, {exponent}, {list(sensitivities)}"
            raise ValueError(f"cores >= 1, exponent > 0 and sensitivities >= 0, {text}")
        self._intensity = tuple(given.get(name, 1.0) for name in names)
        self._cores = cores
        self._sensitivities = tuple(sensitivities)
        self._exponent = exponent

    def slowdowns_ppm(self, groups: Sequence[Group]) -> list[int]:
        """By the cores of all neighbours."""
        held = [self._held(group, len(groups)) for group in groups]
        total = sum(held)
        return [
            self._slowdown_ppm(group, total - own) for group, own in zip(groups, held, strict=True)
        ]

    def _held(self, group: Group, groups: int) -> float:
        """Cores, as far as they use what is shared."""
        intensity = max((self._intensity[piece.service] for piece in group.pieces), default=1.0)
        return (group.cores or self._cores / groups) * intensity

    def _slowdown_ppm(self, group: Group, beside: float) -> int:
        version = min(group.version, len(self._sensitivities) - 1)
        share = min(1.0, max(0.0, beside / self._cores))
        pressure: float = share**self._exponent
        return UNIT_PPM + round(UNIT_PPM * self._sensitivities[version] * pressure)
