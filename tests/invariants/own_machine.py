"""Machines that one test has for itself, so that their counters are its own."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from surplus.engine import _core
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices

_UNUSED_SUBMIT_NS = count(20_000)
"""Machines are shared by equal parameters: a submission time of its own makes one unique."""


@contextmanager
def own_machine(devices: str, fail_every: int = 0) -> Iterator[_core.Machine]:
    """A machine that is closed in the end."""
    emulation = EmulationParams(submit_ns=next(_UNUSED_SUBMIT_NS), fail_every=fail_every)
    machine = machine_for(parse_devices(devices), emulation)
    try:
        yield machine
    finally:
        machine.close()


def check_empty(machine: _core.Machine) -> None:
    """Raise AssertionError if anything of any run is still held once all have ended."""
    gc.collect()
    while machine.stats()["runs_in_flight"]:
        pass
    stats = machine.stats()
    assert (stats["live_values"], stats["live_bytes"]) == (0, 0), stats
