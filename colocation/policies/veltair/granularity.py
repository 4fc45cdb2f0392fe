"""How much of a model is given its cores together.

References
----------
VELTAIR (ASPLOS'22), sections 3.2 (model-wise, layer-wise, blocks of fixed size) and 4.2 (Alg. 2).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from surplus.colocation.policies.veltair.layer_blocks import LayerBlock, first_pivot
from surplus.colocation.policies.veltair.model_times import Needs

Cut = Callable[[Needs, int, int], LayerBlock]
"""Needs, first layer that is left, ``Avg_C`` and the threshold -> the block that is next."""


def whole_model(needs: Needs, first: int, limit: int) -> LayerBlock:
    """All that is left, on the cores that the model needs as a whole."""
    return LayerBlock(first, len(needs.cores), needs.average)


def pivot_block(needs: Needs, first: int, limit: int) -> LayerBlock:
    """Up to the next layer that needs more than the limit (Alg. 2)."""
    pivot = first_pivot(needs.cores, first, limit)
    end = len(needs.cores) if pivot is None else pivot
    return LayerBlock(first, end, needs.least(first, end))


def fixed_block(needs: Needs, first: int, limit: int, layers: int = 1) -> LayerBlock:
    """So many layers; one is layer-wise."""
    end = min(len(needs.cores), first + layers)
    return LayerBlock(first, end, needs.least(first, end))


def cut_of(granularity: str, layers: int) -> Cut:
    """Look a granularity up.

    Parameters
    ----------
    granularity : str
        ``model``, ``blocks`` or ``fixed``.
    layers : int
        Of a fixed block; >= 1.

    Raises
    ------
    ValueError
        If it is unknown, or a block has no layers.
    """
    if layers < 1:
        raise ValueError(f"layers must be >= 1, got {layers}")
    known: dict[str, Cut] = {
        "model": whole_model,
        "blocks": pivot_block,
        "fixed": partial(fixed_block, layers=layers),
    }
    if granularity not in known:
        text = f"granularity must be one of {', '.join(known)}"
        raise ValueError(f"{text}, got {granularity!r}")
    return known[granularity]
