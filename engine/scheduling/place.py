"""Where a policy runs groups: a device of a machine, or some lanes of it."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.engine import _core
from surplus.engine.devices.spec import DeviceSpec

HOST = 0
"""The device whose memory queries come from, and whose lanes are the CPU's."""


@dataclass(frozen=True)
class Place:
    """A device of a machine; on a CPU, how many of its lanes.

    ``by_share``: its partitions are shares of its processors, not some of its lanes.
    ``devices``: all of the machine, of which it is the one at ``index``; the first is a CPU.
    ``with_host``: that CPU takes part in the plans of this device.
    """

    machine: _core.Machine
    spec: DeviceSpec
    index: int
    devices: tuple[DeviceSpec, ...]
    width: int = 1
    by_share: bool = False
    with_host: bool = False
