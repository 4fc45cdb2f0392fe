"""Lowers a plan to the core: names become integer indices, segments become sessions."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from surplus.engine import _core
from surplus.engine.devices.spec import traits_of
from surplus.engine.errors import EngineError, ExecutionError, one_line
from surplus.engine.native import open_session
from surplus.engine.runtime.free_memory import release_free_memory
from surplus.engine.runtime.segment_files import segment_file
from surplus.engine.runtime.slots import Slots
from surplus.engine.store.folder_lock import files_in_use

if TYPE_CHECKING:
    from pathlib import Path

    from surplus.engine.dfg.activation_size import Activations
    from surplus.engine.dfg.graph import Graph
    from surplus.engine.runtime.compiled_kernel import CompiledKernel
    from surplus.engine.segmentation.plan import Plan, Segment
    from surplus.engine.segmentation.plan_part import PlanPart

_log = logging.getLogger(__name__)

_SMALL_ACTIVATIONS_BYTES = 4 << 20


def lower(
    graph: Graph,
    plan: Plan,
    machine: _core.Machine,
    part: PlanPart | None = None,
    compiled: Mapping[str, CompiledKernel] = MappingProxyType({}),
    config: Mapping[str, str] | None = None,
) -> _core.Plan:
    """Build the core's plan: one session a segment, one slot a tensor and memory.

    Parameters
    ----------
    part : PlanPart, optional
        Of the plan: its inputs are what it reads, its outputs what it makes. All of it without.
    compiled : mapping of str to CompiledKernel
        Segments that functions compute, by name.
    config : mapping, optional
        Entries of the sessions' configuration; by the size of the graph's tensors without.

    Raises
    ------
    ExecutionError
        If ONNX Runtime refuses a segment, or a library cannot be used; the message names it.
    """
    if config is None:
        config = allocation(graph.summary.activations)
    if plan.shards > 1:
        from surplus.engine.segmentation.planned_graph import planned_graph  # few plans split

        graph = planned_graph(graph, plan)
    builder = _core.PlanBuilder(machine)
    segments, copies = (
        (plan.segments, plan.copies) if part is None else (part.segments, part.copies)
    )
    slots = Slots(builder, graph, plan, segments, copies)
    with files_in_use(graph.folder):
        for segment in sorted(segments, key=lambda s: s.rank):
            kernel = compiled.get(segment.name)
            try:
                if kernel is not None:
                    _add_compiled(builder, slots, segment, kernel)
                    continue
                file = segment_file(graph, segment, whole=len(plan.segments) == 1)
                source = _Source(file, config=config)
                if _add_chosen(builder, slots, segment, source, graph.folder):
                    continue
                own_kernels = has_own_kernels(plan, segment) or not graph.is_stored
                _add(builder, slots, segment, source, own_kernels)
            except RuntimeError as error:
                name = segment.name
                raise ExecutionError(f"segment {name!r} cannot be prepared: {error}") from error
    for copy in copies:
        builder.add_copy(
            f"copy {copy.tensor}",
            copy.source,
            copy.target,
            slots.made(copy.tensor),
            slots.read(copy.tensor, copy.target),
            rank=copy.rank,
            awaits=slots.awaited(copy.awaits, copy.source),
        )
    if part is None:
        builder.set_inputs([slots.made(tensor.name) for tensor in graph.summary.inputs])
        builder.set_outputs([slots.read(name, 0) for name in computed_outputs(graph)])
    else:
        builder.set_inputs([slots.at(*resting) for resting in part.reads])
        builder.set_outputs([slots.at(*resting) for resting in part.makes])
    release_free_memory()  # ONNX Runtime copies large weights for a moment
    native = builder.build()
    _report_capture(segments, native)
    return native


def _report_capture(segments: Sequence[Segment], native: _core.Plan) -> None:
    """Say which segments the device failed to capture: they run, launched operator by operator."""
    ranked = sorted(segments, key=lambda s: s.rank)
    failed = [f"{ranked[node].name} ({why})" for node, why in sorted(native.uncaptured.items())]
    if failed:
        _log.warning(
            "capture failed for %d segments, their operators are launched one by one: %s",
            len(failed),
            ", ".join(failed),
        )


class _Source(NamedTuple):
    """The file of a session and how it is opened."""

    file: Path
    level: str = "all"
    config: Mapping[str, str] = MappingProxyType({})
    kernels: _core.KernelChoice | None = None


def allocation(activations: Activations) -> dict[str, str]:
    """Session options for how tensors are allocated.

    From its second query of the same sizes on, ONNX Runtime takes all that a query needs as one
    block, beside what the arena already holds: up to twice the memory, and one more note for each
    set of sizes. It saves about 1 % of the time of tiny operators, so it stays for these.
    """
    small = activations.peak_bytes < _SMALL_ACTIVATIONS_BYTES and not activations.unknown
    return {} if small else {"session.enable_mem_pattern": "0"}


def _add_chosen(
    builder: _core.PlanBuilder, slots: Slots, segment: Segment, source: _Source, folder: Path
) -> bool:
    """Add a segment with the kernels of the library that its plan names, if that takes it here."""
    if segment.kernels is None:
        return False
    from surplus.engine.runtime.kernel_choices import choice_of  # with what is compiled

    try:
        choice = choice_of(segment, segment.kernels, source.file, folder)
        _add_session(builder, slots, segment, source._replace(kernels=choice))
    except (RuntimeError, EngineError) as error:
        _log.warning(
            "segment %r runs with ONNX Runtime's kernels: %s", segment.name, one_line(error)
        )
        return False
    return True


def _add(
    builder: _core.PlanBuilder, slots: Slots, segment: Segment, source: _Source, own_kernels: bool
) -> None:
    """Add a segment's session, from its prepacked file if there is one that loads.

    Files are prepacked for the CPU's kernels; an emulated GPU computes with these.
    """
    if not own_kernels and _add_laid_out(builder, slots, segment, source):
        return
    try:
        _add_session(builder, slots, segment, source)
    except RuntimeError as error:
        if own_kernels or not _is_spoilt(source):
            raise
        _log.warning("segment %r is not optimised: %s", segment.name, one_line(error))
        _add_session(builder, slots, segment, source._replace(level="disable_all"))


def _add_laid_out(
    builder: _core.PlanBuilder, slots: Slots, segment: Segment, source: _Source
) -> bool:
    from surplus.engine.store.prepacked import LEVEL, prepacked_file, refuse  # of a stored graph

    prepacked = prepacked_file(source.file)
    if prepacked is None:
        return False
    try:
        _add_session(builder, slots, segment, source._replace(file=prepacked, level=LEVEL))
    except RuntimeError as error:
        _log.warning("%s is not used: %s", prepacked, error)
        refuse(prepacked)
        return False
    return True


def _is_spoilt(source: _Source) -> bool:
    """Whether a graph loads, and what an optimiser of ONNX Runtime makes of it does not."""
    try:
        open_session(str(source.file), level="disable_all")
    except RuntimeError:
        return False
    try:
        open_session(str(source.file), level=source.level)
    except RuntimeError:
        return True
    return False


def _add_session(
    builder: _core.PlanBuilder, slots: Slots, segment: Segment, source: _Source
) -> None:
    builder.add_session(
        segment.name,
        segment.device,
        str(source.file),
        [(name, slots.read(name, segment.device)) for name in segment.inputs],
        [(name, slots.made(name)) for name in segment.outputs],
        width=segment.width,
        rank=segment.rank,
        service_ns=segment.uncaptured_ns if segment.captured else segment.service_ns,
        launch_ns=segment.launch_ns,
        captured_ns=segment.service_ns if segment.captured else -1,
        level=source.level,
        config=source.config,
        kernels=source.kernels,
        awaits=slots.awaited(segment.awaits, segment.device),
    )


def _add_compiled(
    builder: _core.PlanBuilder, slots: Slots, segment: Segment, kernel: CompiledKernel
) -> None:
    builder.add_compiled(
        segment.name,
        segment.device,
        str(kernel.library),
        kernel.symbol,
        [slots.read(name, segment.device) for name in kernel.inputs],
        [(slots.made(name), *slots.declared(name)) for name in kernel.outputs],
        kernel.constants,
        width=segment.width,
        rank=segment.rank,
        awaits=slots.awaited(segment.awaits, segment.device),
    )


def has_own_kernels(plan: Plan, segment: Segment) -> bool:
    """Whether what runs a segment may round otherwise than the CPU's kernels."""
    return traits_of(plan.devices[segment.device]).has_own_kernels


def computed_outputs(graph: Graph) -> list[str]:
    """Outputs that the core delivers: all but those that are constants of the model."""
    names = [tensor.name for tensor in graph.summary.outputs]
    return [name for name in names if name not in graph.constant_outputs]
