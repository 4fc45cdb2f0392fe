"""What ``engine place`` prints: SIR+'s Tables 1 to 3, and how good the chosen plan is."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.engine.cli.output import duration, show_rows
from surplus.placement import Bounds, CommonRow, PlacementRow


def show_placed(
    name: str,
    rows: Sequence[PlacementRow],
    common: Sequence[CommonRow],
    bounds: Bounds,
    chosen: str,
) -> None:
    """Print the tables, the bounds, and what they prove of the ``chosen`` policy's plan."""
    from surplus.engine.cli.placement_tables import common_rows, cost_rows, devices_of, move_rows

    devices = devices_of(rows[0])
    show_rows(f"{name} on {devices}: tasks and mean queueing (SIR+ Table 1)", move_rows(rows))
    show_rows(f"{name} on {devices}: time, use and copies (SIR+ Table 2)", cost_rows(rows))
    show_rows(f"{name}: means over tasks that sd moves as well (SIR+ Table 3)", common_rows(common))
    print(
        f"simulated; lower bound {duration(bounds.makespan_ns)}"
        f" (critical path {duration(bounds.path_ns)}, load {duration(bounds.load_ns)})"
    )
    if bounds.makespan_ns:
        gap = next(row.gap for row in rows if row.policy == chosen)
        print(f"{chosen}: proven to be within {100 * gap:.1f} % of the optimum")
