"""What a rule of batch_axis.py is asked about one operator, and the registry of rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import onnx

from surplus.engine.dfg.constants import array_of


@dataclass(frozen=True)
class Rows:
    """The batch along one axis of a tensor.

    Parameters
    ----------
    axis : int
        >= 0; the tensor has ``batch * per_row`` entries along it.
    per_row : int
        Neighbouring entries that one row of the batch has along the axis.
    """

    axis: int
    per_row: int = 1


@dataclass(frozen=True)
class Operand:
    """An input of an operator, as rules see it.

    Parameters
    ----------
    shape : tuple of int
        Of the whole batch.
    rows : Rows, optional
        None where it does not depend on the batch.
    constant : TensorProto, optional
        Its value where it is one of the model.
    """

    shape: tuple[int, ...]
    rows: Rows | None = None
    constant: onnx.TensorProto | None = None


@dataclass(frozen=True)
class Question:
    """One operator, at least one of whose inputs carries the batch.

    Parameters
    ----------
    inputs : tuple of (Operand or None)
        In the node's order; None where one is left out.
    outputs : tuple of tuple of int
        Their shapes, of the whole batch; empty for those left out.
    """

    node: onnx.NodeProto
    inputs: tuple[Operand | None, ...]
    outputs: tuple[tuple[int, ...], ...]
    batch: int
    folder: Path

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """The node's attributes by name."""
        return {a.name: onnx.helper.get_attribute_value(a) for a in self.node.attribute}

    def operand(self, index: int) -> Operand | None:
        """An input, or None where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def given(self, index: int) -> Operand:
        """An input that the operator cannot do without."""
        operand = self.inputs[index]
        assert operand is not None, "ONNX Runtime loaded the model"
        return operand

    def only_first(self) -> Rows | None:
        """Where the first input carries the batch, if no other one does."""
        alone = all(other is None or other.rows is None for other in self.inputs[1:])
        return self.given(0).rows if alone else None

    def numbers(self, index: int) -> list[float] | None:
        """The elements of a constant input; None if it is left out or no constant."""
        operand = self.operand(index)
        if operand is None or operand.constant is None:
            return None
        return [float(n) for n in array_of(operand.constant, self.folder).ravel()]

    def integers(self, index: int) -> list[int] | None:
        """The same of an input that holds integers."""
        found = self.numbers(index)
        return None if found is None else [int(n) for n in found]


Rule = Callable[[Question], Rows | None]
"""Where all outputs of an operator carry the batch; None where rows are mixed or it is not sure."""

RULES: dict[str, Rule] = {}
"""By type of standard operators."""


def rule(*op_types: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(op_types, function))
        return function

    return register
