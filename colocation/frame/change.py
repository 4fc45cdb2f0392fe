"""Devices that fail and come back, services that leave and come: what happens to a deployment."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class ChangeKind(IntEnum):
    """What changed."""

    DEVICE_LOST = 0
    DEVICE_BACK = 1
    SERVICE_LEFT = 2
    SERVICE_CAME = 3

    @property
    def of_device(self) -> bool:
        """Whether it is about a device, not a service."""
        return self in (ChangeKind.DEVICE_LOST, ChangeKind.DEVICE_BACK)

    @property
    def away(self) -> bool:
        """Whether it takes something away."""
        return self in (ChangeKind.DEVICE_LOST, ChangeKind.SERVICE_LEFT)


class Change(NamedTuple):
    """One change; ``subject`` is the index of the device or service."""

    kind: ChangeKind
    subject: int
