"""A latency law for devices whose arithmetic can be divided, and whose memory cannot.

References
----------
gpulet (ATC'22), section 2.3 (only computation is partitioned) and Fig. 4 (large batches gain from
a larger share, small ones hardly). The law is ours; its numbers are stated, not measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.colocation.frame.profile import PROFILES, checked_deviation


@PROFILES.register("bandwidth")
@dataclass(frozen=True)
class Bandwidth:
    """``fixed + items x (unscaled + compute x 100 / share)``.

    Parameters
    ----------
    fixed_ns : int
        Launches and the like, whatever the batch and the share.
    unscaled_ns, compute_ns : int
        By item: what a share does not change, and what it divides, given for the whole device.
    l2, dram : float
        Utilisation of cache and memory while large batches run alone on the whole device, 0 to 1;
        what interference models are told.
    deviation : float
        Relative standard deviation, >= 0.
    half : float
        Items at which half of the utilisation is reached; >= 0.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    fixed_ns: int
    unscaled_ns: int
    compute_ns: int
    l2: float = 0.0
    dram: float = 0.0
    deviation: float = 0.0
    half: float = 4.0

    def __post_init__(self) -> None:
        times_ns = (self.fixed_ns, self.unscaled_ns, self.compute_ns)
        if min(times_ns) < 0 or sum(times_ns) < 1:
            raise ValueError(f"times of {times_ns} ns")
        if not (0 <= self.l2 <= 1 and 0 <= self.dram <= 1):
            raise ValueError(f"l2 and dram must be 0 to 1, got {self.l2} and {self.dram}")
        if self.half < 0:
            raise ValueError(f"half must be >= 0, got {self.half}")
        checked_deviation(self.deviation)

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """Evaluate the law; sequences do not matter."""
        compute_ns = -(-items * self.compute_ns * 100 // share_percent)
        return self.fixed_ns + items * self.unscaled_ns + compute_ns

    def spread(self, items: int, sequence: int) -> float:
        """The stated one."""
        return self.deviation

    def utilisation(self, items: int, share_percent: int) -> tuple[float, float]:
        """Of cache and memory by a batch alone on a share, as measured."""
        each_ns = self.unscaled_ns + self.compute_ns
        scaled = self.compute_ns / each_ns if each_ns else 0.0
        used = filled(items, self.half) / stretched(scaled, share_percent)
        return self.l2 * used, self.dram * used


def filled(items: int, half: float) -> float:
    """Part of the utilisation of large batches that one of so many items reaches."""
    return items / (items + half) if items else 0.0


def stretched(scaled: float, share_percent: int) -> float:
    """How many times as long as on the whole device items take of whose time a part is divided."""
    return 1.0 - scaled + scaled * 100 / share_percent
