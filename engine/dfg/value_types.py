"""Types of all values of a model, found by inference and, where that fails, by ONNX Runtime."""

from __future__ import annotations

import logging
from pathlib import Path

import onnx

from surplus.engine.dfg.true_types import inferred, truly_inferred
from surplus.engine.native import open_session

_log = logging.getLogger(__name__)


def complete_types(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """``model`` with a type for every value that a node makes.

    Parameters
    ----------
    folder : Path
        Writable, holds the model's external weights.
    """
    model = truly_inferred(model)
    missing = _untyped(model)
    if missing:
        _ask_runtime(model, missing, folder)
    return model


def forget_known_types(model: onnx.ModelProto) -> None:
    """Drop what inference finds by itself: a session keeps half a KiB for each value declared."""
    stated = list(model.graph.value_info)
    del model.graph.value_info[:]
    found = {value.name: value.type for value in inferred(model).graph.value_info}
    model.graph.value_info.extend(v for v in stated if found.get(v.name) != v.type)


def _untyped(model: onnx.ModelProto) -> list[str]:
    graph = model.graph
    typed = {v.name for v in (*graph.value_info, *graph.input, *graph.output) if is_typed(v.type)}
    made = dict.fromkeys(name for node in graph.node for name in node.output if name)
    return [name for name in made if name not in typed]


def is_typed(kind: onnx.TypeProto) -> bool:
    """Whether a type says what its elements are."""
    which = kind.WhichOneof("value")
    if which == "tensor_type":
        return bool(kind.tensor_type.elem_type)
    return which is not None


def _ask_runtime(model: onnx.ModelProto, names: list[str], folder: Path) -> None:
    """Add types of ``names``: a session that has them as outputs reports what they are."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    present = {value.name for value in probe.graph.output}
    probe.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in present)
    path = folder / "probe.onnx"
    try:
        path.write_bytes(probe.SerializeToString())
        session = open_session(str(path), level="disable_all")
    except (RuntimeError, ValueError) as error:
        _log.warning("types of %d values stay unknown: %s", len(names), error)
        return
    finally:
        path.unlink(missing_ok=True)
    wanted = set(names)
    kept = [v for v in model.graph.value_info if v.name not in wanted]
    del model.graph.value_info[:]
    model.graph.value_info.extend(kept)
    for name, kind, elem_type, shape in session.output_info:
        if name in wanted:
            model.graph.value_info.append(_value_info(name, kind, elem_type, shape))


def _value_info(
    name: str, kind: str, elem_type: int, shape: list[int | str] | None
) -> onnx.ValueInfoProto:
    if kind == "tensor":
        dims = None if shape is None else [None if d == -1 else d for d in shape]
        return onnx.helper.make_tensor_value_info(name, elem_type, dims)
    info = onnx.ValueInfoProto(name=name)
    if kind == "sequence":
        info.type.sequence_type.elem_type.tensor_type.elem_type = elem_type
    elif kind.startswith("optional"):
        info.type.optional_type.elem_type.tensor_type.elem_type = elem_type
    elif kind == "map":
        info.type.map_type.key_type = onnx.TensorProto.INT64
    elif kind.startswith("sparse"):
        info.type.sparse_tensor_type.elem_type = elem_type
    return info
