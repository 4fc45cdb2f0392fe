"""What the widths that a task may take beside its narrowest fulfil."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surplus.placement.field_checks import ProblemError, check_count, check_whole, shown

if TYPE_CHECKING:
    from surplus.placement.problem import Device, Task


def check_wider(owner: str, task: Task, devices: tuple[Device, ...]) -> None:
    """Raise ProblemError, naming the field, unless widths ascend and are those of lanes."""
    if task.wider_ns:
        check_count(owner, "wider_ns", task.wider_ns, len(devices))
    for index, (device, row) in enumerate(zip(devices, task.wider_ns, strict=False)):
        before = task.width(index)
        for place, at in enumerate(row):
            field = f"wider_ns[{index}][{place}]"
            if len(at) != 2:
                raise ProblemError(f"{owner}: {field} must be a width and a time, got {shown(at)}")
            width, service_ns = at
            check_whole(owner, f"{field}[0]", width, least=before + 1)
            check_whole(owner, f"{field}[1]", service_ns)
            if width > device.lanes:
                raise ProblemError(
                    f"{owner}: {field}[0] {width} exceeds the {device.lanes} lanes of"
                    f" {device.name!r}"
                )
            before = width
