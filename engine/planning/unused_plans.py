"""Removes what no stored plan of a model needs, and plans beyond the newest ones."""

from __future__ import annotations

import logging
from pathlib import Path

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.planning.stored_plan import (
    EARLIER,
    FORMAT,
    DamagedError,
    document_of,
    read_document,
)
from surplus.engine.planning.unused_files import remove_unused
from surplus.engine.segmentation.plan import Segment

_log = logging.getLogger(__name__)

_MOST_PLANS = 64
"""Of one model, for all devices, options, sizes and machines; of more the last used are kept."""


def remove_unused_files(graph: Graph) -> None:
    """Remove segments that no stored plan of the graph names, and plans beyond the newest ones.

    Where a plan cannot be understood, its segments are not known and all stay.
    """
    try:
        count = remove_unused(graph, lambda: _named(graph.folder))
    except (OSError, PlacementError) as error:
        _log.info("no unused segments are removed: %s", error)
        return
    _log.debug("%s: %d unused files removed", graph.folder, count)


def _named(folder: Path) -> list[Segment]:
    """Segments of all plans that are kept."""
    plans = sorted(folder.glob("plan-*.json"), key=_age_ns)
    for path in plans[_MOST_PLANS:]:
        path.unlink(missing_ok=True)
    return [segment for path in plans[:_MOST_PLANS] for segment in _segments_of(path)]


def _age_ns(path: Path) -> int:
    """Since it was stored, or last used; the newest is the least."""
    try:
        return -path.stat().st_mtime_ns
    except OSError:  # just replaced or removed
        return 0


def _segments_of(path: Path) -> tuple[Segment, ...]:
    """Of a stored plan and its runners-up, whatever it was made for; none of one that is damaged or
    of an earlier version, which nobody will use.

    Raises
    ------
    PlacementError
        If it is of another format.
    """
    try:
        raw = read_document(path)
    except (FileNotFoundError, UnicodeError, DamagedError):
        return ()
    if raw.get("format") in EARLIER:
        return ()
    if raw.get("format") != FORMAT:
        raise PlacementError(f"{path.name} is of another format")
    stored = document_of(raw).read()
    plans = [stored.plan]
    if stored.throughput_plan is not None:
        plans.append(stored.throughput_plan.plan)
    if stored.narrow_plan is not None:
        plans.append(stored.narrow_plan)
    if stored.judgement is not None:
        plans += [runner_up.read() for runner_up in stored.judgement.runners_up]
    return tuple(segment for plan in plans for segment in plan.segments)
