"""Whether queries of a model may be put on top of one another: a rule, before anything is run.

The model must leave the leading size of every input and output open, and compute each row of them
from that row alone: all other sizes are set to those of the examples, the leading one to a number,
and the rules of batch_axis.py follow the rows to every output.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from surplus.engine.dfg.batch_axis import OLDEST_OPSET, opset_of, propagate
from surplus.engine.dfg.batch_question import Rows
from surplus.engine.dfg.build import build
from surplus.engine.dfg.graph import Graph, GraphTensor, ValueKind
from surplus.engine.dfg.inline_sizes import with_sizes_inside
from surplus.engine.dfg.model_file import parse
from surplus.engine.dfg.stored_files import WEIGHTS_FILE
from surplus.engine.dfg.value_types import complete_types
from surplus.engine.element_type import ElementType
from surplus.engine.errors import EngineError, one_line
from surplus.engine.native import open_session

_log = logging.getLogger(__name__)

_ROWS = 11
"""Of the stack that the rules are asked about: no size that layers have."""

_OF_BYTES = frozenset(range(1, 17)) - {
    ElementType.STRING,
    ElementType.COMPLEX64,
    ElementType.COMPLEX128,
}
"""Element types that lie in memory one after another, and that models compute with."""

_CONFIG = {
    "session.optimized_model_external_initializers_file_name": WEIGHTS_FILE,
    "session.optimized_model_external_initializers_min_size_in_bytes": "1024",
}


def why_not_stackable(graph: Graph, inputs: Mapping[str, Any]) -> str:
    """What speaks against it, in a few words; empty if nothing does.

    Parameters
    ----------
    inputs : mapping of str to array
        A query. What is stacked has its sizes, but for the leading one.
    """
    return _of_ports(graph) or _of_query(graph, inputs) or _of_rows(graph, inputs)


def _of_ports(graph: Graph) -> str:
    summary = graph.summary
    if not summary.inputs:
        return "it has no inputs"
    if summary.default_inputs or summary.constant_outputs or summary.zip_maps:
        return "it has inputs with defaults, constant outputs or outputs of dicts"
    for what, tensors in (("input", summary.inputs), ("output", summary.outputs)):
        for tensor in tensors:
            if tensor.kind is not ValueKind.TENSOR or tensor.elem_type not in _OF_BYTES:
                return f"{what} {tensor.name!r} is no tensor of numbers"
            if not _leads_openly(tensor):
                return f"{what} {tensor.name!r} has no open leading dimension"
    return ""


def _leads_openly(tensor: GraphTensor) -> bool:
    return bool(tensor.shape) and not isinstance((tensor.shape or (0,))[0], int)


def _of_query(graph: Graph, inputs: Mapping[str, Any]) -> str:
    values = [inputs.get(tensor.name) for tensor in graph.summary.inputs]
    if not all(isinstance(value, np.ndarray) and value.ndim > 0 for value in values):
        return "a query leaves inputs out"
    if len({value.shape[0] for value in values if value is not None}) > 1:
        return "inputs of a query differ in their leading dimension"
    return ""


def _of_rows(graph: Graph, inputs: Mapping[str, Any]) -> str:
    if opset_of(graph) < OLDEST_OPSET:
        return f"its operators are older than opset {OLDEST_OPSET}"
    with tempfile.TemporaryDirectory(prefix="surplus-") as folder:
        try:
            sized = _sized(graph, inputs, Path(folder))
        except (RuntimeError, MemoryError, OSError, EngineError) as error:
            _log.info("%s with sizes: %s", graph.name, one_line(error))
            return "its sizes cannot be set"
        given = {index: Rows(0) for index in sized.inputs}
        axes = propagate(sized, _ROWS, given)
        for index in axes.after:
            return f"{sized.tasks[index].op_type} {sized.tasks[index].name!r} may mix rows"
        for index in sized.outputs:
            if axes.rows.get(index) != Rows(0):
                return f"output {sized.tensors[index].name!r} does not follow the rows"
    return ""


def _sized(graph: Graph, inputs: Mapping[str, Any], folder: Path) -> Graph:
    """The graph with all sizes set, and what follows from them folded, as a file in a folder."""
    model = onnx.ModelProto()
    model.CopyFrom(graph.model)
    del model.graph.value_info[:]
    for value in model.graph.input:
        shape = value.type.tensor_type.shape
        shape.ClearField("dim")
        for size in (_ROWS, *inputs[value.name].shape[1:]):
            shape.dim.add().dim_value = size
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    target = folder / "model.onnx"
    open_session(
        model.SerializeToString(),
        level="basic",
        weights_folder=graph.folder,
        config=_CONFIG,
        optimized_path=str(target),
    )
    (folder / WEIGHTS_FILE).touch()
    sized = with_sizes_inside(parse(target), folder)
    return build(graph.name, complete_types(sized, folder), target, "")
