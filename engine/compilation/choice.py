"""Which tilings of its layers a version of a block has: lines 5 to 12 of VELTAIR's Algorithm 1.

References
----------
VELTAIR (ASPLOS'22), section 4.1. What it leaves open: where no candidate keeps the layer's target,
those within a quarter of the fastest count. A version of a block is one of each of its layers: the
first ones have the smallest tiles and most tasks, which should bear neighbours best, the last ones
the largest. What is pruned by times under load is the whole version, as that is what is chosen when
it runs (``python -m bench veltair_compiled``).
"""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.policies.veltair.versions import dominant, picked
from surplus.engine.compilation.candidates import TimedTiling
from surplus.engine.compilation.templates.template import Tiling

_NEAR = 1.25


def chosen(candidates: Sequence[TimedTiling], target_ns: int, versions: int) -> tuple[Tiling, ...]:
    """A tiling for each version, by size of its tiles; some may be the same.

    Parameters
    ----------
    candidates : sequence of TimedTiling
        At least one.
    target_ns : int
        The layer's share of its model's target.
    versions : int
    """
    measured = [candidate.measured for candidate in candidates]
    near_ns = round(_NEAR * min(own.time_ns for own in measured))
    frontier = dominant(measured, target_ns) or dominant(measured, near_ns)
    kept = picked(frontier, versions)
    places = [measured.index(own) for own in kept]
    steps = max(1, versions - 1)
    spread = (places[version * (len(places) - 1) // steps] for version in range(versions))
    return tuple(candidates[place].tiling for place in spread)
