"""Grows a made-up task graph, task by task, on a CPU and a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from surplus.placement.problem import Device, Link, Problem, Task, Tensor

_US = 1_000


@dataclass(frozen=True)
class MachineParams:
    """One CPU with some lanes, one GPU with its own memory, a link each way.

    Parameters
    ----------
    cpu_lanes, gpu_lanes : int
        Workers and streams.
    latency_ns, occupancy_ns, bytes_per_s
        Of each link, see ``Link``.
    """

    cpu_lanes: int = 1
    gpu_lanes: int = 1
    latency_ns: int = 10_000
    occupancy_ns: int = 0
    bytes_per_s: float = 12e9


class GraphGrower:
    """Grows a graph on a CPU (device 0) and a GPU (device 1, the default)."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.tasks: list[Task] = []
        self._producers: list[int] = []
        self._consumers: list[list[int]] = []
        self._sizes: list[int] = []
        self._last = -1

    def service(
        self, least_us: float, most_us: float, least_ratio: float, most_ratio: float
    ) -> tuple[int, int]:
        """(CPU, GPU) service times: GPU time log-uniform, CPU slower by a log-uniform ratio."""
        gpu_ns = self._log_uniform(least_us, most_us) * _US
        return round(gpu_ns * self._log_uniform(least_ratio, most_ratio)), round(gpu_ns)

    def heavy(self, least_us: float, most_us: float) -> tuple[int, int]:
        """A convolution, 10 to 50 times slower on the CPU."""
        return self.service(least_us, most_us, 10, 50)

    def tiny(self) -> tuple[int, int]:
        """A small task: 5 to 14 us on the GPU, about the same on the CPU."""
        return self.service(5, 14, 0.7, 2)

    def bytes(self, least: float, most: float) -> int:
        """A tensor's size, log-uniform."""
        return round(self._log_uniform(least, most))

    def input(self, size_bytes: int) -> int:
        """A graph input; the tensor's index."""
        return self._tensor(-1, size_bytes)

    def add(
        self,
        kind: str,
        inputs: Sequence[int],
        cost: tuple[int, int],
        size_bytes: int,
        weight_bytes: int = 0,
    ) -> int:
        """A task that reads distinct tensors and makes one; that tensor's index."""
        index = len(self.tasks)
        self.tasks.append(
            Task(f"{kind}_{index}", kind, cost, default_device=1, weight_bytes=weight_bytes)
        )
        for tensor in inputs:
            self._consumers[tensor].append(index)
        return self._tensor(index, size_bytes)

    def finish(self, kind: str, inputs: Sequence[int]) -> None:
        """The last task, whose tensor is the graph's output."""
        self._last = self.add(kind, inputs, self.tiny(), 4_000)

    def problem(self, name: str, machine: MachineParams) -> Problem:
        """The graph on a machine."""
        link = (machine.latency_ns, machine.bytes_per_s, machine.occupancy_ns)
        return Problem(
            name,
            (Device("cpu", machine.cpu_lanes), Device("gpu", machine.gpu_lanes, "gpu")),
            (Link("host", "gpu", *link), Link("gpu", "host", *link)),
            tuple(self.tasks),
            tuple(
                Tensor(f"x{index}", producer, tuple(consumers), size, index == self._last)
                for index, (producer, consumers, size) in enumerate(
                    zip(self._producers, self._consumers, self._sizes, strict=True)
                )
            ),
        )

    def _tensor(self, producer: int, size_bytes: int) -> int:
        self._producers.append(producer)
        self._consumers.append([])
        self._sizes.append(size_bytes)
        return len(self._sizes) - 1

    def _log_uniform(self, least: float, most: float) -> float:
        return float(least * (most / least) ** self.random.random())
