"""Types of values by inference, without what a query of other sizes, or ONNX Runtime, contradicts.

What a segment declares of its inputs, ONNX Runtime insists on, while within a session it does not
care. So of a model with open sizes a size counts only if it follows from the inputs': exporters
write down those that they saw. So it does where a fixed size contradicts what follows: somebody has
changed the batch and nothing else. Initializers that a query may override say nothing of sizes. And
where ONNX Runtime computes another shape than ONNX says, its own counts: pools that round up (ONNX
leaves out windows that begin in the padding, or the other way round) and PRelu (which ONNX Runtime
broadcasts both ways).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx

from surplus.engine.native import open_session
from surplus.engine.values import to_value

Types = dict[str, onnx.TypeProto]

_log = logging.getLogger(__name__)

_POOLS = frozenset({"AveragePool", "LpPool", "MaxPool"})
_OURS = "surplus.known"
"""Domain of operators that inference does not know, so that it takes what is stated."""

_MOST_ELEMENTS = 1 << 26


def inferred(model: onnx.ModelProto, *, spreads_values: bool = False) -> onnx.ModelProto:
    """Shape inference is a help, not a need: a model that it chokes on stays as it is."""
    defaults = _taken_defaults(model.graph)
    try:
        found = onnx.shape_inference.infer_shapes(
            model, strict_mode=False, data_prop=spreads_values
        )
    except Exception as error:
        _log.info("shape inference failed: %s", error)
        found = model
    found.graph.initializer.extend(defaults)
    if found is not model:
        model.graph.initializer.extend(defaults)
    return found


def _taken_defaults(graph: onnx.GraphProto) -> list[onnx.TensorProto]:
    """Initializers that a query may override, taken out of the graph: inference would use them."""
    inputs = {value.name for value in graph.input}
    if not any(tensor.name in inputs for tensor in graph.initializer):
        return []
    taken: list[onnx.TensorProto] = []
    kept: list[onnx.TensorProto] = []
    for tensor in graph.initializer:
        own = onnx.TensorProto()
        own.CopyFrom(tensor)
        (taken if tensor.name in inputs else kept).append(own)
    del graph.initializer[:]
    graph.initializer.extend(kept)
    return taken


def truly_inferred(model: onnx.ModelProto) -> onnx.ModelProto:
    """``model`` with types that hold for every query; it may be changed itself.

    Where all sizes of the inputs are fixed, what the file states besides is kept, unless inference
    contradicts it.
    """
    stated: Types = {}
    if any(_is_open(value.type) for value in model.graph.input) or _is_stale(model):
        stated = _forget_stated(model.graph)
    model = _as_computed(inferred(model, spreads_values=bool(stated)))
    _keep_ranks(model.graph, stated)
    return model


def _forget_stated(graph: onnx.GraphProto) -> Types:
    """What is stated of all values but the inputs, taken out of the graph."""
    stated = {v.name: _copy(v.type) for v in (*graph.value_info, *graph.output)}
    del graph.value_info[:]
    for value in graph.output:
        _forget_shape(value.type)
    return stated


def _is_stale(model: onnx.ModelProto) -> bool:
    """Whether a stated shape is not what follows from the inputs'."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    stated = _forget_stated(probe.graph)
    found = _types(inferred(probe).graph)
    return any(_contradicts(kind, found.get(name)) for name, kind in stated.items())


def _contradicts(stated: onnx.TypeProto, found: onnx.TypeProto | None) -> bool:
    if found is None or not (_has_shape(stated) and _has_shape(found)):
        return False
    ours, theirs = _dims(found), _dims(stated)
    return len(ours) != len(theirs) or any(
        a.HasField("dim_value") and b.HasField("dim_value") and a.dim_value != b.dim_value
        for a, b in zip(ours, theirs, strict=True)
    )


def _keep_ranks(graph: onnx.GraphProto, stated: Types) -> None:
    """Of what inference knows nothing, or no shape, what is stated but for the sizes."""
    known = {value.name: value for value in (*graph.value_info, *graph.output)}
    for name, kind in stated.items():
        if name not in known:
            graph.value_info.append(onnx.ValueInfoProto(name=name, type=_without_sizes(kind)))
        elif not _has_shape(known[name].type) and _has_shape(kind):
            known[name].type.CopyFrom(_without_sizes(kind))
        else:
            _keep_names(known[name].type, kind)


def _keep_names(found: onnx.TypeProto, stated: onnx.TypeProto) -> None:
    """Call open sizes what the file calls them."""
    dims, others = _dims(found), _dims(stated)
    for dim, other in zip(dims, others, strict=False) if len(dims) == len(others) else ():
        if not dim.HasField("dim_value") and other.dim_param:
            dim.dim_param = other.dim_param


def _as_computed(model: onnx.ModelProto) -> onnx.ModelProto:
    """Infer again with the shapes that ONNX Runtime computes, until none is contradicted."""
    doubtful = [i for i, node in enumerate(model.graph.node) if _is_doubtful(node)]
    domains = {i: model.graph.node[i].domain for i in doubtful}
    types = _types(model.graph) if doubtful else {}
    for index in doubtful:  # in the order of the graph: one may follow from another
        kind = _contradiction(model, model.graph.node[index], types)
        if kind is not None:
            model = _stating(model, index, kind)
            types = _types(model.graph)
    for index, domain in domains.items():
        model.graph.node[index].domain = domain
    for place, entry in reversed(list(enumerate(model.opset_import))):
        if entry.domain == _OURS:
            del model.opset_import[place]
    return model


def _stating(model: onnx.ModelProto, index: int, kind: onnx.TypeProto) -> onnx.ModelProto:
    """Inference with a stated type of a node's output, and nothing of what followed before."""
    node = model.graph.node[index]
    node.domain = _OURS
    if all(entry.domain != _OURS for entry in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(_OURS, 1))
    after = {name for other in model.graph.node[index:] for name in other.output}
    kept = [value for value in model.graph.value_info if value.name not in after]
    del model.graph.value_info[:]
    model.graph.value_info.extend(kept)
    model.graph.value_info.append(onnx.ValueInfoProto(name=node.output[0], type=kind))
    for value in model.graph.output:
        if value.name in after:
            _forget_shape(value.type)
    return inferred(model)


def _is_doubtful(node: onnx.NodeProto) -> bool:
    if node.domain not in ("", "ai.onnx"):
        return False
    rounds_up = any(a.name == "ceil_mode" and a.i for a in node.attribute)
    return node.op_type == "PRelu" or (node.op_type in _POOLS and rounds_up)


def _contradiction(
    model: onnx.ModelProto, node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto]
) -> onnx.TypeProto | None:
    """What to state of a node's output instead of what was inferred; None if that is right."""
    said = types.get(node.output[0], onnx.TypeProto())
    kinds = [types.get(name, onnx.TypeProto()) for name in node.input]
    if not _has_shape(said) or not all(_has_shape(kind) for kind in kinds):
        return _of_element(said) if _has_shape(said) else None
    found = _computed_shape(model, node, kinds)
    sizes = [d.dim_value if d.HasField("dim_value") else None for d in _dims(said)]
    if found is None:
        return _of_element(said)
    if len(found) == len(sizes) and all(s in (None, n) for s, n in zip(sizes, found, strict=True)):
        return None
    shape = _certain(sizes, found) if any(map(_is_open, kinds)) else found
    return onnx.helper.make_tensor_type_proto(said.tensor_type.elem_type, shape)


def _certain(said: list[int | None], found: list[int]) -> list[int | None]:
    """The sizes on which both agree where another query may have others."""
    if len(said) != len(found):
        return [None] * len(found)
    return [s if s == n else None for s, n in zip(said, found, strict=True)]


def _computed_shape(
    model: onnx.ModelProto, node: onnx.NodeProto, kinds: list[onnx.TypeProto]
) -> list[int] | None:
    """The shape that ONNX Runtime makes of zeros, each open size being 1; None if it makes none."""
    shapes = [[d.dim_value if d.HasField("dim_value") else 1 for d in _dims(k)] for k in kinds]
    if any(np.prod(shape, dtype=np.float64) > _MOST_ELEMENTS for shape in shapes):
        return None
    names = [f"x{i}" for i in range(len(shapes))]
    alone = onnx.NodeProto()
    alone.CopyFrom(node)
    alone.input[:] = names
    elem_type = kinds[0].tensor_type.elem_type
    graph = onnx.helper.make_graph(
        [alone],
        "one",
        [
            onnx.helper.make_tensor_value_info(n, elem_type, s)
            for n, s in zip(names, shapes, strict=True)
        ],
        [onnx.ValueInfoProto(name=name) for name in node.output if name],
    )
    probe = onnx.helper.make_model(
        graph, opset_imports=model.opset_import, ir_version=model.ir_version
    )
    try:
        kind = onnx.helper.tensor_dtype_to_np_dtype(elem_type)
        session = open_session(probe.SerializeToString(), level="disable_all")
        fed: dict[str, Any] = {
            n: to_value(np.zeros(s, kind), elem_type) for n, s in zip(names, shapes, strict=True)
        }
        return list(session.run(fed)[0].shape)
    except (RuntimeError, ValueError, KeyError, MemoryError) as error:
        _log.info("%s %r: %s", node.op_type, node.name, error)
        return None


def _types(graph: onnx.GraphProto) -> Mapping[str, onnx.TypeProto]:
    values = {v.name: v.type for v in (*graph.value_info, *graph.output, *graph.input)}
    make: Callable[..., onnx.TypeProto] = onnx.helper.make_tensor_type_proto
    return values | {t.name: make(t.data_type, list(t.dims)) for t in graph.initializer}


def _dims(kind: onnx.TypeProto) -> list[onnx.TensorShapeProto.Dimension]:
    return list(kind.tensor_type.shape.dim) if _has_shape(kind) else []


def _has_shape(kind: onnx.TypeProto) -> bool:
    return kind.WhichOneof("value") == "tensor_type" and bool(kind.tensor_type.HasField("shape"))


def _is_open(kind: onnx.TypeProto) -> bool:
    """Whether a tensor's shape is not all numbers."""
    if kind.WhichOneof("value") != "tensor_type":
        return False
    return not _has_shape(kind) or any(not d.HasField("dim_value") for d in _dims(kind))


def _forget_shape(kind: onnx.TypeProto) -> None:
    if kind.WhichOneof("value") == "tensor_type":  # asking for it would make it one
        kind.tensor_type.ClearField("shape")


def _copy(kind: onnx.TypeProto) -> onnx.TypeProto:
    copied = onnx.TypeProto()
    copied.CopyFrom(kind)
    return copied


def _of_element(kind: onnx.TypeProto) -> onnx.TypeProto:
    loose = _copy(kind)
    _forget_shape(loose)
    return loose


def _without_sizes(kind: onnx.TypeProto) -> onnx.TypeProto:
    loose = _copy(kind)
    for dim in _dims(loose):
        if dim.HasField("dim_value"):
            dim.Clear()
    return loose
