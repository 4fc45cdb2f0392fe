"""Brings models to one version of the operators' definitions: a graph has one for each domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx
from onnx import defs, version_converter

from surplus.engine.dfg.captures import all_nodes
from surplus.engine.dfg.constants import external_place
from surplus.engine.errors import one_line

_STANDARD = ""


class OpsetError(ValueError):
    """The models' operators have no version in common; the message says of which domain."""


def with_equal_opsets(models: Sequence[onnx.ModelProto]) -> list[onnx.ModelProto]:
    """The models with the newest version that any of them has, of each domain.

    Where an operator means the same in both, that is a matter of writing the number; else ONNX's
    own converter rewrites it, which knows the standard operators.

    Raises
    ------
    OpsetError
        If that cannot be.
    """
    newest: dict[str, int] = {}
    for model in models:
        for domain, version in opsets_of(model).items():
            newest[domain] = max(version, newest.get(domain, 0))
    return [_raised(model, newest) for model in models]


def opsets_of(model: onnx.ModelProto) -> dict[str, int]:
    """Versions by domain; the standard one is ``""``."""
    return {_domain(entry.domain): entry.version for entry in model.opset_import}


def _raised(model: onnx.ModelProto, newest: dict[str, int]) -> onnx.ModelProto:
    own = opsets_of(model)
    for domain in [d for d, version in own.items() if version < newest[d]]:
        changed = sorted(set(_changed(model, domain, own[domain], newest[domain])))
        if changed and domain == _STANDARD:
            model = _converted(model, newest[domain])
        elif changed:
            raise OpsetError(
                f"{domain} is of version {own[domain]} in one step and {newest[domain]} in another,"
                f" where {changed[0]} differs"
            )
    _import(model, {domain: newest[domain] for domain in own})
    return model


def _changed(model: onnx.ModelProto, domain: str, old: int, new: int) -> Iterator[str]:
    """Operators of a domain whose definition is another one in the newer version.

    Of functions that a model brings along the bodies say their versions themselves.
    """
    for node in all_nodes(list(model.graph.node)):
        if _domain(node.domain) == domain and not _is_same(node.op_type, domain, old, new):
            yield node.op_type


def _is_same(op_type: str, domain: str, old: int, new: int) -> bool:
    if not defs.has(op_type, domain):
        return True  # a library's own, or a function: there is no other version to be meant
    try:
        before = defs.get_schema(op_type, old, domain)
        after = defs.get_schema(op_type, new, domain)
    except defs.SchemaError:
        return False
    return bool(before.since_version == after.since_version)


def _converted(model: onnx.ModelProto, version: int) -> onnx.ModelProto:
    """By ONNX's converter, which must not look for weights that lie in other files."""
    if model.functions:
        raise OpsetError("a step brings functions along, which the converter of versions drops")
    held = _taken_out(model.graph)
    try:
        converted = version_converter.convert_version(model, version)
    except (RuntimeError, ValueError, TypeError) as error:
        raise OpsetError(
            f"operators of version {opsets_of(model)[_STANDARD]} cannot be brought to {version}:"
            f" {one_line(error, 200)}"
        ) from error
    kept = [value for value in converted.graph.input if value.name not in held]
    del converted.graph.input[:]
    converted.graph.input.extend(kept)
    converted.graph.initializer.extend(held.values())
    _import(converted, {**opsets_of(model), _STANDARD: version})
    return converted


def _taken_out(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """Constants of other files, as which inputs stand for now."""
    held = {tensor.name: tensor for tensor in graph.initializer if external_place(tensor)}
    kept = [tensor for tensor in graph.initializer if tensor.name not in held]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    given = {value.name for value in graph.input}
    graph.input.extend(
        onnx.helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims))
        for name, tensor in held.items()
        if name not in given
    )
    return held


def _import(model: onnx.ModelProto, versions: dict[str, int]) -> None:
    del model.opset_import[:]
    model.opset_import.extend(onnx.helper.make_opsetid(d, v) for d, v in versions.items())


def _domain(written: str) -> str:
    return _STANDARD if written == "ai.onnx" else written
