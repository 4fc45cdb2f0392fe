"""SIR+'s Tables 1 to 3 as rows that fit a terminal of 100 columns.

What each device has of its own is joined in one column, in the order of the problem's devices.

References
----------
SIR+ (SYSTOR 2022), Tables 1-3; the numbers come from ``surplus.placement.table``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surplus.engine.cli.output import three_digits
from surplus.placement import CommonRow, PlacementRow

Row = dict[str, Any]


def move_rows(rows: Sequence[PlacementRow]) -> list[Row]:
    """Table 1: what each policy moves, how long tasks wait, and the predicted makespan."""
    first_ns = rows[0].makespan_ns
    has_wide = any(row.tasks_wide for row in rows)
    return [
        {
            "policy": row.policy,
            "tasks moved": row.tasks_moved,
            "tasks": _joined([d.tasks for d in row.devices]),
            **({"wide": row.tasks_wide} if has_wide else {}),
            "queueing µs": _joined([d.queueing_ns / 1e3 for d in row.devices]),
            "makespan ms": row.makespan_ns / 1e6,
            f"vs {rows[0].policy}": _change(row.makespan_ns, first_ns),
            "above bound": f"{100 * row.gap:.1f} %",
        }
        for row in rows
    ]


def cost_rows(rows: Sequence[PlacementRow]) -> list[Row]:
    """Table 2: service time and use of each device, what is copied, and most memory at once."""
    return [
        {
            "policy": row.policy,
            "service ms": _joined([d.service_ns / 1e6 for d in row.devices]),
            "use %": _joined([100 * d.utilisation for d in row.devices]),
            "copies": row.copies,
            "copied MB": row.copied_bytes / 1e6,
            "copying ms": row.copy_ns / 1e6,
            "memory MB": _joined([d.memory_bytes / 1e6 for d in row.devices]),
        }
        for row in rows
    ]


def common_rows(rows: Sequence[CommonRow]) -> list[Row]:
    """Table 3: two policies on the tasks that both moved to the same device."""
    return [
        {
            "policy": row.policy,
            "tasks moved": row.tasks_moved,
            "in common": row.tasks_common,
            "queueing µs": row.queueing_ns / 1e3,
            "service µs": row.service_ns / 1e3,
            "copying ms": row.copy_ns / 1e6,
        }
        for row in rows
    ]


def devices_of(row: PlacementRow) -> str:
    """The order in which joined columns show devices."""
    return " / ".join(device.device for device in row.devices)


def _joined(values: Sequence[float]) -> str:
    return " / ".join(map(three_digits, values))


def _change(value_ns: int, base_ns: int) -> str:
    return f"{100 * (value_ns / base_ns - 1):+.1f} %" if base_ns else "-"
