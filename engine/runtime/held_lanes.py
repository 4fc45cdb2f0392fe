"""Lanes that a model lacks: operators go on although their queries were ended 30 s ago.

ONNX Runtime ends between operators only, so one that never returns keeps its lane until the process
ends (``engine/core/scheduler/held_lanes.hpp``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from surplus.engine import _core


def held_by(plans: Iterable[_core.Plan]) -> str:
    """Which segments of a model's plans hold lanes; empty if none does."""
    names = sorted(name for plan in plans for name in plan.held_nodes)
    if not names:
        return ""
    return f"lanes are held by segments whose queries have ended: {', '.join(map(repr, names))}"


def stall_of(machine: _core.Machine, names: Collection[str]) -> str:
    """Which of the devices named have no lane left; empty if all have."""
    if not machine.is_stalled:
        return ""
    rows = machine.stats()["devices"]
    stalled = (row for row in rows if row["name"] in names and row["held"] >= row["lanes"])
    return "; ".join(
        f"all {row['lanes']} lanes of {row['name']} are held by operators that do not return"
        for row in stalled
    )
