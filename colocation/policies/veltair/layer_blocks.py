"""Blocks of layers that get their cores together, cut where a layer needs far more than average.

References
----------
VELTAIR (ASPLOS'22), section 4.2, Algorithm 2, and section 4.3. Departures: Algorithm 2 returns 0
for "no pivot" and for layer 0, here ``None`` and never 0; it prints ``>=`` and drops the pivot, its
text says "exceeds" and lets the pivot begin the next block, as here. Algorithm 3 prints the
whole surplus as every model's threshold, its text splits it, as here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from surplus.colocation.policies.veltair.core_needs import layer_needs, model_need
from surplus.colocation.policies.veltair.layer_profile import LayerProfile


class LayerBlock(NamedTuple):
    """Layers ``first <= i < end`` on so many cores."""

    first: int
    end: int
    cores: int


def first_pivot(needs: Sequence[int], first: int, limit: int) -> int | None:
    """First layer after ``first`` that needs more than ``limit`` cores; None if there is none."""
    return next((k for k in range(first + 1, len(needs)) if needs[k] > limit), None)


def next_block(
    profile: LayerProfile,
    targets_ns: Sequence[int],
    needs: Sequence[int],
    first: int,
    limit: int,
) -> LayerBlock:
    """The block that begins at a layer, with the fewest cores that meet its layers' targets.

    Parameters
    ----------
    profile : LayerProfile
    targets_ns, needs : sequence of int
        By layer.
    first : int
    limit : int
        ``Avg_C`` and the threshold.
    """
    pivot = first_pivot(needs, first, limit)
    end = len(needs) if pivot is None else pivot
    target_ns = sum(targets_ns[first:end])
    cores = profile.least_cores(first, end, target_ns) or profile.fastest(first, end)
    return LayerBlock(first, end, cores)


def form_blocks(
    profile: LayerProfile, targets_ns: Sequence[int], threshold: int
) -> tuple[LayerBlock, ...]:
    """Cut a whole model; at run time the rest of a model is cut anew after each block.

    Raises
    ------
    ValueError
        If the threshold is negative, or no number of cores meets the model's target.
    """
    if threshold < 0:
        raise ValueError(f"threshold must be >= 0, got {threshold}")
    needs = layer_needs(profile, targets_ns)
    limit = model_need(profile, sum(targets_ns)) + threshold
    blocks = [next_block(profile, targets_ns, needs, 0, limit)]
    while blocks[-1].end < len(needs):
        blocks.append(next_block(profile, targets_ns, needs, blocks[-1].end, limit))
    return tuple(blocks)


def thresholds(cores: int, averages: Sequence[int]) -> tuple[int, ...]:
    """Split the cores that nobody needs on average, in proportion to the averages, rounded down.

    Parameters
    ----------
    cores : int
        Of the machine.
    averages : sequence of int
        ``Avg_C`` of the models that run; a model that runs twice counts twice.

    Returns
    -------
    tuple of int
        All 0 if there are none to spare.
    """
    total = sum(averages)
    spare = max(0, cores - total)
    return tuple(spare * average // total if total else 0 for average in averages)


def mean_cores(profile: LayerProfile, blocks: Sequence[LayerBlock]) -> float:
    """Cores held on average over the time that the blocks take."""
    times_ns = [profile.block_ns(block.first, block.end, block.cores) for block in blocks]
    held = sum(block.cores * t for block, t in zip(blocks, times_ns, strict=True))
    return held / sum(times_ns)
