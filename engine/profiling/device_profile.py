"""What a profile says of a device beside its tasks' times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from surplus.engine.devices.registry import KINDS
from surplus.engine.devices.spec import DeviceSpec

_ASKED = (
    "name", "kind", "lanes", "widths", "preset", "replay", "memory", "pageable", "captured", "sms",
)  # fmt: skip
"""Of a device, what a ``DeviceSpec`` says."""


@dataclass(frozen=True)
class DeviceProfile:
    """A device that times are of.

    Parameters
    ----------
    widths : tuple of int
        At which tasks were measured.
    origin : str
        ``measured``, or ``derived: ...`` with what from.
    memory_bytes : int or None
        Capacity; None means unlimited.
    submit_ns : int
        How long each segment keeps the submitting thread before it can start.
    slowdown : tuple of float
        Factor on service times with 1, 2, ... busy lanes; the last holds for more. Empty means
        that lanes do not slow each other.
    pageable, captured, sms : bool, bool, int
        As in ``DeviceSpec``.
    """

    name: str
    kind: str
    lanes: int
    widths: tuple[int, ...]
    origin: str
    preset: str = ""
    replay: bool = False
    memory: str = "host"
    memory_bytes: int | None = None
    submit_ns: int = 0
    slowdown: tuple[float, ...] = ()
    pageable: bool = False
    captured: bool = True
    sms: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind {self.kind!r} is unknown")
        if self.lanes < 1 or not self.widths:
            raise ValueError(f"device {self.name!r} needs a lane and a width at least")

    @staticmethod
    def of(spec: DeviceSpec, origin: str, **measured: Any) -> DeviceProfile:
        """A device as the user named it, with what was measured of it."""
        asked = {name: getattr(spec, name) for name in _ASKED}
        return DeviceProfile(**asked, origin=origin, **measured)

    @property
    def spec(self) -> DeviceSpec:
        """What the user asked for when it was profiled."""
        flags = (self.replay, self.pageable, self.captured)
        return DeviceSpec(self.kind, self.name, self.lanes, self.preset, *flags, self.sms)
