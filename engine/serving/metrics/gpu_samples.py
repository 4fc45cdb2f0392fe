"""What the GPUs do, by NVIDIA's management library where nvidia-ml-py is installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class GpuSample:
    """One GPU."""

    uuid: str
    utilization: float
    """0 to 1, over the last second or so."""
    memory_bytes: int
    used_bytes: int
    power_w: float
    power_limit_w: float
    energy_j: float
    """Since its driver was loaded. The last three are 0 where the GPU does not say."""


class Gpus:
    """The GPUs of this machine; none without the library or a driver."""

    def __init__(self) -> None:
        self._nvml: Any = None
        try:
            nvml = importlib.import_module("pynvml")
            nvml.nvmlInit()
        except Exception:  # no module, no driver: each has errors of its own
            return
        self._nvml = nvml

    def samples(self) -> list[GpuSample]:
        """Each that answers."""
        if self._nvml is None:
            return []
        try:
            return [self._sample(i) for i in range(self._nvml.nvmlDeviceGetCount())]
        except self._nvml.NVMLError:  # the driver is gone, or was renewed
            return []

    def _sample(self, index: int) -> GpuSample:
        nvml = self._nvml
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        uuid = nvml.nvmlDeviceGetUUID(handle)
        return GpuSample(
            uuid if isinstance(uuid, str) else uuid.decode(),
            nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
            memory.total,
            memory.used,
            self._thousandths(nvml.nvmlDeviceGetPowerUsage, handle),
            self._thousandths(nvml.nvmlDeviceGetEnforcedPowerLimit, handle),
            self._thousandths(nvml.nvmlDeviceGetTotalEnergyConsumption, handle),
        )

    def _thousandths(self, ask: Callable[[Any], int], handle: Any) -> float:
        try:
            return ask(handle) / 1e3
        except self._nvml.NVMLError:
            return 0.0
