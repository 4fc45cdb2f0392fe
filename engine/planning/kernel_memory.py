"""How much memory weights of a library of kernels may take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from surplus.engine.devices.machine_memory import machine_bytes
from surplus.engine.segmentation.plan import Plan, Segment

_SHARE_OF_FREE = 0.25

_GROUP = Path("/sys/fs/cgroup")


def kernel_bytes(plan: Plan) -> int:
    """What all copies of the plan's segments hold at most."""
    return sum(s.kernels.weight_bytes * s.kernels.copies for s in plan.segments if s.kernels)


def within(plan: Plan, limit_bytes: int) -> Plan | None:
    """The plan, with one copy a segment where more would be too much; None where that is, too."""
    if kernel_bytes(plan) <= limit_bytes:
        return plan
    single = replace(plan, segments=tuple(map(_with_one_copy, plan.segments)))
    return single if kernel_bytes(single) <= limit_bytes else None


def default_bytes() -> int:
    """A quarter of what is free now, of the machine and of this process's control group."""
    return round(_SHARE_OF_FREE * min(machine_bytes("MemAvailable"), _of_group()))


def _with_one_copy(segment: Segment) -> Segment:
    if segment.kernels is None:
        return segment
    return replace(segment, kernels=replace(segment.kernels, copies=1))


def _of_group() -> float:
    try:
        most, used = (
            (_GROUP / name).read_text().strip() for name in ("memory.max", "memory.current")
        )
        return float(most) - float(used)  # "max" is none
    except (OSError, ValueError):
        return float("inf")
