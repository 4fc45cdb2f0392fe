"""A device's machine while it is being profiled: the device beside one CPU lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from engine import _core
from engine.errors import DeviceError
from engine.profiling.devices import DeviceSpec

OpenMachine = Callable[[Sequence[DeviceSpec]], _core.Machine]
"""Starts a machine with these devices, which the caller closes."""


@contextmanager
def opened_device(spec: DeviceSpec, open_machine: OpenMachine | None) -> Iterator[_core.Machine]:
    """Open a device, as device 1 of its machine, and close it afterwards.

    Raises
    ------
    DeviceError
        If nobody said how to open it.
    """
    if open_machine is None:
        raise DeviceError(f"device {spec.name!r} cannot be profiled: nothing opens it here")
    machine = open_machine((DeviceSpec("cpu", "cpu", 1), spec))
    try:
        yield machine
    finally:
        machine.close()
