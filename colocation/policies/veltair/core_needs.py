"""How many cores a model and its layers need to meet a latency target.

References
----------
VELTAIR (ASPLOS'22), section 4.2: a layer's target is its share of the model's, by operations; its
need the fewest cores that meet it; ``Avg_C`` is the need of the model as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from surplus.colocation.policies.veltair.layer_profile import LayerProfile


def layer_targets_ns(operations: Sequence[int], target_ns: int) -> tuple[int, ...]:
    """Split a model's target over its layers in proportion to their operations.

    Rounded such that the targets sum up to the model's.

    Raises
    ------
    ValueError
        If a layer has no operations.
    """
    if not operations or min(operations) < 1:
        raise ValueError(f"every layer needs operations, got {list(operations)}")
    total = sum(operations)
    ends = (target_ns * done // total for done in accumulate(operations, initial=0))
    return tuple(end - start for start, end in pairwise(ends))


def layer_needs(profile: LayerProfile, targets_ns: Sequence[int]) -> tuple[int, ...]:
    """Cores that each layer needs; of one that meets its target on none, its fastest.

    Raises
    ------
    ValueError
        If there are not as many targets as layers.
    """
    if len(targets_ns) != len(profile.times_ns):
        raise ValueError(f"{len(targets_ns)} targets for {len(profile.times_ns)} layers")
    return tuple(
        profile.least_cores(layer, layer + 1, target_ns) or profile.fastest(layer, layer + 1)
        for layer, target_ns in enumerate(targets_ns)
    )


def model_need(profile: LayerProfile, target_ns: int) -> int:
    """``Avg_C``: cores that the model as a whole needs.

    Raises
    ------
    ValueError
        If no number of cores meets the target; the message says by how much.
    """
    layers = len(profile.times_ns)
    found = profile.least_cores(0, layers, target_ns)
    if found is None:
        best_ns = profile.block_ns(0, layers, profile.fastest(0, layers))
        text = f"{best_ns} ns at best, {best_ns - target_ns} ns too long"
        raise ValueError(f"no number of cores meets {target_ns} ns: {text}")
    return found
