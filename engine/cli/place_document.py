"""What ``engine place --json`` prints: the policies compared, and the chosen one's schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surplus.engine.cli.place_throughput import THROUGHPUT, PlacedForThroughput
from surplus.placement import CommonRow, Placement, PlacementRow, Problem, simulate
from surplus.placement.noise import Promise
from surplus.placement.stored_schedule import schedule_rows


def place_document(
    problem: Problem,
    chosen: Placement,
    rows: Sequence[PlacementRow],
    common: Sequence[CommonRow],
    promise: Promise | None = None,
    busy: PlacedForThroughput | None = None,
) -> dict[str, Any]:
    """The document (docs/FORMATS.md)."""
    timeline = simulate(problem, chosen)
    bound_ns = rows[0].lower_bound_ns
    makespan_ns = timeline.makespan_ns
    return {
        "format": "surplus-placed/1",
        "problem": problem.name,
        "policy": chosen.policy,
        "policies": [row.to_dict() for row in rows],
        "common_with_sd": [row.to_dict() for row in common],
        "lower_bound_ns": bound_ns,
        "bound_ns": bound_ns,
        "makespan_ns": makespan_ns,
        "gap": (makespan_ns - bound_ns) / makespan_ns if makespan_ns else 0.0,
        **({} if promise is None else {"under_noise": promise.to_dict()}),
        **({} if busy is None else {THROUGHPUT: busy.to_dict()}),
        **schedule_rows(problem, chosen, timeline),
    }
