"""A plan on fewer devices: the same segments, those of a device that is gone on another one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from surplus.engine.segmentation.plan import Copy, Plan, Segment
from surplus.placement.timeline import Timeline


def moved_plan(plan: Plan, left: Mapping[str, int], kinds: Mapping[str, Hashable]) -> Plan:
    """The same segments on the devices that are left.

    What is on a device that is not left goes to the one of its kind that has least to do, or to
    the CPU, where a plan of one segment gets all lanes. What was predicted no longer holds, so
    nothing is.

    Parameters
    ----------
    left : mapping of str to int
        Some of the plan's devices and their lanes, the CPU first.
    kinds : mapping of str to hashable
        What devices are of, by name; those of one kind stand for each other.
    """
    names = tuple(left)
    homes = _homes(plan, names, kinds)
    memories = tuple(plan.memories[plan.devices.index(name)] for name in names)
    width = left[names[0]] if len(plan.segments) == 1 else None
    return replace(
        plan,
        name=f"{plan.name} on {', '.join(names)}",
        devices=names,
        memories=memories,
        segments=tuple(_moved(segment, homes[segment.device], width) for segment in plan.segments),
        copies=_copies(plan, homes, memories),
        predicted=Timeline((), plan.predicted.origin),
        bound_ns=0,
    )


def _homes(plan: Plan, names: tuple[str, ...], kinds: Mapping[str, Hashable]) -> list[int]:
    """Where each of the plan's devices is now; all of a memory in one, as its tensors are."""
    load = [
        sum(s.service_ns for s in plan.segments if plan.devices[s.device] == name) for name in names
    ]
    heirs: dict[str, int] = {}
    for device, memory in zip(plan.devices, plan.memories, strict=True):
        if device in names or memory in heirs:
            continue
        alike = [i for i in range(1, len(names)) if _is_alike(names[i], device, kinds)]
        heirs[memory] = heir = min(alike, key=lambda i: load[i], default=0)
        load[heir] += sum(s.service_ns for s in plan.segments if plan.memories[s.device] == memory)
    return [
        names.index(device) if device in names else heirs[memory]
        for device, memory in zip(plan.devices, plan.memories, strict=True)
    ]


def _is_alike(device: str, other: str, kinds: Mapping[str, Hashable]) -> bool:
    return device in kinds and kinds[device] == kinds.get(other)


def _moved(segment: Segment, home: int, width: int | None) -> Segment:
    if home:
        return replace(segment, device=home)
    width = width or segment.width
    return replace(segment, device=0, width=width, captured=False, not_captured="", launch_ns=0)


def _copies(plan: Plan, homes: list[int], memories: tuple[str, ...]) -> tuple[Copy, ...]:
    """Of each tensor one to each memory, the first; none within a memory."""
    found: dict[tuple[str, str], Copy] = {}
    for copy in plan.copies:
        source, target = homes[copy.source], homes[copy.target]
        if memories[source] != memories[target]:
            key = copy.tensor, memories[target]
            found.setdefault(key, replace(copy, source=source, target=target))
    return tuple(found.values())
