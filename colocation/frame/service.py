"""What is served, and on what."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_BATCH = 10_000
MOST_OPERATORS = 100_000
MOST_CORES = 1024
WHOLE_PPM = 1_000_000
"""A whole device."""

_MOST = {"slo_ns": 2**62, "max_batch": MOST_BATCH, "operators": MOST_OPERATORS}


@dataclass(frozen=True)
class Service:
    """A deployed model with a latency target.

    Parameters
    ----------
    name : str
    slo_ns : int
        From arrival to answer; > 0.
    max_batch : int
        Most items that run together; 1 to 10,000: planners look at each number.
    operators : int
        Operator groups that the model is cut into; on the engine, its segments. A scheduler may
        run any run of them; 1 means that a query is never split; at most 100,000.
    max_queue : int, optional
        Waiting queries beyond which an arrival is rejected; None for no bound.
    memory_bytes : int
        What an instance of the model holds on a device.
    """

    name: str
    slo_ns: int
    max_batch: int = 1
    operators: int = 1
    max_queue: int | None = None
    memory_bytes: int = 0

    def __post_init__(self) -> None:
        for key, most in _MOST.items():
            value = getattr(self, key)
            if not 1 <= value <= most:
                text = f"{key} must be 1 to {most}, got {value}"
                raise ValueError(f"service {self.name!r}: {text}")
        if self.max_queue is not None and self.max_queue < 0:
            raise ValueError(f"service {self.name!r}: max_queue must be >= 0")
        if self.memory_bytes < 0:
            raise ValueError(f"service {self.name!r}: memory_bytes must be >= 0")


@dataclass(frozen=True)
class ServingDevice:
    """A processor that can be shared.

    Parameters
    ----------
    name : str
    memory_bytes : int, optional
        What it holds; None for no limit.
    lanes : int
        Groups that it runs side by side under policies that do not partition it themselves:
        lanes of a CPU, streams of a GPU; 1 to 100.
    cores : int
        Cores that policies may give to groups one by one; 0 if it is shared in percent only.
    """

    name: str
    memory_bytes: int | None = None
    lanes: int = 1
    cores: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.lanes <= 100:
            raise ValueError(f"device {self.name!r}: lanes must be 1 to 100, got {self.lanes}")
        if not 0 <= self.cores <= MOST_CORES:
            text = f"cores must be 0 to {MOST_CORES}, got {self.cores}"
            raise ValueError(f"device {self.name!r}: {text}")


@dataclass(frozen=True)
class Partition:
    """A share of a device that runs one group at a time: a gpulet, a set of lanes.

    Parameters
    ----------
    device : int
        Index of the device.
    share_percent : int
        1 to 100, of the device's computing power.
    lanes : tuple of int
        Which lanes of the device a live driver uses; empty where the share says it all.
    cores : int
        Cores that the share is, of which a group claims as many as it is started with; 0 if
        groups hold the whole share.
    """

    device: int
    share_percent: int = 100
    lanes: tuple[int, ...] = field(default=())
    cores: int = 0

    def share_of(self, cores: int) -> int:
        """Percent of the device that a group of so many cores computes on, at least one."""
        return (
            max(1, self.share_percent * cores // self.cores) if self.cores else self.share_percent
        )

    def held_ppm(self, cores: int) -> int:
        """Millionths of the device that a group of so many cores holds, rounded down.

        The roundings of all groups of a device are less than a core together.
        """
        share_ppm = self.share_percent * (WHOLE_PPM // 100)
        return share_ppm * cores // self.cores if self.cores else share_ppm
