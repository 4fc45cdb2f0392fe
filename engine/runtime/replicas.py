"""A plan on other devices that are like its own, of the same machine or of what is left of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from surplus.engine.segmentation.plan import Plan
from surplus.placement.timeline import Timeline


def replica(plan: Plan, homes: Sequence[int]) -> Plan:
    """The same segments elsewhere, of which nothing is predicted.

    Parameters
    ----------
    homes : sequence of int
        On which device each of the plan's devices' segments run; all of a memory in one.
    """
    return _on(plan, dict(enumerate(homes)))


def on_devices(plan: Plan, places: Mapping[int, int], devices: Sequence[str]) -> Plan:
    """The plan on a machine with other devices.

    Parameters
    ----------
    places : mapping of int to int
        Where each device that the plan uses goes, among ``devices``.
    devices : sequence of str
        Some of the plan's.
    """
    memory_of = dict(zip(plan.devices, plan.memories, strict=True))
    memories = tuple(memory_of[name] for name in devices)
    return replace(_on(plan, places), devices=tuple(devices), memories=memories)


def used_devices(plan: Plan) -> set[int]:
    """Those with segments, and the host's, where inputs come from."""
    return {0, *(segment.device for segment in plan.segments)}


def _on(plan: Plan, places: Mapping[int, int]) -> Plan:
    return replace(
        plan,
        segments=tuple(replace(s, device=places[s.device]) for s in plan.segments),
        copies=tuple(
            replace(copy, source=places[copy.source], target=places[copy.target])
            for copy in plan.copies
        ),
        predicted=Timeline((), plan.predicted.origin),
    )
