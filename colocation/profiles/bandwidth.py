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
        Utilisation of cache and memory while the model runs alone, 0 to 1; what interference
        models are told.
    deviation : float
        Relative standard deviation, >= 0.

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

    def __post_init__(self) -> None:
        times_ns = (self.fixed_ns, self.unscaled_ns, self.compute_ns)
        if min(times_ns) < 0 or sum(times_ns) < 1:
            raise ValueError(f"times of {times_ns} ns")
        if not (0 <= self.l2 <= 1 and 0 <= self.dram <= 1):
            raise ValueError(f"l2 and dram must be 0 to 1, got {self.l2} and {self.dram}")
        checked_deviation(self.deviation)

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """Evaluate the law; sequences do not matter."""
        compute_ns = -(-items * self.compute_ns * 100 // share_percent)
        return self.fixed_ns + items * self.unscaled_ns + compute_ns

    def spread(self, items: int, sequence: int) -> float:
        """The stated one."""
        return self.deviation
