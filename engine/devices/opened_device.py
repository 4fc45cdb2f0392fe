"""A device's machine while it is being profiled: the device beside one CPU lane.

A device that is lost meanwhile says nothing of what it can run, so that ends the profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from surplus.engine import _core
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.errors import (
    DeviceError,
    DeviceLostError,
    EngineError,
    ExecutionError,
    one_line,
)

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


def not_measured(machine: _core.Machine, what: str, error: Exception) -> EngineError:
    """What a measurement that failed is to raise.

    Returns
    -------
    EngineError
        A ``DeviceLostError`` if the machine has lost a device, else an ``ExecutionError``.
    """
    if machine.is_lost:
        return DeviceLostError(f"{one_line(error)}, while it was measured")
    return ExecutionError(f"{what}: {one_line(error)}")
