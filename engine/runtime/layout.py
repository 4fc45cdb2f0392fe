"""The layout of a plan's segments for the CPU: files with packed weights, made once and mapped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from surplus.engine.cache.sealed_file import is_intact
from surplus.engine.dfg.graph import Graph
from surplus.engine.runtime.lowering import has_own_kernels
from surplus.engine.runtime.segment_files import segment_file
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.planned_graph import planned_graph
from surplus.engine.store.folder_lock import files_in_use
from surplus.engine.store.prepacked import prepacked_path, refuse


def prepack_plan(graph: Graph, plan: Plan) -> None:
    """Make the prepacked files of a plan's segments, for models that are made from now on."""
    graph = planned_graph(graph, plan)
    if not graph.is_stored:
        return
    with files_in_use(graph.folder):
        for file in _files_on_cpu(graph, plan):
            _prepack(graph, file)


def refuse_layout(graph: Graph, plan: Plan) -> None:
    """Let a plan's segments run from their own files, in models that are made from now on."""
    graph = planned_graph(graph, plan)
    with files_in_use(graph.folder):
        for file in _files_on_cpu(graph, plan):
            refuse(prepacked_path(file))


def _files_on_cpu(graph: Graph, plan: Plan) -> Iterator[Path]:
    for segment in plan.segments:
        if segment.kernels is None and not has_own_kernels(plan, segment):
            yield segment_file(graph, segment, whole=len(plan.segments) == 1)


def _prepack(graph: Graph, source: Path) -> None:
    if is_intact(prepacked_path(source)):
        return
    from surplus.engine.store.prepacking import prepack  # parses what it lays out

    prepack(graph, source)
