"""Copies from one GPU to another: measured on a machine that has both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from surplus.engine.devices.opened_device import OpenMachine
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.profiling.link_probe import SIZES, LinkProbe, measured_links
from surplus.placement.problem import Link


def peer_links(
    specs: Sequence[DeviceSpec], open_machine: OpenMachine, sizes: Sequence[int] = SIZES
) -> Iterator[Link]:
    """Both directions between each two memories.

    Parameters
    ----------
    specs : sequence of DeviceSpec
        GPUs that copy to each other without a value in the host's memory.

    Raises
    ------
    ExecutionError
        If a copy fails.
    DeviceLostError
        If that lost a device.
    """
    by_memory = {spec.memory: spec for spec in specs}
    for one, other in combinations(by_memory.values(), 2):
        machine = open_machine((DeviceSpec("cpu", "cpu", 1), one, other))
        try:
            probe = LinkProbe(machine, 2, other=1)
            yield from measured_links(probe, other.memory, None, sizes, one.memory)
        finally:
            machine.close()
