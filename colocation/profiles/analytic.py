"""A latency law from the parallelism of a network's kernels, for models without measurements.

References
----------
D-STACK (TCC'24), section 4.C; the departures are those of ``KernelModel``.
"""

from __future__ import annotations

from surplus.colocation.frame.profile import PROFILES, checked_deviation
from surplus.colocation.policies.dstack.kernel_model import KernelModel


@PROFILES.register("analytic")
class Analytic:
    """Times of a kernel model on a device of so many processors.

    Parameters
    ----------
    parallelism, kernels, parallel_time, serial_time, data_time, repeats
        Of the ``KernelModel``.
    unit_ns : int
        Length of the model's unit of time; >= 1.
    processors : int
        Of the whole device; >= 1. A share is rounded down to whole ones, never below one.
    deviation : float
        Relative standard deviation, >= 0.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    def __init__(
        self,
        parallelism: int,
        unit_ns: int,
        kernels: int = 50,
        parallel_time: float = 40.0,
        serial_time: float = 10.0,
        data_time: float = 0.0,
        repeats: int = 1,
        processors: int = 80,
        deviation: float = 0.0,
    ) -> None:
        if unit_ns < 1 or processors < 1:
            text = f"got {unit_ns} and {processors}"
            raise ValueError(f"unit_ns and processors must be >= 1, {text}")
        self._model = KernelModel(
            parallelism, kernels, parallel_time, serial_time, data_time, repeats
        )
        self._unit_ns = unit_ns
        self._processors = processors
        self._deviation = checked_deviation(deviation)

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """Evaluate the model; sequences do not matter."""
        processors = max(1, self._processors * share_percent // 100)
        return max(1, round(self._unit_ns * self._model.time(processors, items)))

    def spread(self, items: int, sequence: int) -> float:
        """The stated one."""
        return self._deviation
