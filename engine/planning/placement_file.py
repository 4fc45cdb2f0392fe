"""Placement files: task name -> device name with priorities, of one model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from surplus.engine.atomic_file import write_atomic
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.placement.holds import CopyHold, Hold
from surplus.placement.named_holds import hold_rows, holds_of
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.records import read_value

FORMAT = "surplus-placement/2"
_READABLE = (FORMAT, "surplus-placement/1")
"""Version 1 had no holds."""


def save_placement(path: Path, graph: Graph, problem: Problem, placement: Placement) -> None:
    """Write a placement by names, so that it can be read and edited by hand."""
    devices = [device.name for device in problem.devices]
    rows = {
        task.name: [devices[device], priority]
        for task, device, priority in zip(
            problem.tasks, placement.device_of, placement.priority, strict=True
        )
    }
    document = {
        "format": FORMAT,
        "model": graph.source_hash,
        "policy": placement.policy,
        "devices": devices,
        "tasks": rows,
        **hold_rows(problem, placement),
    }
    write_atomic(path, json.dumps(document, indent=1).encode())


def load_placement(path: Path, graph: Graph, problem: Problem) -> Placement:
    """Read a placement file.

    Raises
    ------
    PlacementError
        If it is no placement, of another model, names an unknown task or device, or has holds
        that cannot be kept.
    """
    try:
        raw = json.loads(path.read_text())
    except OSError as error:
        raise PlacementError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise PlacementError(f"{path}: not a placement: {error}") from error
    if not isinstance(raw, dict) or raw.get("format") not in _READABLE:
        raise PlacementError(f"{path}: field 'format' must be {FORMAT!r}")
    if raw.get("model") != graph.source_hash:
        raise PlacementError(f"{path}: a placement of another model than {graph.name!r}")
    return _resolve(path, raw, problem)


def _resolve(path: Path, raw: dict[str, object], problem: Problem) -> Placement:
    index = {device.name: i for i, device in enumerate(problem.devices)}
    rows = raw.get("tasks")
    if not isinstance(rows, dict):
        raise PlacementError(f"{path}: field 'tasks' must map names to [device, priority]")
    known = {task.name for task in problem.tasks}
    for name in rows:
        if name not in known:
            raise PlacementError(f"{path}: unknown task {name!r}")
    device_of: list[int] = []
    priority: list[int] = []
    for task in problem.tasks:
        match rows.get(task.name):
            case [str(device), int(rank)] if device in index:
                device_of.append(index[device])
                priority.append(rank)
            case [str(device), int(_)]:
                raise PlacementError(f"{path}: task {task.name!r}: unknown device {device!r}")
            case _:
                raise PlacementError(f"{path}: task {task.name!r}: expected [device, priority]")
    policy = str(raw.get("policy", path.name))
    try:
        holds, copy_holds = _holds(problem, raw)
        placement = Placement(
            tuple(device_of), tuple(priority), policy, holds=holds, copy_holds=copy_holds
        )
        placement.check(problem)
    except ValueError as error:
        raise PlacementError(f"{path}: {error}") from error
    return placement


def _holds(
    problem: Problem, raw: Mapping[str, object]
) -> tuple[tuple[Hold, ...], tuple[CopyHold, ...]]:
    tasks = read_value(tuple[tuple[str, str], ...], raw.get("holds", []), "holds")
    of_copies = raw.get("copy_holds", [])
    copies = read_value(tuple[tuple[str, str, str], ...], of_copies, "copy_holds")
    return holds_of(problem, tasks, copies)
