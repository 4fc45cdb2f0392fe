"""``bench placement_large``: what it counts, on problems that are not."""

from bench.models.placement_large import bars, row


def test_times_add_up_and_the_plan_is_above_the_bound() -> None:
    found = row("layered", 500)
    assert found["tasks"] == 500
    assert abs(found["auto s"] + found["bound s"] - found["together s"]) < 1e-9
    assert found["auto over the bound"] >= 1.0
    assert 0 < found["memory GiB"] < 64


def test_the_worst_family_counts() -> None:
    rows = [{"together s": 2.0, "memory GiB": 5.0}, {"together s": 11.0, "memory GiB": 1.0}]
    assert [bar["measured"] for bar in bars(rows)] == [11.0, 5.0]
    assert [bar["holds"] for bar in bars(rows)] == ["no", "no"]
    assert [bar["holds"] for bar in bars(rows[:1])] == ["yes", "no"]
