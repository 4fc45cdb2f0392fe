"""Placement files: task name -> device name, priority and maybe width, of one model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surplus.engine.atomic_file import write_atomic
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.planning.placement_rows import placed_rows, read_rows
from surplus.placement.holds import CopyHold, Hold
from surplus.placement.named_holds import hold_rows, holds_of
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.records import read_value

FORMAT = "surplus-placement/3"
_WITHOUT_WIDTHS = ("surplus-placement/2", "surplus-placement/1")
"""Version 1 had no holds, either."""


def save_placement(path: Path, graph: Graph, problem: Problem, placement: Placement) -> None:
    """Write a placement by names, so that it can be read and edited by hand.

    It says how wide tasks run where the problem lets them choose.
    """
    document = {
        "format": FORMAT,
        "model": graph.source_hash,
        "policy": placement.policy,
        "devices": [device.name for device in problem.devices],
        "tasks": placed_rows(problem, placement),
        **hold_rows(problem, placement),
    }
    write_atomic(path, json.dumps(document, indent=1).encode())


def load_placement(path: Path, graph: Graph, problem: Problem) -> Placement:
    """Read a placement file.

    Parameters
    ----------
    problem : Problem
        With the widths that tasks may take, for files that say how wide they run.

    Raises
    ------
    PlacementError
        If it is no placement, of another model, names an unknown task or device, a width that a
        task does not have there, or has holds that cannot be kept.
    """
    try:
        raw = json.loads(path.read_text())
    except OSError as error:
        raise PlacementError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise PlacementError(f"{path}: not a placement: {error}") from error
    if not isinstance(raw, dict) or raw.get("format") not in (FORMAT, *_WITHOUT_WIDTHS):
        raise PlacementError(f"{path}: field 'format' must be {FORMAT!r}")
    if raw.get("model") != graph.source_hash:
        raise PlacementError(f"{path}: a placement of another model than {graph.name!r}")
    return _resolve(path, raw, problem)


def _resolve(path: Path, raw: dict[str, Any], problem: Problem) -> Placement:
    policy = str(raw.get("policy", path.name))
    try:
        has_widths = raw["format"] == FORMAT
        devices, priority, widths = read_rows(problem, raw.get("tasks"), has_widths=has_widths)
        holds, copy_holds = _holds(problem, raw)
        placement = Placement(devices, priority, policy, widths, holds, copy_holds)
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
