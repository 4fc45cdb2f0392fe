from random import Random

from surplus.placement.circular_table import CircularTable


def _first(held: set[int], period: int, start: int, length: int) -> int | None:
    """By looking at each instant."""
    for at in range(start, start + period):
        if length <= period and all((at + i) % period not in held for i in range(length)):
            return at
    return None


def test_it_finds_the_first_gap_as_looking_at_each_instant_does() -> None:
    for seed in range(300):
        random = Random(seed)
        period = random.randint(1, 20)
        table, held = CircularTable(period), set[int]()
        for _ in range(12):
            start, length = random.randint(0, 50), random.randint(1, 7)
            found = table.earliest(start, length)
            assert found == _first(held, period, start, length)
            if found is not None and random.random() < 0.7:
                table.hold(found, length)
                held |= {(found + i) % period for i in range(length)}


def test_what_takes_no_time_and_what_does_are_not_within_each_other() -> None:
    table = CircularTable(10)
    table.hold(2, 4)
    assert [table.earliest(at, 0) for at in (2, 3, 6)] == [2, 6, 6]
    table.hold(8, 0)
    assert table.earliest(6, 3) == 8
    assert table.earliest(6, 2) == 6
    over = CircularTable(10)
    over.hold(8, 4)
    assert over.earliest(0, 0) == 2
    assert over.earliest(8, 0) == 8
