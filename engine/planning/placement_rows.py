"""What a placement file says of each task: device, priority and, where it may choose, width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.widths import is_moldable

Columns = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Devices, priorities and widths by task; no widths where the file leaves them to segments."""

_ROW = "[device, priority]"
_WIDE_ROW = "[device, priority, width]"


def placed_rows(problem: Problem, placement: Placement) -> dict[str, list[str | int]]:
    """A row for each task, by name."""
    names = [problem.devices[device].name for device in placement.device_of]
    columns: list[Sequence[str | int]] = [names, placement.priority]
    if is_moldable(problem):
        columns.append(placement.widths(problem))
    rows = map(list, zip(*columns, strict=True))
    return {task.name: row for task, row in zip(problem.tasks, rows, strict=True)}


def read_rows(problem: Problem, rows: object, *, has_widths: bool) -> Columns:
    """The inverse of ``placed_rows``; whether tasks have these widths is not looked at.

    Parameters
    ----------
    rows : object
        What the file has.
    has_widths : bool
        Whether files of its version may say widths. Either all of its rows do, or none.

    Raises
    ------
    ValueError
        Naming the task and what of its row is wrong.
    """
    if not isinstance(rows, dict):
        raise ValueError("field 'tasks' must map names to [device, priority]")
    known = {task.name for task in problem.tasks}
    for name in rows:
        if name not in known:
            raise ValueError(f"unknown task {name!r}")
    is_wide = has_widths and any(isinstance(row, list) and len(row) == 3 for row in rows.values())
    device_index = {device.name: index for index, device in enumerate(problem.devices)}
    read = [
        _read_row(task.name, rows.get(task.name), device_index, is_wide=is_wide)
        for task in problem.tasks
    ]
    devices, priority, widths = zip(*read, strict=True) if read else ((), (), ())
    return devices, priority, widths if is_wide else ()


def _read_row(
    name: str, row: Any, device_index: dict[str, int], *, is_wide: bool
) -> tuple[int, int, int]:
    match row:
        case [str(device), int(priority)] if not is_wide:
            width: object = 1
        case [str(device), int(priority), width] if is_wide:
            pass
        case [str(_), int(_)]:
            raise ValueError(f"task {name!r}: expected {_WIDE_ROW}, since others have a width")
        case _:
            raise ValueError(f"task {name!r}: expected {_WIDE_ROW if is_wide else _ROW}")
    if device not in device_index:
        raise ValueError(f"task {name!r}: unknown device {device!r}")
    if type(width) is not int or width < 1:
        raise ValueError(f"task {name!r}: width must be a whole number from 1 on, got {width!r}")
    return device_index[device], priority, width
