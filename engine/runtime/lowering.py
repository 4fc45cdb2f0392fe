"""Lowers a plan to the core: names become integer indices, segments become sessions."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

from engine import _core
from engine.dfg.extract import extract
from engine.dfg.graph import Graph
from engine.errors import ExecutionError
from engine.runtime.free_memory import release_free_memory
from engine.runtime.laid_out import LEVEL, laid_out_file, lay_out, refuse
from engine.runtime.segment_store import stored
from engine.segmentation.plan import Plan, Segment

_log = logging.getLogger(__name__)


def lower(graph: Graph, plan: Plan, machine: _core.Machine) -> _core.Plan:
    """Build the core's plan: one session a segment, one slot a tensor and memory.

    Raises
    ------
    ExecutionError
        If ONNX Runtime refuses a segment; the message names it.
    """
    builder = _core.PlanBuilder(machine)
    slots = _Slots(builder, graph, plan)
    for segment in sorted(plan.segments, key=lambda s: s.rank):
        file = segment_file(graph, segment, whole=len(plan.segments) == 1)
        try:
            _add(builder, slots, segment, file)
        except RuntimeError as error:
            raise ExecutionError(f"segment {segment.name!r} cannot be prepared: {error}") from error
    for copy in plan.copies:
        builder.add_copy(
            f"copy {copy.tensor}",
            copy.source,
            copy.target,
            slots.made(copy.tensor),
            slots.read(copy.tensor, copy.target),
            rank=copy.rank,
        )
    builder.set_inputs([slots.made(graph.tensors[i].name) for i in graph.inputs])
    builder.set_outputs([slots.read(name, 0) for name in computed_outputs(graph)])
    release_free_memory()  # ONNX Runtime copies large weights for a moment
    return builder.build()


def _add(builder: _core.PlanBuilder, slots: _Slots, segment: Segment, file: Path) -> None:
    """Add a segment's session, from its laid-out file if there is one that loads."""
    laid_out = laid_out_file(file)
    if laid_out is not None:
        try:
            return _add_session(builder, slots, segment, laid_out, LEVEL)
        except RuntimeError as error:
            _log.warning("%s is not used: %s", laid_out, error)
            refuse(laid_out)
    _add_session(builder, slots, segment, file, "all")


def _add_session(
    builder: _core.PlanBuilder, slots: _Slots, segment: Segment, file: Path, level: str
) -> None:
    builder.add_session(
        segment.name,
        segment.device,
        str(file),
        [(name, slots.read(name, segment.device)) for name in segment.inputs],
        [(name, slots.made(name)) for name in segment.outputs],
        width=segment.width,
        rank=segment.rank,
        service_ns=segment.service_ns,
        level=level,
    )


def lay_out_plan(graph: Graph, plan: Plan) -> None:
    """Make the laid-out files of a plan's segments, for models that are made from now on."""
    for segment in plan.segments:
        lay_out(graph, segment_file(graph, segment, whole=len(plan.segments) == 1))


def computed_outputs(graph: Graph) -> list[str]:
    """Outputs that the core delivers: all but those that are constants of the model."""
    names = [graph.tensors[i].name for i in graph.outputs]
    return [name for name in names if name not in graph.constant_outputs]


class _Slots:
    """The value slot of each tensor in each memory."""

    def __init__(self, builder: _core.PlanBuilder, graph: Graph, plan: Plan) -> None:
        self._builder = builder
        self._memories = plan.memories
        self._copied = {(c.tensor, plan.memories[c.target]) for c in plan.copies}
        self._slots: dict[tuple[str, str], int] = {}
        self._home = {name: plan.memories[s.device] for s in plan.segments for name in s.outputs}

    def made(self, name: str) -> int:
        """The slot where a tensor is produced; inputs start in the memory of device 0."""
        return self._slot(name, self._home.get(name, self._memories[0]))

    def read(self, name: str, device: int) -> int:
        """The slot from which a device reads; metadata-only tensors are read where they are."""
        memory = self._memories[device]
        return self._slot(name, memory) if (name, memory) in self._copied else self.made(name)

    def _slot(self, name: str, memory: str) -> int:
        key = (name, memory)
        if key not in self._slots:
            self._slots[key] = self._builder.add_value(f"{name}@{memory}")
        return self._slots[key]


def segment_file(graph: Graph, segment: Segment, *, whole: bool) -> Path:
    """The ONNX file of a segment, written once beside the weights that it refers to."""
    # Dead nodes make what the model's own file does not deliver.
    delivered = {graph.tensors[i].name for i in graph.outputs}
    if whole and delivered.issuperset(segment.outputs):
        return graph.model_path
    content = (segment.tasks, segment.outputs, segment.joins)
    key = hashlib.sha256(repr(content).encode()).hexdigest()[:24]
    return stored(
        graph,
        f"segment-{key}.onnx",
        lambda: extract(graph, segment.tasks, segment.outputs, segment.joins).SerializeToString(),
    )
