"""What the core needs to know of a CPU."""

from __future__ import annotations

from surplus.engine import _core
from surplus.engine.devices.spec import DeviceSpec


def cpu_options(spec: DeviceSpec) -> _core.DeviceOptions:
    """Kind, name and lanes: all of a CPU, and the beginning of any other device."""
    options = _core.DeviceOptions()
    options.kind = spec.kind
    options.name = spec.name
    options.lanes = spec.lanes
    return options
