"""What a policy knows of a model on cores: its layers in each version, their targets and needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from surplus.colocation.policies.veltair.core_needs import layer_needs, layer_targets_ns
from surplus.colocation.policies.veltair.layer_profile import LayerProfile


@dataclass
class ModelTimes:
    """A model that is to be done within a target.

    Parameters
    ----------
    versions : sequence of LayerProfile
        Alone, by version.
    sensitivities : sequence of float
        By version; it takes ``1 + sensitivity x pressure`` times as long.
    operations : sequence of int
        By layer.
    slo_ns : int
        Target of the whole model.
    """

    versions: Sequence[LayerProfile]
    sensitivities: Sequence[float]
    operations: Sequence[int]
    slo_ns: int
    _needs: dict[tuple[int, int], Needs] = field(default_factory=dict)

    @property
    def layers(self) -> int:
        """How many there are."""
        return len(self.operations)

    def slowdown(self, version: int, pressure: float) -> float:
        """What a pressure does to a version, as a factor."""
        return 1.0 + self.sensitivities[version] * pressure

    def needs(self, version: int, factor: float = 1.0) -> Needs:
        """Needs of a version that takes so many times as long, in steps of 5 %."""
        percent = 5 * round(20 * factor)
        key = (version, percent)
        if key not in self._needs:
            allowed_ns = self.slo_ns * 100 // percent
            self._needs[key] = needs_of(self.versions[version], self.operations, allowed_ns)
        return self._needs[key]


@dataclass(frozen=True)
class Needs:
    """Cores that keep a target.

    Parameters
    ----------
    profile : LayerProfile
    targets_ns, cores : tuple of int
        By layer; the targets sum up to the model's.
    average : int
        Of the model as a whole, ``Avg_C``; its fastest number if none keeps the target.
    """

    profile: LayerProfile
    targets_ns: tuple[int, ...]
    cores: tuple[int, ...]
    average: int

    def least(self, first: int, end: int) -> int:
        """Fewest cores that keep the targets of a block; its fastest number if none do."""
        target_ns = sum(self.targets_ns[first:end])
        found = self.profile.least_cores(first, end, target_ns)
        return found or self.profile.fastest(first, end)


def needs_of(profile: LayerProfile, operations: Sequence[int], target_ns: int) -> Needs:
    """Work the needs of a model out."""
    targets_ns = layer_targets_ns(operations, target_ns)
    layers = len(operations)
    average = profile.least_cores(0, layers, target_ns) or profile.fastest(0, layers)
    return Needs(profile, targets_ns, layer_needs(profile, targets_ns), average)
