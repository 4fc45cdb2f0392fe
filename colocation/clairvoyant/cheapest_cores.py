"""What a model costs at least whose layers may each have other cores."""

from __future__ import annotations

from surplus.colocation.frame.profile import LatencyProfile, LayeredProfile


class CheapestCores:
    """Every layer in the version and on the cores that make cores times time least.

    As a profile it is inversely proportional to the share: the work is the same on all of them.
    Below the least number of cores that there are times for, work is that of the least number.

    Parameters
    ----------
    profile : LayeredProfile
    """

    def __init__(self, profile: LayeredProfile) -> None:
        self._profile = profile
        self._known: dict[tuple[int, int], int] = {}

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """Least work over the share, rounded down."""
        key = (items, sequence)
        if key not in self._known:
            self._known[key] = self._work(items, sequence) // self._profile.cores[-1]
        return max(1, 100 * self._known[key] // share_percent)

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


def cheapest(profile: LatencyProfile) -> LatencyProfile:
    """A profile for the bound; others as they are."""
    return CheapestCores(profile) if isinstance(profile, LayeredProfile) else profile
