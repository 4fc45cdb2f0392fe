"""Algorithm 1 over candidates of a layer: which tilings its versions have."""

from __future__ import annotations

from surplus.colocation.policies.veltair.versions import VersionCandidate
from surplus.engine.compilation.candidates import TimedTiling
from surplus.engine.compilation.choice import chosen
from surplus.engine.compilation.templates.template import Tiling

# Parallelism, block, time.
ROWS = [(64, 10, 100), (32, 20, 100), (32, 30, 100), (16, 40, 100), (8, 80, 110), (4, 160, 300)]


def candidates() -> list[TimedTiling]:
    return [
        TimedTiling(Tiling(place, 1, 1, 1, 1), VersionCandidate(*row))
        for place, row in enumerate(ROWS)
    ]


def outs(target_ns: int, versions: int) -> list[int]:
    return [tiling.outs for tiling in chosen(candidates(), target_ns, versions)]


def test_the_frontier_is_picked_evenly_by_size_of_tiles() -> None:
    # The third is no smaller than the second in either, the last misses the target.
    assert outs(150, 4) == [0, 1, 3, 4]
    assert outs(150, 3) == [0, 1, 4]
    assert outs(150, 2) == [0, 4]
    assert outs(150, 1) == [0]


def test_versions_beyond_the_frontier_are_the_same() -> None:
    assert outs(400, 7) == [0, 0, 1, 3, 3, 4, 5]


def test_where_none_keeps_the_target_the_fast_ones_count() -> None:
    assert outs(1, 4) == [0, 1, 3, 4]
