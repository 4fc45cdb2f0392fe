"""What neighbours cost is found for all groups of a device at once, and as if one by one."""

from __future__ import annotations

import random

import pytest

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.interference.contention import Contention
from surplus.colocation.interference.pairwise import Pairwise
from surplus.colocation.interference.pressure import Pressure

NAMES = ["a", "b", "c"]
L2 = {"a": 0.5, "b": 0.25, "c": 0.9}
DRAM = {"a": 0.1, "c": 0.6}
EXTRA = {"a": {"b": 0.3, "a": 0.02}, "c": {"a": 0.15}}
CORES = 16


def drawn_groups(draw: random.Random) -> list[Group]:
    """One to six groups of one to three pieces."""
    return [
        Group(
            k,
            k,
            tuple(
                piece_of((Query(k, draw.randrange(3), 0, 0, 1, draw.randrange(1, 9)),), 0, 1)
                for _ in range(draw.randrange(1, 4))
            ),
            0,
            0,
            share_percent=draw.choice((25, 50, 100)),
            cores=draw.choice((0, 1, 2, 4)),
            version=draw.randrange(3),
        )
        for k in range(draw.randrange(1, 7))
    ]


@pytest.mark.parametrize("seed", range(40))
def test_pairs_add_up(seed: int) -> None:
    groups = drawn_groups(random.Random(seed))
    law = Pairwise(NAMES, 0.1, EXTRA)

    def cost(own: int, other: int) -> float:
        return EXTRA.get(NAMES[own], {}).get(NAMES[other], 0.1)

    assert law.slowdowns_ppm(groups) == [
        1_000_000
        + max(
            round(1e6 * sum(cost(piece.service, o.service) for g in others for o in g.pieces))
            for piece in group.pieces
        )
        for group, others in _beside(groups)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_traffic_meets_that_of_all_neighbours(seed: int) -> None:
    groups = drawn_groups(random.Random(seed))
    law = Contention(NAMES, L2, DRAM, scaled={"b": 0.5})
    found = law.slowdowns_ppm(groups)
    for (group, others), slowdown_ppm in zip(_beside(groups), found, strict=True):
        own = [(p.service, p.items, group.share_percent) for p in group.pieces]
        beside = [(p.service, p.items, g.share_percent) for g in others for p in g.pieces]
        extra = max(sum(law.extra(one, other) for other in beside) for one in own)
        assert slowdown_ppm == pytest.approx(1e6 * (1 + extra), abs=1)


@pytest.mark.parametrize("seed", range(40))
def test_neighbours_press_by_what_they_hold(seed: int) -> None:
    groups = drawn_groups(random.Random(seed))
    law = Pressure(NAMES, CORES, [0.8, 0.3], {"b": 0.5}, 1.5)
    even = CORES / len(groups)
    found = law.slowdowns_ppm(groups)
    for (group, others), slowdown_ppm in zip(_beside(groups), found, strict=True):
        held = sum(
            (g.cores or even) * (1.0 if any(p.service != 1 for p in g.pieces) else 0.5)
            for g in others
        )
        extra = (0.8, 0.3, 0.3)[group.version] * min(1.0, held / CORES) ** 1.5
        assert slowdown_ppm == pytest.approx(1e6 * (1 + extra), abs=1)


def _beside(groups: list[Group]) -> list[tuple[Group, list[Group]]]:
    return [(group, [other for other in groups if other is not group]) for group in groups]
