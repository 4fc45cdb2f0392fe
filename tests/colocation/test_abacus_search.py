"""Multi-way search: never above the headroom, and as much as fits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.work import Piece
from surplus.colocation.policies.abacus.search import GroupCandidate, GroupFound, GroupSearch


class Counted:
    """A unit for each operator, less a saving for each further model; counts its calls."""

    def __init__(self, unit: int = 10, saving: int = 0) -> None:
        self.calls: list[int] = []
        self.unit, self.saving = unit, saving

    def __call__(self, groups: Sequence[Sequence[Piece]], share: int) -> list[int]:
        self.calls.append(len(groups))
        return [
            sum(self.unit * (p.end - p.start) for p in group) - self.saving * (len(group) - 1)
            for group in groups
        ]


def candidates(*operators: int, start: int = 0) -> list[GroupCandidate]:
    return [
        GroupCandidate(Query(k, k, 0, 0, 1000 + k), start if k == 0 else 0, count)
        for k, count in enumerate(operators)
    ]


def ends(found: GroupFound) -> list[int]:
    return [piece.end for piece in found.pieces]


def test_the_papers_example() -> None:
    # Figure 12: q3 takes 10 of 25 ms, q2 5 more; of q1, two operators still fit.
    predict = Counted(unit=5)
    found = GroupSearch(predict, ways=3).largest(candidates(2, 1, 6), 25, 100)
    assert ends(found) == [2, 1, 2]
    assert found.predicted_ns == 25
    assert len(predict.calls) == 3


@given(
    operators=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    headroom=st.integers(-5, 2000),
    ways=st.integers(1, 8),
)
def test_it_takes_exactly_what_fits(operators: list[int], headroom: int, ways: int) -> None:
    found = GroupSearch(Counted(), ways).largest(candidates(*operators), headroom, 100)
    room = max(0, headroom) // 10
    if operators[0] > room:
        assert ends(found) == operators[:1]
        assert found.predicted_ns > headroom
        return
    wanted = []
    for count in operators:
        taken = min(count, room)
        room -= taken
        if taken:
            wanted.append(taken)
        if taken < count:
            break
    assert ends(found) == wanted
    assert found.predicted_ns <= headroom


@given(times=st.data(), operators=st.lists(st.integers(1, 20), min_size=2, max_size=4))
def test_a_predictor_that_is_not_monotone_is_not_believed_beyond_the_headroom(
    times: st.DataObject, operators: list[int]
) -> None:
    def predict(groups: Sequence[Sequence[Piece]], share: int) -> list[int]:
        return [times.draw(st.integers(1, 100)) for _ in groups]

    found = GroupSearch(predict, 4).largest(candidates(*operators), 60, 100)
    if found.predicted_ns > 60:
        assert ends(found) == operators[:1]


def test_a_query_goes_on_from_where_it_was() -> None:
    found = GroupSearch(Counted(), 4).largest(candidates(9, 9, start=6), 70, 100)
    assert [(p.start, p.end) for p in found.pieces] == [(6, 9), (0, 4)]


@pytest.mark.parametrize(("ways", "most"), [(1, 53), (2, 5), (4, 4), (8, 3)])
def test_more_ways_need_fewer_rounds(ways: int, most: int) -> None:
    predict = Counted()
    GroupSearch(predict, ways).largest(candidates(1, 52), 400, 100)
    assert len(predict.calls) <= most
    assert max(predict.calls) <= max(ways, 2)


@pytest.mark.parametrize(("rounds", "wanted"), [(0, [2]), (1, [2, 7]), (None, [2, 8])])
def test_rounds_limit_the_look_inside_a_query(rounds: int | None, wanted: list[int]) -> None:
    found = GroupSearch(Counted(), 3, rounds).largest(candidates(2, 28), 100, 100)
    assert ends(found) == wanted


@pytest.mark.parametrize(("ways", "rounds"), [(0, None), (4, -1)])
def test_searches_that_do_nothing_are_refused(ways: int, rounds: int | None) -> None:
    with pytest.raises(ValueError, match="must be >="):
        GroupSearch(Counted(), ways, rounds)
