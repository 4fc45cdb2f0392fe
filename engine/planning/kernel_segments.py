"""Which segments of a plan a library of kernels takes, and for what they are compiled."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from surplus.engine.contest.reference import run_segment
from surplus.engine.devices.spec import kind_of
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.library_support import TYPES, may_run, may_take
from surplus.engine.errors import EngineError, one_line
from surplus.engine.kernels.registry import LIBRARIES
from surplus.engine.kernels.trial import TrialSegment, TriedSegment, try_segments
from surplus.engine.profiling.calibrate import initial_values
from surplus.engine.runtime.kernel_choices import compiled_file
from surplus.engine.runtime.segment_files import segment_file
from surplus.engine.segmentation.plan import Plan, Segment, SegmentKernels
from surplus.engine.segmentation.planned_graph import planned_graph
from surplus.engine.values import from_value

_log = logging.getLogger(__name__)

_Key = tuple[str, int, object]
"""File, width and sizes of a segment."""


@dataclass
class KernelSegments:
    """Tries the segments of plans of one model with one library, each once.

    Parameters
    ----------
    library : str
    inputs : mapping
        Of the model, with which segments are tried and whose sizes they are compiled for.
    time_s : float
        For each child that tries.
    precision : str
        What they compute in.
    """

    graph: Graph
    library: str
    inputs: Mapping[str, Any]
    time_s: float = 60.0
    precision: str = "f32"
    _tried: dict[_Key, TriedSegment | None] = field(default_factory=dict, init=False)
    _found: dict[object, dict[int, SegmentKernels]] = field(default_factory=dict, init=False)

    def of(self, plan: Plan, lanes: int) -> dict[int, SegmentKernels]:
        """What to run segments with, by their place in the plan; those that it takes.

        Parameters
        ----------
        lanes : int
            Of the CPU: so many of its segments may run at once.
        """
        cut = (
            plan.shards,
            tuple((s.tasks, s.inputs, s.outputs, s.device, s.width) for s in plan.segments),
        )
        if (lanes, cut) not in self._found:  # to know sizes takes a run of every segment
            self._found[lanes, cut] = self._of(plan, lanes)
        return self._found[lanes, cut]

    def _of(self, plan: Plan, lanes: int) -> dict[int, SegmentKernels]:
        graph = planned_graph(self.graph, plan)
        able = [i for i, s in enumerate(plan.segments) if self._is_able(graph, plan, s)]
        if LIBRARIES[self.library].is_provider:  # which compiles what it is given, of any sizes
            return {i: SegmentKernels(self.library, (), ()) for i in able}
        try:
            wanted = dict(self._wanted(graph, plan, able))
        except (RuntimeError, EngineError) as error:  # its own kernels have run it all the same
            _log.info("%s: not with %s: %s", plan.name, self.library, one_line(error))
            return {}
        self._try(dict(wanted.values()))
        found: dict[int, SegmentKernels] = {}
        for index, (key, asked) in wanted.items():
            tried = self._tried[key]
            if tried is not None:
                copies = max(1, lanes // asked.width)
                types = asked.output_types
                found[index] = SegmentKernels(
                    self.library,
                    asked.inputs,
                    types,
                    copies,
                    tried.weight_bytes,
                    precision=self.precision,
                )
        return found

    def _wanted(
        self, graph: Graph, plan: Plan, able: Sequence[int]
    ) -> Iterator[tuple[int, tuple[_Key, TrialSegment]]]:
        whole = len(plan.segments) == 1
        values = boundary_values(graph, plan, self.inputs) if able else {}
        for index in able:
            segment = plan.segments[index]
            if not all(name in values and may_take(values[name]) for name in segment.inputs):
                continue
            types = tuple(_type_of(graph, values, name) for name in segment.outputs)
            is_known = all(may_take(values[n]) for n in segment.outputs if n in values)
            if not is_known or not TYPES.issuperset(types):
                continue
            given = [from_value(values[name]) for name in segment.inputs]
            sizes = tuple(
                (values[name].elem_type, tuple(int(d) for d in array.shape))
                for name, array in zip(segment.inputs, given, strict=True)
            )
            file = segment_file(graph, segment, whole=whole)
            asked = TrialSegment(
                segment.name,
                file,
                segment.inputs,
                segment.outputs,
                sizes,
                types,
                segment.width,
                self.precision,
                given,
            )
            yield index, ((str(file), segment.width, sizes), asked)

    def _is_able(self, graph: Graph, plan: Plan, segment: Segment) -> bool:
        is_its = kind_of(plan.devices[segment.device]) in LIBRARIES[self.library].kinds
        return is_its and bool(segment.inputs) and may_run(graph, self.library, segment.tasks)

    def _try(self, asked: Mapping[_Key, TrialSegment]) -> None:
        new = {key: segment for key, segment in asked.items() if key not in self._tried}
        if not new:
            return
        keys = list(new)
        with tempfile.TemporaryDirectory(prefix="surplus-kernels-") as folder:
            found = try_segments(
                self.library, [new[key] for key in keys], Path(folder), self.time_s
            )
            for index, key in enumerate(keys):
                self._tried[key] = found.get(index)
                if index in found and found[index].compiled.exists():
                    self._keep(new[key], found[index])

    def _keep(self, asked: TrialSegment, tried: TriedSegment) -> None:
        kernels = SegmentKernels(
            self.library, asked.inputs, asked.output_types, precision=self.precision
        )
        target = compiled_file(kernels, asked.file, self.graph.folder, asked.width)
        if target.find() is None:
            target.keep(lambda part: shutil.move(tried.compiled, part))


def boundary_values(graph: Graph, plan: Plan, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the tensors that segments take, from ONNX Runtime, one segment after another."""
    values: dict[str, Any] = dict(initial_values(graph, inputs))
    if len(plan.segments) == 1:
        return values
    for segment in plan.segments:  # in a topological order
        run_segment(graph, plan, segment, values)
    return values


def _type_of(graph: Graph, values: Mapping[str, Any], name: str) -> int:
    if name in values:
        return int(values[name].elem_type) if values[name].kind == "tensor" else 0
    index = graph.tensor_index.get(name)
    return 0 if index is None else graph.tensors[index].elem_type


def with_kernels(plan: Plan, kernels: Mapping[int, SegmentKernels], name: str) -> Plan:
    """The plan with other kernels for segments, by their place; those not named have none."""
    segments = tuple(
        replace(segment, kernels=kernels.get(i)) for i, segment in enumerate(plan.segments)
    )
    return replace(plan, name=name, segments=segments)
