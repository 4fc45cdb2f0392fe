"""Operator groups as rows of numbers, the input of latency models.

References
----------
Abacus (SC'21), section 5.3: a bit for each known model, then first operator, end operator, batch
and sequence length of each model of the group. The text does not say in which order the models
come; they must be sorted in training and in serving alike, here by their place in the layout.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float64]

_DOUBLE_BYTES = 8

PER_SLOT = 4
"""First operator, end operator, batch, sequence length."""


class GroupPart(NamedTuple):
    """Operators ``start <= i < end`` of a model, for a batch of inputs of a length.

    ``model`` is its place in a layout.
    """

    model: int
    start: int
    end: int
    items: int
    sequence: int = 0


Numbers = tuple[int, int, int, int, int]
"""A part, or its five numbers."""

Parts = tuple[GroupPart, ...]
"""The parts of a group: different models, those that run no operator left out."""


@dataclass(frozen=True)
class Layout:
    """Which models a latency model knows, and how many of them may run side by side.

    Parameters
    ----------
    models : tuple of str
        Their names; a model's place here is its number.
    operators : tuple of int
        How many operators each has.
    slots : int
        Most parts of a group.

    Raises
    ------
    ValueError
        If names are double or no strings, or a number is no integer or below 1.
    """

    models: tuple[str, ...]
    operators: tuple[int, ...]
    slots: int

    def __post_init__(self) -> None:
        numbers = (*self.operators, self.slots)
        if not all(isinstance(name, str) for name in self.models) or any(
            not isinstance(number, int) for number in numbers
        ):
            raise ValueError(f"names {self.models}, integers {numbers}")
        if len(set(self.models)) != len(self.models) or len(self.models) != len(self.operators):
            raise ValueError(f"models {self.models} with {self.operators} operators")
        if min(self.operators, default=0) < 1 or self.slots < 1:
            raise ValueError(f"operators {self.operators} in {self.slots} slots")

    @property
    def width(self) -> int:
        """Length of a row."""
        return len(self.models) + PER_SLOT * self.slots

    def rows(self, groups: Sequence[Iterable[Numbers]], in_order: bool = False) -> Rows:
        """Encode groups, array ``(groups, width)``.

        Parameters
        ----------
        groups : sequence of iterable of Part, or of tuples like it
            At most ``slots`` parts each, of different models.
        in_order : bool
            Fill the slots as the parts come, not by model: what Abacus's release does when it
            serves. To be compared with, never to be used.

        Raises
        ------
        ValueError
            If a group has more parts than there are slots.
        """
        width, bits = self.width, len(self.models)
        flat = array("d", bytes(_DOUBLE_BYTES * width * len(groups)))
        row = 0
        for parts in groups:
            place = row + bits
            for model, start, end, items, sequence in parts if in_order else sorted(parts):
                if place >= row + width:
                    raise ValueError(f"a group of more than {self.slots} models")
                flat[row + model] = 1.0
                flat[place] = start
                flat[place + 1] = end
                flat[place + 2] = items
                flat[place + 3] = sequence
                place += PER_SLOT
            row += width
        return np.frombuffer(flat, np.float64).reshape(len(groups), width)
