"""Names of the program's variables, by which starts and answers cross between processes."""

from __future__ import annotations

from surplus.milp.copies import LinkCopy
from surplus.placement.problem import link_name

MAKESPAN = "makespan"


def placed(task: int, device: int) -> str:
    """1 if the task runs on the device."""
    return f"x_{task}_{device}"


def width(task: int, device: int, lanes: int) -> str:
    """1 if the task runs on so many lanes of the device, where it has a choice."""
    return f"w_{task}_{device}_{lanes}"


def lane(task: int, device: int, number: int) -> str:
    """1 if the task holds that lane of the device."""
    return f"z_{task}_{device}_{number}"


def start(task: int) -> str:
    """When the task starts, in units."""
    return f"s_{task}"


def end(task: int) -> str:
    """When the task ends, in units."""
    return f"e_{task}"


def needed(copy: LinkCopy) -> str:
    """1 if the copy is made."""
    return f"c_{copy.tensor}_{link_name(copy.source, copy.target)}"


def sent(copy: LinkCopy) -> str:
    """When the copy takes its link, in units."""
    return f"u_{copy.tensor}_{link_name(copy.source, copy.target)}"
