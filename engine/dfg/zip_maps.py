"""Outputs that are a dict for each row: the dicts are made of the rows themselves.

scikit-learn's converters end classifiers with a ZipMap, which makes a std::map a row. The C API of
ONNX Runtime gives each of them, and its keys and its values, as values of their own: 3 µs a row
where its Python package, which sees the maps, takes 0.4. So the rows are delivered as a tensor, and
what they are to be called is kept with the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

import onnx

from surplus.engine.dfg.captures import reads
from surplus.engine.dfg.zip_map import ZipMap

_PROPERTY = "surplus.zip_maps"
_DOMAIN = "ai.onnx.ml"


def deliver_rows(model: onnx.ModelProto) -> bool:
    """Have a model deliver the rows of what ZipMap would make dicts of, in place.

    Returns
    -------
    bool
        Whether anything was changed; ``zip_maps`` tells what.
    """
    graph = model.graph
    found = list(_at_the_end(graph))
    for node, zip_map in found:
        node.op_type, node.domain = "Identity", ""
        del node.attribute[:]
        (output,) = (value for value in graph.output if value.name == zip_map.output)
        output.type.CopyFrom(
            onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [None, len(zip_map.keys)])
        )
    if found:
        _note(model, [zip_map for _, zip_map in found])
        if all(imported.domain not in ("", "ai.onnx") for imported in model.opset_import):
            model.opset_import.append(onnx.helper.make_opsetid("", 13))  # of Identity
    return bool(found)


def zip_maps(model: onnx.ModelProto) -> tuple[ZipMap, ...]:
    """What ``deliver_rows`` has done to a model."""
    for entry in model.metadata_props:
        if entry.key == _PROPERTY:
            return tuple(map(ZipMap.from_dict, json.loads(entry.value)))
    return ()


def copy_note(source: onnx.ModelProto, target: onnx.ModelProto) -> None:
    """Keep it with what became of the model."""
    found = zip_maps(source)
    if found and not zip_maps(target):
        _note(target, found)


def _note(model: onnx.ModelProto, found: list[ZipMap] | tuple[ZipMap, ...]) -> None:
    entry = model.metadata_props.add()
    entry.key, entry.value = _PROPERTY, json.dumps([asdict(zip_map) for zip_map in found])


def _at_the_end(graph: onnx.GraphProto) -> Iterator[tuple[onnx.NodeProto, ZipMap]]:
    """ZipMaps whose dicts are an answer and nothing else."""
    used = {name for node in graph.node for name in reads(node)}
    delivered = [value.name for value in graph.output]
    for node in graph.node:
        if (node.op_type, node.domain) != ("ZipMap", _DOMAIN):
            continue
        keys = _labels(node)
        name = node.output[0]
        if keys and delivered.count(name) == 1 and name not in used:
            order = sorted(range(len(keys)), key=lambda column: _rank(keys[column]))
            yield node, ZipMap(name, tuple(keys[column] for column in order), tuple(order))


def _labels(node: onnx.NodeProto) -> list[int | str]:
    """None where a key comes twice, or is no text that Python has."""
    found: list[int | str] = []
    for attribute in node.attribute:
        try:
            found += [int(key) for key in attribute.ints]
            found += [key.decode() for key in attribute.strings]
        except UnicodeDecodeError:
            return []
    return found if len(set(found)) == len(found) else []


def _rank(key: int | str) -> tuple[int, bytes]:
    """As std::map orders them."""
    return (key, b"") if isinstance(key, int) else (0, key.encode())
