"""Gives inputs and outputs the names that the user wants, whatever names are used inside.

Exporters do not look: an input called as a weight is, they make one value of both.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence
from itertools import count

import onnx

from surplus.engine.dfg.captures import sub_graphs


def rename(model: onnx.ModelProto, wanted: Mapping[str, str]) -> None:
    """Rename values, in place; other values that have one of the new names make way.

    Parameters
    ----------
    wanted : mapping of str to str
        Old to new names.
    """
    used = _names(model.graph)
    names = dict(wanted)
    for new in wanted.values():
        if new in used and new not in wanted:
            names[new] = _fresh(new, used | set(wanted.values()))
            used.add(names[new])
    _apply(model.graph, names)


def strip(model: onnx.ModelProto) -> None:
    """Remove notes that exporters leave: stack traces, with paths of the user's machine."""
    del model.metadata_props[:]
    model.doc_string = ""
    _strip(model.graph)
    for function in model.functions:
        for node in function.node:
            _strip_node(node)


def _fresh(name: str, used: set[str]) -> str:
    return next(f"{name}.{i}" for i in count(1) if f"{name}.{i}" not in used)


def _names(graph: onnx.GraphProto) -> set[str]:
    found = {value.name for value in (*graph.input, *graph.output)}
    found.update(tensor.name for tensor in graph.initializer)
    found.update(sparse.values.name for sparse in graph.sparse_initializer)
    for node in graph.node:
        found.update(node.input, node.output)
        for body in sub_graphs(node):
            found |= _names(body)
    return found


def _apply(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.name = names.get(value.name, value.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = names.get(sparse.values.name, sparse.values.name)
    for node in graph.node:
        _replace(node.input, names)
        _replace(node.output, names)
        for body in sub_graphs(node):
            _apply(body, names)


def _replace(values: MutableSequence[str], names: Mapping[str, str]) -> None:
    for index, name in enumerate(values):
        values[index] = names.get(name, name)


def _strip(graph: onnx.GraphProto) -> None:
    graph.doc_string = ""
    del graph.metadata_props[:]
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.doc_string = ""
        del value.metadata_props[:]
    for node in graph.node:
        _strip_node(node)


def _strip_node(node: onnx.NodeProto) -> None:
    node.doc_string = ""
    del node.metadata_props[:]
    for body in sub_graphs(node):
        _strip(body)
