"""The tensors of a data-flow graph: values between its tasks, its inputs and its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

Dim = int | str | None
"""A fixed size, a named dynamic dimension, or one that nothing is known of."""


def is_open(shape: Sequence[Dim] | None) -> bool:
    """Whether a shape leaves a size to the query, or is unknown."""
    return shape is None or any(not isinstance(d, int) or d < 0 for d in shape)


class ValueKind(StrEnum):
    """What a value is; anything but a tensor never crosses devices."""

    TENSOR = "tensor"
    SEQUENCE = "sequence"
    OPTIONAL = "optional"
    MAP = "map"
    SPARSE = "sparse"


class GraphTensor(NamedTuple):
    """A value between tasks, or an input of the graph. Initializers are not tensors.

    Parameters
    ----------
    name : str
        The value's name in the model, unique.
    producer : int
        Task index, or -1 for a graph input.
    consumers : tuple of int
        Tasks that read it or capture it, distinct and ascending.
    elem_type : int
        ``onnx.TensorProto.DataType`` of its elements; 0 where unknown.
    shape : tuple of Dim, or None
        Static shape where inference found one; None means that even the rank is unknown.
    is_output : bool
        Whether it is an output of the graph.
    metadata_only : bool
        True if every consumer reads only its shape (Shape, Size): the edge carries no bytes.
    """

    name: str
    producer: int
    consumers: tuple[int, ...]
    elem_type: int
    shape: tuple[Dim, ...] | None
    kind: ValueKind = ValueKind.TENSOR
    is_output: bool = False
    metadata_only: bool = False

    @property
    def has_open_size(self) -> bool:
        """Whether its size is up to the query, or unknown."""
        return is_open(self.shape)
