"""What a partial join is; partial_join.py makes its node and its type."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PartialJoin:
    """Neighbouring inputs of a Concat as one tensor.

    Parameters
    ----------
    name : str
        Of the tensor; no other value of the model has it.
    task : int
        The Concat.
    tensors : tuple of str
        The inputs that it stands for, in their order.
    """

    name: str
    task: int
    tensors: tuple[str, ...]
