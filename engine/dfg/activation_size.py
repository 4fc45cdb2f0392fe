"""The size of the tensors between operators: what activations.py finds, and summaries keep."""

from __future__ import annotations

from typing import NamedTuple


class Activations(NamedTuple):
    """Tensors between operators of one query.

    Parameters
    ----------
    peak_bytes : int
        Most bytes alive at once when tasks run one after another in some order, each
        tensor from its task to its last reader. Runtimes that compute in place hold less, branches
        that run side by side more.
    unknown : int
        Tensors whose size only a query tells; they count as nothing.
    """

    peak_bytes: int
    unknown: int
