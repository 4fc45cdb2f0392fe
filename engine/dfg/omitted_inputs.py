"""Refuses models that leave out an item of an input list, as in ``Mean(a, "", b)``.

Only single optional inputs may be left out. ONNX Runtime (1.31) does not check it, and its
kernels then read through a null pointer.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import onnx

from surplus.engine.dfg.captures import all_nodes
from surplus.engine.errors import ModelError


def refuse_omitted_items(model: onnx.ModelProto, path: Path) -> None:
    """Raise ModelError, naming file and node, if an item of a variadic input is left out."""
    versions = {i.domain: i.version for i in model.opset_import}
    nodes = [*model.graph.node, *(node for f in model.functions for node in f.node)]
    for node in all_nodes(nodes):
        if "" in node.input:
            first = _first_of_list(node.op_type, node.domain, versions.get(node.domain, 1))
            if first is not None and "" in node.input[first:]:
                what = f"node {node.name!r} ({node.op_type})"
                raise ModelError(f"{path}: {what}: an item of its list of inputs is left out")


@cache
def _first_of_list(op_type: str, domain: str, version: int) -> int | None:
    """Index of the first item of an operator's variadic input, None without one."""
    try:
        inputs = onnx.defs.get_schema(op_type, version, domain).inputs
    except onnx.defs.SchemaError:
        return None
    is_list = inputs and inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return len(inputs) - 1 if is_list else None
