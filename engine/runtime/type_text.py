"""Texts of ONNX's types, as ONNX Runtime writes them: ``tensor(float)``, ``seq(tensor(int64))``."""

from __future__ import annotations

from surplus.engine.dfg.graph import ValueKind
from surplus.engine.element_type import ElementType

_NAMES = {ElementType.FLOAT: "float", ElementType.DOUBLE: "double"}
_KINDS = {
    ValueKind.TENSOR: "{}",
    ValueKind.SEQUENCE: "seq({})",
    ValueKind.OPTIONAL: "optional({})",
    ValueKind.MAP: "{}",
}


def type_text(kind: ValueKind, elem_type: int, map_key: int = 0) -> str:
    """Of an input or output; ``map_key`` is the element type of keys, where it is of maps."""
    if kind is ValueKind.MAP and not map_key:
        return kind.value
    return _KINDS[kind].format(_map_type(map_key) if map_key else tensor_type(elem_type))


def _map_type(key: int) -> str:
    return f"map({ElementType(key).name.lower()},{tensor_type(ElementType.FLOAT)})"


def tensor_type(elem_type: int) -> str:
    """Of tensors of an element type."""
    kind = ElementType(elem_type)
    return f"tensor({_NAMES.get(kind) or kind.name.lower()})"
