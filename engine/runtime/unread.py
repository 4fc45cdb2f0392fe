"""A model that answers before anybody has read its graph: one session, opened from the user's file.

Parsing, profiling and comparing plans takes seconds, opening a session hundredths of one. What it
takes and gives is known from the session itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surplus.engine import _core
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.activation_size import Activations
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.graph_tensor import GraphTensor, ValueKind
from surplus.engine.dfg.summary import Summary
from surplus.engine.runtime.lowering import allocation
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.placement.timeline import Timeline

if TYPE_CHECKING:
    from surplus.engine.dfg.content import Content

_Info = tuple[str, str, int, list[int | str] | None]

ORIGIN = "not measured yet"
"""Of the plan's prediction, which is empty."""


class Unread:
    """An open model with its graph's summary and the plan of its one segment.

    While it lives, models of this graph and plan run on its session.

    Parameters
    ----------
    path : Path
        An ONNX file.
    specs : sequence of DeviceSpec
        The first one, a CPU, runs it on all of its lanes.
    read : callable
        Reads the graph's content, for who looks at more than its summary.
    when_read : callable, optional
        Called when the file is read, before it is opened, which runs kernels of the model.
    width : int
        Lanes of a query; 0 for all of the CPU's.

    Attributes
    ----------
    pool : _core.WholeModel
        The session. Of several lanes, their threads are asleep.

    Raises
    ------
    RuntimeError
        If ONNX Runtime refuses the model; the message is its own.
    ValueError
        If its inputs and outputs need the graph to be read: some are no tensors, may be left out
        or have names in common.
    """

    def __init__(
        self,
        path: Path,
        specs: Sequence[DeviceSpec],
        read: Callable[[], Content],
        when_read: Callable[[], object] | None = None,
        width: int = 0,
    ) -> None:
        folder = path.parent
        width = min(width, specs[0].lanes) or specs[0].lanes
        self.pool = open_asleep(path, width, when_read)
        inputs, outputs = self.pool.input_info, self.pool.output_info
        _check_plain(inputs, outputs, self.pool.has_defaults)
        summary = _summary(inputs, outputs)
        self.graph = Graph(path.stem, folder / path.name, "", read, summary=summary)
        segment = Segment(
            name=path.stem,
            device=0,
            width=width,
            tasks=(),
            inputs=tuple(tensor.name for tensor in summary.inputs),
            outputs=tuple(tensor.name for tensor in summary.outputs),
            rank=0,
            service_ns=0,
            fixed_width=_core.thread_effects(str(path))[1],
        )
        self.plan = Plan(
            source_hash="",
            name=f"whole x{width}, {ORIGIN}",
            policy="",
            devices=tuple(spec.name for spec in specs),
            memories=tuple(spec.memory for spec in specs),
            segments=(segment,),
            copies=(),
            predicted=Timeline((), ORIGIN),
            bound_ns=0,
        )


def open_asleep(
    path: Path, width: int, when_read: Callable[[], object] | None = None
) -> _core.WholeModel:
    """The session of a file, on all of its lanes, whose threads are asleep.

    Raises
    ------
    RuntimeError
        If ONNX Runtime refuses the model; the message is its own.
    """
    return _core.WholeModel(
        str(path),
        width,
        config=allocation(_summary([], []).activations),
        when_read=when_read,
        workers_asleep=True,
    )


def _check_plain(inputs: Sequence[_Info], outputs: Sequence[_Info], has_defaults: bool) -> None:
    names = [info[0] for info in (*inputs, *outputs)]
    if has_defaults or len(set(names)) < len(names) or not outputs:
        raise ValueError("some inputs may be left out, or names are not distinct")
    if any(info[1] != ValueKind.TENSOR for info in (*inputs, *outputs)):
        raise ValueError("some inputs or outputs are no tensors")


def _summary(inputs: Sequence[_Info], outputs: Sequence[_Info]) -> Summary:
    """As if the graph were one task."""
    return Summary(
        digest="",
        task_count=0,
        inputs=tuple(_tensor(info, producer=-1) for info in inputs),
        outputs=tuple(_tensor(info, producer=0) for info in outputs),
        default_inputs=(),
        constant_outputs=(),
        activations=Activations(peak_bytes=0, unknown=1),
    )


def _tensor(info: _Info, *, producer: int) -> GraphTensor:
    name, _, elem_type, shape = info
    dims = None if shape is None else tuple(None if d == -1 else d for d in shape)
    is_output = producer >= 0
    return GraphTensor(
        name, producer, () if is_output else (0,), elem_type, dims, is_output=is_output
    )
