"""A one-operator model with its operator several times, side by side."""

from __future__ import annotations

import onnx


def repeated(model: bytes, copies: int) -> bytes:
    """The model with ``copies`` of its only node, all reading the same and all delivering.

    What one session takes for several copies, less what it takes for one, is theirs alone: the
    session's own cost drops out. Open it without optimisation, which would merge them.

    Raises
    ------
    ValueError
        If the model has more than one node, or ``copies`` is less than 1.
    """
    if copies < 1:
        raise ValueError(f"copies must be >= 1, got {copies}")
    proto = onnx.ModelProto.FromString(model)
    if len(proto.graph.node) != 1:
        raise ValueError(f"the model must have one node, got {len(proto.graph.node)}")
    node, outputs = proto.graph.node[0], list(proto.graph.output)
    for copy in range(1, copies):
        another = proto.graph.node.add()
        another.CopyFrom(node)
        another.name = f"{node.name} copy {copy}"
        another.output[:] = [_renamed(name, copy) for name in node.output]
        for output in outputs:
            delivered = proto.graph.output.add()
            delivered.CopyFrom(output)
            delivered.name = _renamed(output.name, copy)
    made: bytes = proto.SerializeToString()
    return made


def _renamed(name: str, copy: int) -> str:
    return f"{name} copy {copy}" if name else ""
