"""A latency law: linear in the batch, inverse in the share below a knee.

References
----------
The form that D-STACK's Fig. 2 and Table VI suggest, and its knee; stated, not measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from surplus.colocation.frame.profile import PROFILES, checked_deviation


@PROFILES.register("affine")
@dataclass(frozen=True)
class Affine:
    """``(fixed + per_item x items) x max(1, knee / share)``.

    Parameters
    ----------
    fixed_ns, per_item_ns : int
        Nanoseconds; not both 0.
    knee_percent : int
        Share above which more does not help; 1 to 100.
    deviation : float
        Relative standard deviation, >= 0.
    """

    fixed_ns: int
    per_item_ns: int
    knee_percent: int = 100
    deviation: float = 0.0

    def __post_init__(self) -> None:
        if min(self.fixed_ns, self.per_item_ns) < 0 or self.fixed_ns + self.per_item_ns < 1:
            raise ValueError(f"times of {self.fixed_ns} and {self.per_item_ns} ns")
        if not 1 <= self.knee_percent <= 100:
            raise ValueError(f"knee_percent must be 1 to 100, got {self.knee_percent}")
        checked_deviation(self.deviation)

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """Evaluate the law; sequences do not matter."""
        whole_ns = self.fixed_ns + self.per_item_ns * items
        return -(-whole_ns * max(self.knee_percent, share_percent) // share_percent)

    def spread(self, items: int, sequence: int) -> float:
        """The stated one."""
        return self.deviation
