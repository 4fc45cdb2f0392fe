"""What the machine and this process's lanes do, as metrics say it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from surplus.engine.devices.machine_memory import machine_bytes
from surplus.engine.devices.machines import open_machines
from surplus.engine.serving.metrics.lane_sample import LaneSample

_KINDS = ("lane", "lent", "best_effort")
"""As ``surplus.engine.explain.flights.LaneKind`` numbers them."""

_LOOK_NS = 1_000_000_000
"""Two looks at the cores' use are so far apart, at least: it counts in hundredths of a second."""


def lane_samples() -> list[LaneSample]:
    """Every lane of this process's machines; rows of one name add up."""
    total: dict[tuple[str, str, str], int] = {}
    for machine in open_machines():
        names = [row["name"] for row in machine.stats()["devices"]]
        for device, kind, lane, busy_ns in machine.busy_lanes():
            if device < len(names):
                key = names[device], "all" if lane < 0 else str(lane), _KINDS[kind]
                total[key] = total.get(key, 0) + busy_ns
    return [LaneSample(*key, busy_ns) for key, busy_ns in sorted(total.items())]


def lane_counts() -> Iterator[tuple[str, int]]:
    """Devices and how many lanes they have."""
    found: dict[str, int] = {}
    for machine in open_machines():
        for row in machine.stats()["devices"]:
            found[row["name"]] = found.get(row["name"], 0) + row["lanes"]
    yield from sorted(found.items())


class CpuUse:
    """What share of all cores' time was used between two looks.

    Parameters
    ----------
    root : Path
        Where ``proc`` lies; another folder in tests.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._before = self._times()
        self._looked_ns = time.monotonic_ns()
        self._share = 0.0

    def share(self) -> float:
        """0 to 1, since the look before; as it was then if that is less than a second ago."""
        now_ns = time.monotonic_ns()
        if now_ns - self._looked_ns < _LOOK_NS:
            return self._share
        used, whole = self._times()
        used_before, whole_before = self._before
        self._share = (used - used_before) / max(1, whole - whole_before)
        self._before, self._looked_ns = (used, whole), now_ns
        return self._share

    def _times(self) -> tuple[int, int]:
        """Of all cores since the start, in the system's ticks: used, and in all."""
        try:
            line = (self._root / "proc/stat").read_text().split("\n", 1)[0]
        except OSError:
            return 0, 0
        ticks = [int(word) for word in line.split()[1:9]]  # guests' time is in user's
        idle = sum(ticks[3:5])  # waits for disks, too
        return sum(ticks) - idle, sum(ticks)


def memory_sample() -> tuple[int, int]:
    """The machine's memory, and of it what is not available any more, in bytes."""
    whole = machine_bytes("MemTotal")
    return whole, whole - machine_bytes("MemAvailable")
