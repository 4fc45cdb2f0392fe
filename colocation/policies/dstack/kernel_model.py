"""A model of a network as a chain of kernels that offer less and less parallelism.

References
----------
D-STACK (TCC'24), section 4.C, equations 1 to 5. Departures: equation 1 prints a floor at each
step, which compounds and reaches zero long before the last kernel, against its text; here the
floor is taken once. Equation 3 prints ``d S / M``, which grows with the processors, against its
text (bandwidth in proportion to them); here it is ``d / (M S)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

_MOST_KERNELS = 10_000


@dataclass(frozen=True)
class KernelModel:
    """Time of a batch on a number of processors, in units of the model.

    Parameters
    ----------
    parallelism : int
        Operations of the first kernel that can run at once, for a batch of one (``p``); >= 1.
    kernels : int
        Length of the chain (``K_max``); 1 to 10,000.
    parallel_time : float
        Of one operation on one processor (``t_p``); > 0.
    serial_time : float
        Of starting a kernel (``t_np``), for each input of a batch; >= 0.
    data_time : float
        That one processor's bandwidth needs for the data of a kernel (``d / M``); >= 0.
    repeats : int
        How often each kernel runs (``R_i``); >= 1.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    parallelism: int
    kernels: int = 50
    parallel_time: float = 40.0
    serial_time: float = 10.0
    data_time: float = 0.0
    repeats: int = 1

    def __post_init__(self) -> None:
        for key in ("parallelism", "kernels", "repeats"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} must be >= 1, got {getattr(self, key)}")
        if self.kernels > _MOST_KERNELS:
            raise ValueError(f"kernels must be <= {_MOST_KERNELS}, got {self.kernels}")
        if not 0 < self.parallel_time < float("inf"):
            raise ValueError(f"parallel_time must be > 0 and finite, got {self.parallel_time}")
        for key in ("serial_time", "data_time"):
            if not 0 <= getattr(self, key) < float("inf"):
                raise ValueError(f"{key} must be >= 0 and finite, got {getattr(self, key)}")

    def operations(self, items: int) -> tuple[int, ...]:
        """Parallel operations of each kernel (``N_i``), equation 1."""
        first = self.parallelism * items
        return tuple(first - -(-first * i // self.kernels) for i in range(self.kernels))

    def parallel_part(self, processors: int, items: int) -> float:
        """Sum of ``R_i E_i``, equation 2."""
        held = (max(1, min(processors, count)) for count in self.operations(items))
        work = zip(self.operations(items), held, strict=True)
        return self.repeats * self.parallel_time * sum(count / width for count, width in work)

    def serial_part(self, processors: int, items: int) -> float:
        """``W_se``, equations 3 and 4."""
        waiting = self.data_time / processors
        return items * self.repeats * self.kernels * (self.serial_time + waiting)

    @lru_cache(maxsize=4096)  # noqa: B019
    def time(self, processors: int, items: int = 1) -> float:
        """``E_t``, equation 5.

        Raises
        ------
        ValueError
            If there are no processors or no items.
        """
        if processors < 1 or items < 1:
            raise ValueError(f"{items} items on {processors} processors")
        return self.serial_part(processors, items) + self.parallel_part(processors, items)
