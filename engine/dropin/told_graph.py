"""The graph of a model that nobody reads: its inputs and outputs, as its session says them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from surplus.engine import _core
from surplus.engine.dfg.activation_size import Activations
from surplus.engine.dfg.content import Content
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.graph_tensor import GraphTensor, ValueKind
from surplus.engine.dfg.summary import Summary
from surplus.engine.dropin.given_file import is_ort_format
from surplus.engine.dropin.statuses import NotImplemented, status
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.inputs import IoSpec
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.placement.timeline import Timeline

if TYPE_CHECKING:
    import onnx

_Info = tuple[str, str, int, list[int | str] | None]
_ORIGIN = "not measured"
_MAPS = (ValueKind.SEQUENCE, ValueKind.MAP)


def told_graph(path: Path, whole: _core.WholeModel, defaults: Sequence[_Info]) -> Graph:
    """A graph as if it were one task, with the inputs that a query may leave out.

    Raises
    ------
    NotImplemented
        If an input or output is of a kind that has no form here.
    """
    inputs, outputs = [*whole.input_info, *defaults], whole.output_info
    for name, kind, *_ in (*inputs, *outputs):
        if kind not in tuple(ValueKind):
            raise status(NotImplemented, f"{name!r} is a {kind}, which queries cannot hold")
    summary = Summary(
        digest="",
        task_count=0,
        inputs=tuple(_tensor(info, producer=-1) for info in inputs),
        outputs=tuple(_tensor(info, producer=0) for info in outputs),
        default_inputs=tuple(info[0] for info in defaults),
        constant_outputs=(),
        activations=Activations(peak_bytes=0, unknown=1),
    )
    return Graph(path.stem, path, "", _no_tasks, summary=summary)


def with_map_keys(path: Path, outputs: Sequence[IoSpec]) -> tuple[IoSpec, ...]:
    """Outputs that are maps, or sequences of them, with the type of the keys that the file says."""
    maps = {spec.name for spec in outputs if spec.elem_type == 0 and spec.kind in _MAPS}
    if not maps or is_ort_format(path):
        return tuple(outputs)
    import onnx  # few models have any

    graph = onnx.load(path, load_external_data=False).graph
    keys = {value.name: _map_key(value.type) for value in graph.output if value.name in maps}
    return tuple(replace(spec, map_key=keys.get(spec.name, 0)) for spec in outputs)


def _map_key(kind: onnx.TypeProto) -> int:
    """Of the type of a map, or of a sequence of them; 0 of others."""
    if kind.WhichOneof("value") == "sequence_type":
        kind = kind.sequence_type.elem_type
    return int(kind.map_type.key_type) if kind.WhichOneof("value") == "map_type" else 0


def told_plan(graph: Graph, params: LoadParams, width: int) -> Plan:
    """The plan of its one segment, for who looks at a trace."""
    specs = params.specs()
    segment = Segment(
        name=graph.name,
        device=0,
        width=width,
        tasks=(),
        inputs=tuple(tensor.name for tensor in graph.summary.inputs),
        outputs=tuple(tensor.name for tensor in graph.summary.outputs),
        rank=0,
        service_ns=0,
    )
    return Plan(
        source_hash="",
        name=f"as told x{width}",
        policy="",
        devices=tuple(spec.name for spec in specs),
        memories=tuple(spec.memory for spec in specs),
        segments=(segment,),
        copies=(),
        predicted=Timeline((), _ORIGIN),
        bound_ns=0,
    )


def _tensor(info: _Info, *, producer: int) -> GraphTensor:
    name, kind, elem_type, shape = info
    dims = None if shape is None else tuple(None if d == -1 else d for d in shape)
    is_output = producer >= 0
    reads = () if is_output else (0,)
    return GraphTensor(
        name, producer, reads, elem_type, dims, is_output=is_output, kind=ValueKind(kind)
    )


def _no_tasks() -> Content:
    """Its defaults are not here either: inputs that are left out are the session's to fill in."""
    import onnx  # few models have inputs with a default

    return Content((), (), (), (), onnx.ModelProto())
