"""The host's cores: lanes are threads, segments may take several of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from surplus.engine import _core
from surplus.engine.devices.kinds.grammar import parts
from surplus.engine.devices.spec import DeviceSpec, Kind, Traits
from surplus.engine.errors import DeviceError


class Cpu(Kind):
    """``cpu:2``; it has no name, as a host has one."""

    name = "cpu"
    traits = Traits(is_host=True)

    def parse(self, text: str) -> DeviceSpec:
        """As of ``Kind``; 0 lanes stand for the cores that are left."""
        name, options, lanes = parts(text)
        if name or options is not None:
            raise DeviceError(f"device {text!r}: a cpu has no name and no options")
        return DeviceSpec(self.name, self.name, lanes)

    def inventory(self) -> Iterator[dict[str, Any]]:
        """One row."""
        from surplus.engine.devices.host import cpu_model  # with what identifies machines

        cores = _core.available_cores()
        yield {"device": f"{self.name}:{cores}", "is": cpu_model(), "usable": "yes"}


CPU = Cpu()
