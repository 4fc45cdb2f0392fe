"""What a model costs at least on devices whose cores are given one by one."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.profile import LatencyProfile, LayeredProfile
from surplus.colocation.frame.service import ServingDevice


class CheapestCores:
    """Every layer in the version and on the cores that make cores times time least.

    As a profile it is inversely proportional to the share: the work is the same on all of them.
    Below the least number of cores that there are times for, work is that of the least number.

    Parameters
    ----------
    profile : LayeredProfile
    cores : int
        Of the largest device. A group that claims some of them holds these of as many; one that
        holds a share computes on that share of the profile's. The bound allows for both.
    """

    def __init__(self, profile: LayeredProfile, cores: int = 0) -> None:
        self._profile = profile
        self._whole = max(cores, profile.cores[-1])
        self._known: dict[tuple[int, int], int] = {}

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """Least work over the share, rounded down."""
        key = (items, sequence)
        if key not in self._known:
            self._known[key] = self._work(items, sequence)
        return max(1, 100 * self._known[key] // (self._whole * share_percent))

    def spread(self, items: int, sequence: int) -> float:
        """The profile's."""
        return self._profile.spread(items, sequence)

    def _work(self, items: int, sequence: int) -> int:
        """Cores times nanoseconds."""
        versions = range(len(self._profile.sensitivities))
        tables = [self._profile.operator_ns(items, sequence, version) for version in versions]
        cores = self._profile.cores
        return sum(
            min(c * t for row in rows for c, t in zip(cores, row, strict=True))
            for rows in zip(*tables, strict=True)
        )


class OneOfMany:
    """A profile whose least share is a single core, which is less than the percent it computes on.

    Parameters
    ----------
    profile : LatencyProfile
    cores : int
        Of the largest device; above 100.
    """

    def __init__(self, profile: LatencyProfile, cores: int) -> None:
        self._profile = profile
        self._cores = cores

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """The profile's; of 1 % such that a percent of it is what a core costs."""
        whole_ns = self._profile.latency_ns(items, sequence, share_percent)
        return whole_ns if share_percent > 1 else whole_ns * 100 // self._cores

    def spread(self, items: int, sequence: int) -> float:
        """The profile's."""
        return self._profile.spread(items, sequence)


def cheapest(profile: LatencyProfile, devices: Sequence[ServingDevice] = ()) -> LatencyProfile:
    """A profile for the bound on these devices; as it is where they hand out no single cores."""
    cores = max((device.cores or device.lanes for device in devices), default=0)
    if isinstance(profile, LayeredProfile):
        return CheapestCores(profile, cores)
    return OneOfMany(profile, cores) if cores > 100 else profile
