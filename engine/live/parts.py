"""Stretches of a model's groups as plans of the core, made when first asked for.

What a stretch does not make it reads from the caller, and what later groups read it hands back, so
that a query can rest between two stretches. Sessions of the same group are shared by all of them.
A group may have compiled versions, which then run instead of its session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from engine import _core
from engine.dfg.extract import boundary_inputs, boundary_outputs
from engine.dfg.graph import Graph
from engine.errors import ExecutionError
from engine.live.compiled import Compiled
from engine.live.compiled_file import Artifact
from engine.profiling.devices import DeviceSpec
from engine.runtime.folder_lock import files_in_use
from engine.runtime.laid_out import LEVEL, laid_out_file
from engine.runtime.laying_out import lay_out
from engine.runtime.lowering import segment_file
from engine.segmentation.plan import Segment

_CONFIG = {"session.enable_mem_pattern": "0"}
"""Batches have many sizes: patterns of each would be kept."""


class Part(NamedTuple):
    """Groups ``first <= i < last``: what they read, and what they hand back, by name."""

    native: _core.Plan
    reads: tuple[str, ...]
    makes: tuple[str, ...]


@dataclass(frozen=True)
class Charge:
    """What an emulated device charges for a group.

    Parameters
    ----------
    service_ns, launch_ns, captured_ns : int
        As ``PlanBuilder.add_session``.
    """

    service_ns: int = 0
    launch_ns: int = 0
    captured_ns: int = -1


@dataclass(frozen=True)
class Place:
    """A device of a machine; on a CPU, how many of its lanes.

    ``by_share``: its partitions are shares of its processors, not some of its lanes.
    """

    machine: _core.Machine
    spec: DeviceSpec
    index: int
    width: int = 1
    by_share: bool = False


@dataclass
class Parts:
    """The parts of a model.

    Parameters
    ----------
    graph : Graph
    groups : sequence of tuple of int
        Tasks of each group, in the order in which they run.
    compiled : Compiled, optional
        Each of its blocks is a group.
    """

    graph: Graph
    groups: Sequence[tuple[int, ...]]
    compiled: Compiled | None = None
    _known: dict[tuple[object, ...], Part] = field(default_factory=dict)

    def part(
        self,
        first: int,
        last: int,
        place: Place,
        charges: Sequence[Charge] | None = None,
        version: int | None = 0,
    ) -> Part:
        """Groups ``first <= i < last`` on a place.

        Parameters
        ----------
        charges : sequence of Charge, optional
            By group of the model, for an emulated device; part of the key.
        version : int, optional
            Of the groups that have compiled ones; None for sessions only.

        Raises
        ------
        ExecutionError
            If ONNX Runtime refuses a group, or a library is gone or was changed.
        """
        costs = None if charges is None else tuple(charges)
        key = (first, last, place.spec, place.width, costs, version)
        if key not in self._known:
            self._known[key] = self._made(first, last, place, charges, version)
        return self._known[key]

    def _made(
        self,
        first: int,
        last: int,
        place: Place,
        charges: Sequence[Charge] | None,
        version: int | None,
    ) -> Part:
        whole = first == 0 and last == len(self.groups)
        segments = [self._segment(i, place) for i in range(first, last)]
        artifacts = [self._artifact(i, place, version) for i in range(first, last)]
        if whole and place.spec.kind == "cpu" and not any(artifacts):
            segments, artifacts = [self._whole(place)], [None]
        own = charges or [Charge()] * len(self.groups)
        builder = _Builder(self.graph, place)
        with files_in_use(self.graph.folder):
            for index, (segment, artifact) in enumerate(zip(segments, artifacts, strict=True)):
                if self.compiled is not None and artifact is not None:
                    builder.add_compiled(segment, artifact, self.compiled.constants(artifact))
                else:
                    builder.add(segment, own[first + index])
        made = {name for segment in segments for name in segment.outputs}
        return builder.built(self._made_elsewhere(segments, made), self._wanted(last, made))

    def _segment(self, index: int, place: Place) -> Segment:
        return self._of(f"{self.graph.name} {index}", self.groups[index], place, index)

    def _artifact(self, index: int, place: Place, version: int | None) -> Artifact | None:
        if self.compiled is None or version is None:
            return None
        return self.compiled.artifact(self.groups[index], version, place.width)

    def _whole(self, place: Place) -> Segment:
        """All groups as one segment: nothing is lost between them."""
        return self._of(self.graph.name, tuple(range(len(self.graph.tasks))), place, 0)

    def _of(self, name: str, tasks: tuple[int, ...], place: Place, rank: int) -> Segment:
        return Segment(
            name=name,
            device=place.index,
            width=place.width,
            tasks=tasks,
            inputs=tuple(boundary_inputs(self.graph, tasks)),
            outputs=tuple(boundary_outputs(self.graph, tasks)),
            rank=rank,
            service_ns=0,
        )

    def _made_elsewhere(self, segments: Sequence[Segment], made: set[str]) -> list[str]:
        return list(dict.fromkeys(n for s in segments for n in s.inputs if n not in made))

    def _wanted(self, last: int, made: set[str]) -> list[str]:
        """What is made that the model delivers, or that later groups read."""
        graph = self.graph
        later = {task for tasks in self.groups[last:] for task in tasks}
        return [
            tensor.name
            for tensor in graph.tensors
            if tensor.name in made and (tensor.is_output or not later.isdisjoint(tensor.consumers))
        ]


class _Builder:
    """Adds segments to a plan; on an emulated GPU, copies of the model's inputs and outputs."""

    def __init__(self, graph: Graph, place: Place) -> None:
        self._graph = graph
        self._place = place
        self._plan = _core.PlanBuilder(place.machine)
        self._slots: dict[str, int] = {}

    def add(self, segment: Segment, charge: Charge) -> None:
        """Add a group's session, from its laid-out file where it has one."""
        whole = len(segment.tasks) == len(self._graph.tasks)
        file = segment_file(self._graph, segment, whole=whole)
        lay_out(self._graph, file)
        laid_out = laid_out_file(file)
        try:
            self._plan.add_session(
                segment.name,
                segment.device,
                str(laid_out or file),
                [(name, self._slot(name)) for name in segment.inputs],
                [(name, self._slot(name)) for name in segment.outputs],
                width=segment.width,
                rank=segment.rank,
                service_ns=charge.service_ns,
                launch_ns=charge.launch_ns,
                captured_ns=charge.captured_ns,
                level=LEVEL if laid_out else "all",
                config=_CONFIG,
            )
        except RuntimeError as error:
            raise ExecutionError(f"{segment.name!r} cannot be prepared: {error}") from error

    def add_compiled(
        self, segment: Segment, artifact: Artifact, constants: Sequence[_core.Value]
    ) -> None:
        """Add the function that computes a group."""
        try:
            self._plan.add_compiled(
                segment.name,
                segment.device,
                str(artifact.library),
                artifact.symbol,
                [self._slot(name) for name in artifact.inputs],
                [(self._slot(name), *self._declared(name)) for name in artifact.outputs],
                constants,
                width=artifact.width,
                rank=segment.rank,
            )
        except RuntimeError as error:
            raise ExecutionError(str(error)) from error

    def _declared(self, name: str) -> tuple[int, list[int] | None]:
        """Element type and shape, -1 where an extent is open; None if its rank may be another."""
        index = self._graph.tensor_index[name]
        tensor = self._graph.tensors[index]
        if tensor.shape is None or index in self._graph.doubtful_ranks:
            return tensor.elem_type, None
        return tensor.elem_type, [d if isinstance(d, int) else -1 for d in tensor.shape]

    def built(self, reads: Sequence[str], makes: Sequence[str]) -> Part:
        """Finish: the model's inputs come from the host, its outputs go there."""
        inputs = {self._graph.tensors[i].name for i in self._graph.inputs}
        outputs = {self._graph.tensors[i].name for i in self._graph.outputs}
        self._plan.set_inputs([self._copied(name, name in inputs, True) for name in reads])
        self._plan.set_outputs([self._copied(name, name in outputs, False) for name in makes])
        return Part(self._plan.build(), tuple(reads), tuple(makes))

    def _copied(self, name: str, crosses: bool, inward: bool) -> int:
        """The slot on the host's side; that of the device where nothing is copied."""
        slot = self._slot(name)
        if not crosses or self._place.spec.kind == "cpu":
            return slot
        host = self._plan.add_value(f"{name}@host")
        ends = (0, self._place.index, host, slot) if inward else (self._place.index, 0, slot, host)
        self._plan.add_copy(f"copy {name}", *ends, rank=0 if inward else len(self._graph.tasks))
        return host

    def _slot(self, name: str) -> int:
        if name not in self._slots:
            self._slots[name] = self._plan.add_value(name)
        return self._slots[name]
