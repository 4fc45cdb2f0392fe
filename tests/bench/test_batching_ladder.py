"""Who is asked when on the way up, and when one is asked no more."""

from __future__ import annotations

from bench.models.batching_ladder import FALLEN_SHARE, climb, rungs

Asked = tuple[str, float]


def climbed(holds: dict[str, list[float]], first: int = 0) -> list[Asked]:
    """The turns of ways whose shares in time are known by rung."""
    asked: list[Asked] = []

    def ask(way: str, rate: float) -> float:
        asked.append((way, rate))
        return holds[way][int(rate) - 1]

    climb(list(holds), iter([1.0, 2.0, 3.0, 4.0, 5.0]), ask, first)
    return asked


def test_ways_take_turns_at_each_rate_and_another_begins_each_time() -> None:
    kept = [1.0] * 5
    asked = climbed({"a": kept, "b": kept, "c": kept})
    assert asked[:6] == [("a", 1), ("b", 1), ("c", 1), ("b", 2), ("c", 2), ("a", 2)]
    assert len(asked) == 15
    assert climbed({"a": kept, "b": kept}, first=1)[:3] == [("b", 1), ("a", 1), ("a", 2)]


def test_who_falls_twice_in_a_row_is_asked_no_more() -> None:
    low = FALLEN_SHARE - 0.01
    asked = climbed({"a": [1, low, low, 1, 1], "b": [low, FALLEN_SHARE, low, 1, low]})
    assert [rate for way, rate in asked if way == "a"] == [1, 2, 3]
    assert [rate for way, rate in asked if way == "b"] == [1, 2, 3, 4, 5]


def test_a_round_ends_with_the_last_way() -> None:
    assert climbed({"a": [0.0] * 5}) == [("a", 1), ("a", 2)]


def test_rungs_are_the_same_in_each_round_and_end() -> None:
    first, again = list(rungs(70.0, 1.06)), list(rungs(70.0, 1.06))
    assert first == again
    assert first[:2] == [70.0, 70.0 * 1.06]
    assert first[-1] > 10 * first[0]
