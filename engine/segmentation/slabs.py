"""Cuts a task graph into slabs of equal depth, for graphs without hubs.

Where width comes from many small forks and joins (random wide graphs, cells of searched
networks) no task is a hub and clusters either swallow everything or fall into crumbs. A slab
holds the tasks whose depth lies in one interval; what is connected inside a slab is a cluster,
and packing.py deals a slab's clusters out to the lanes. Every edge between slabs counts as a
hub edge, so clusters.py's argument holds: the clusters form an acyclic graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from surplus.engine.dfg.antichain import levels
from surplus.engine.segmentation.clusters import Cluster, cut_at
from surplus.placement.problem import Problem


def slabs(problem: Problem, device_of: Sequence[int], thickness: int) -> list[Cluster]:
    """Cut at every device boundary and after every ``thickness`` levels.

    Parameters
    ----------
    thickness : int
        Levels of a slab, >= 1. A task's level is the number of tasks on the longest path to it.

    Raises
    ------
    ValueError
        If the thickness is out of range.
    """
    if thickness < 1:
        raise ValueError(f"thickness must be >= 1, got {thickness}")
    slab = [depth // thickness for depth in levels(problem.predecessors)]
    return cut_at(problem, device_of, lambda a, b: slab[a] != slab[b])
