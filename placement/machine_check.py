"""What every device, link and blob fulfils by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surplus.placement.field_checks import (
    ProblemError,
    check_flag,
    check_positive,
    check_whole,
)

if TYPE_CHECKING:
    from surplus.placement.problem import Blob, Device, Link

LANES_END = 4_097
"""A machine has fewer lanes than this; lists of lanes are made for each device."""

FACTOR_MOST = 1e6
"""Of a slow-down."""

BYTES_PER_S_MOST = 1e30
"""Of a link, so that a whole number of any length is no infinite float."""


def check_device(device: Device) -> None:
    """Raise ProblemError, naming the field."""
    owner = f"device {device.name!r}"
    check_whole(owner, "lanes", device.lanes, least=1, end=LANES_END)
    if device.memory_bytes is not None:
        check_whole(owner, "memory_bytes", device.memory_bytes)
    check_whole(owner, "submit_ns", device.submit_ns)
    for place, factor in enumerate(device.slowdown):
        check_positive(owner, f"slowdown[{place}]", factor, most=FACTOR_MOST)


def check_link(link: Link) -> None:
    """Raise ProblemError, naming the field."""
    owner = owner_of(link)
    if link.source == link.target:
        raise ProblemError(f"{owner}: source and target are the same memory")
    check_whole(owner, "latency_ns", link.latency_ns)
    check_whole(owner, "occupancy_ns", link.occupancy_ns)
    check_positive(owner, "bytes_per_s", link.bytes_per_s, most=BYTES_PER_S_MOST)
    if link.staging_bytes is not None:
        check_whole(owner, "staging_bytes", link.staging_bytes, least=1)
    check_flag(owner, "pageable", link.pageable)


def check_blob(blob: Blob) -> None:
    """Raise ProblemError, naming the field."""
    check_whole(f"blob {blob.name!r}", "size_bytes", blob.size_bytes)


def owner_of(link: Link) -> str:
    """How errors call a link; on one line, whatever its memories are called."""
    return f"link {link.name if link.name.isprintable() else repr(link.name)}"
