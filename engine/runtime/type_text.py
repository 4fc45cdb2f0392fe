"""Texts of ONNX's types, as ONNX Runtime writes them: ``tensor(float)``, ``seq(tensor(int64))``."""

from __future__ import annotations

from surplus.engine.dfg.graph import ValueKind
from surplus.engine.element_type import ElementType

_NAMES = {ElementType.FLOAT: "float", ElementType.DOUBLE: "double"}
_KINDS = {
    ValueKind.TENSOR: "{}",
    ValueKind.SEQUENCE: "seq({})",
    ValueKind.OPTIONAL: "optional({})",
}


def type_text(kind: ValueKind, elem_type: int) -> str:
    """Of an input or output."""
    return _KINDS.get(kind, kind.value).format(tensor_type(elem_type))


def tensor_type(elem_type: int) -> str:
    """Of tensors of an element type."""
    kind = ElementType(elem_type)
    return f"tensor({_NAMES.get(kind) or kind.name.lower()})"
