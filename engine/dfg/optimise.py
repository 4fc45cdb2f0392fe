"""ONNX Runtime's basic optimisation, offline: device-independent, standard operators only."""

from __future__ import annotations

import logging
from pathlib import Path

import onnx

from surplus.engine.dfg.captures import reads, sub_graphs
from surplus.engine.dfg.constants import domains_used
from surplus.engine.dfg.exact_outputs import deliver_apart
from surplus.engine.dfg.given_form import store_given
from surplus.engine.dfg.inline_sizes import with_sizes_inside
from surplus.engine.dfg.model_file import parse
from surplus.engine.dfg.plain_model import store_plain
from surplus.engine.dfg.stored_files import MODEL_FILE, RUNNABLE_FILE, WEIGHTS_FILE
from surplus.engine.dfg.topological import topological_order
from surplus.engine.dfg.value_types import complete_types
from surplus.engine.dfg.zip_maps import copy_note, deliver_rows
from surplus.engine.errors import ModelError, one_line
from surplus.engine.native import open_session

_log = logging.getLogger(__name__)

_INLINE_BELOW_BYTES = 1024
_MIN_IR_VERSION = 4
"""From here on an initializer need not be an input, and one that is can be overridden."""

_NO_OPERATOR = "is not a registered function/op"
_OPERATORS_HINT = "; --custom-operators names the library of such operators"

_CONFIG = {
    "session.optimized_model_external_initializers_file_name": WEIGHTS_FILE,
    "session.optimized_model_external_initializers_min_size_in_bytes": str(_INLINE_BELOW_BYTES),
}


def optimise(source: Path, model: onnx.ModelProto, folder: Path) -> None:
    """Write the basic-optimised form of ``source`` into ``folder``: model.onnx, weights.bin.

    Beside it, what the whole model in one session runs from (given_form.py).

    Parameters
    ----------
    model : onnx.ModelProto
        ``source``, parsed; stored as it is if ONNX Runtime cannot save what it optimised.

    Raises
    ------
    ModelError
        If ONNX Runtime does not load the model; the message is its own, in one line.
    """
    loadable = _loadable(source, model)
    ready = _saved_by_runtime(loadable, source, folder)
    if ready is not None and model.ir_version < _MIN_IR_VERSION:
        # Also where ONNX Runtime folded the constant away and left its input behind.
        _drop_inputs(ready.graph, _constants(model.graph))
    if ready is not None:
        copy_note(model, ready)
    if ready is None or not _stored_and_loaded(ready, folder):
        _require_loadable(loadable, source)
        plain = store_plain(model, source.parent, folder / WEIGHTS_FILE, _INLINE_BELOW_BYTES)
        copy_note(model, plain)
        _store(plain, folder)
    else:
        _store_given(source, model, ready, folder)


def _store_given(
    source: Path, model: onnx.ModelProto, ready: onnx.ModelProto, folder: Path
) -> None:
    given = onnx.ModelProto()
    given.CopyFrom(model)
    _normalised(given)
    _drop_defaults(given.graph)
    store_given(given, source.parent, ready, folder, _INLINE_BELOW_BYTES)


def _stored_and_loaded(model: onnx.ModelProto, folder: Path) -> bool:
    """Whether what ONNX Runtime saved is a model that it loads; now and then it is not."""
    _store(model, folder)
    try:
        open_session(str(folder / MODEL_FILE), level="disable_all")
    except (RuntimeError, MemoryError) as error:
        _log.info("the optimised model does not load: %s", one_line(error, 500))
        return False
    return True


def _store(model: onnx.ModelProto, folder: Path) -> None:
    ready = complete_types(_normalised(model), folder)
    (folder / WEIGHTS_FILE).touch()
    (folder / MODEL_FILE).write_bytes(ready.SerializeToString())
    if _drop_defaults(ready.graph):
        (folder / RUNNABLE_FILE).write_bytes(ready.SerializeToString())


def _loadable(source: Path, model: onnx.ModelProto) -> str | bytes:
    """The file, or its content where ONNX Runtime would not take it as it is, or not keep to it.

    Nothing refers to a node by its name, yet ONNX Runtime refuses duplicates: such nodes get new
    names. Outputs that it would quantise are delivered apart (exact_outputs.py), rows of dicts as
    rows (zip_maps.py).
    """
    changed = _rename_twins(model.graph)
    changed |= deliver_apart(model.graph)
    changed |= deliver_rows(model)
    return model.SerializeToString() if changed else str(source)


def _rename_twins(graph: onnx.GraphProto) -> bool:
    used = {node.name for node in graph.node}
    seen: set[str] = set()
    changed = False
    for index, node in enumerate(graph.node):
        if node.name and node.name in seen:
            while node.name in used:
                node.name += f"#{index}"
            used.add(node.name)
            changed = True
        seen.add(node.name)
        for body in sub_graphs(node):
            changed |= _rename_twins(body)
    return changed


def _saved_by_runtime(loadable: str | bytes, source: Path, folder: Path) -> onnx.ModelProto | None:
    target = folder / MODEL_FILE
    try:
        open_session(
            loadable,
            level="basic",
            weights_folder=source.parent,
            config=_CONFIG,
            optimized_path=str(target),
        )
        return with_sizes_inside(parse(target), folder)
    except (RuntimeError, MemoryError, ModelError) as error:
        _log.info("%s: no offline optimisation: %s", source, one_line(error, 500))
        return None


def _require_loadable(loadable: str | bytes, source: Path) -> None:
    try:
        open_session(loadable, level="disable_all", weights_folder=source.parent)
    except (RuntimeError, MemoryError) as error:
        reason = one_line(error, 500).removeprefix(f"Load model from {source} failed:")
        hint = _OPERATORS_HINT if _NO_OPERATOR in reason else ""
        raise ModelError(f"{source}: {reason}{hint}") from error
    _log.warning("%s: used without offline optimisation", source)


def _normalised(model: onnx.ModelProto) -> onnx.ModelProto:
    """Nodes in topological order, IR version 4 or later, no imports that nothing uses."""
    if model.ir_version < _MIN_IR_VERSION:
        _drop_inputs(model.graph, _constants(model.graph))
        model.ir_version = _MIN_IR_VERSION
    _sort_nodes(model.graph)
    used = domains_used(model)
    imports = [i for i in model.opset_import if ("" if i.domain == "ai.onnx" else i.domain) in used]
    kept = [(i.domain, i.version) for i in imports]
    del model.opset_import[:]
    model.opset_import.extend(onnx.helper.make_opsetid(d, v) for d, v in kept)
    return model


def _drop_defaults(graph: onnx.GraphProto) -> bool:
    inputs = {value.name for value in graph.input}
    kept = [tensor for tensor in graph.initializer if tensor.name not in inputs]
    changed = len(kept) < len(graph.initializer)
    if changed:
        del graph.initializer[:]
        graph.initializer.extend(kept)
    return changed


def _constants(graph: onnx.GraphProto) -> set[str]:
    dense = {tensor.name for tensor in graph.initializer}
    return dense | {tensor.values.name for tensor in graph.sparse_initializer}


def _drop_inputs(graph: onnx.GraphProto, names: set[str]) -> None:
    kept = [value for value in graph.input if value.name not in names]
    del graph.input[:]
    graph.input.extend(kept)


def _sort_nodes(graph: onnx.GraphProto) -> None:
    """Stable: of the nodes that are ready, the earliest comes first.

    Raises
    ------
    ModelError
        If the graph has a cycle.
    """
    producer = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    before = [{producer[n] for n in reads(node) if n in producer} for node in graph.node]
    if all(not deps or max(deps) < i for i, deps in enumerate(before)):
        return
    order = topological_order(before)
    if len(order) < len(before):
        raise ModelError("the model's nodes form a cycle")
    nodes = [graph.node[i] for i in order]
    del graph.node[:]
    graph.node.extend(nodes)
